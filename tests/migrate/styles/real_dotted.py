import argparse
import tensorrtserver.api
import numpy


def predict(url, proto, rows):
    protocol = tensorrtserver.api.ProtocolType.from_str(proto)
    ctx = tensorrtserver.api.InferContext(url, protocol, "identity_fp32", None, False)
    result = ctx.run({"INPUT0": rows}, {"OUTPUT0": tensorrtserver.api.InferContext.ResultFormat.RAW}, len(rows))
    return numpy.array(result["OUTPUT0"])


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("-u", "--url")
    parser.add_argument("-i", "--protocol")
    args = parser.parse_args()
    batch = [numpy.full((3,), n, dtype=numpy.float32) for n in range(4)]
    found = predict(args.url, args.protocol, batch)
    print(found.shape, found.sum(axis=1).tolist())
    print(predict(args.url, args.protocol, tuple(batch[:2])).shape)
