import sys
import grpc
import numpy as np
import tensorrtserver.api.grpc_service_pb2 as pb
import tensorrtserver.api.grpc_service_pb2_grpc as pb_grpc
from tensorrtserver.api.api_pb2 import InferRequestHeader

_stub = None


def stub(url):
    global _stub
    if _stub is None:
        _stub = pb_grpc.GRPCServiceStub(grpc.insecure_channel(url))
    return _stub


def embed(url, vectors, top=None):
    """vectors: list of 10 floats each; returns the vectors or, with top, (label, value) pairs"""
    arr = np.asarray(vectors, dtype=np.float32)
    output = InferRequestHeader.Output(name="OUTPUT")
    if top:
        output.cls.CopyFrom(InferRequestHeader.Output.Class(count=top))
    header = InferRequestHeader(batch_size=len(arr), input=[InferRequestHeader.Input(name="INPUT")], output=[output])
    request = pb.InferRequest(model_name="classify", model_version=1, meta_data=header, raw_input=[arr.tobytes()])
    response = stub(url).Infer(request)
    if response.request_status.code != 1:
        raise ValueError("%d" % response.request_status.code)
    if top:
        return [[(c.label, round(c.value, 3)) for c in b.cls] for b in response.meta_data.output[0].batch_classes]
    return np.frombuffer(response.raw_output[0], np.float32).reshape(arr.shape)


def cosine(a, b):
    return float(np.dot(a, b) / (np.linalg.norm(a) * np.linalg.norm(b)))


if __name__ == "__main__":
    url = sys.argv[1]
    gallery = {"anna": np.arange(10), "bob": np.arange(10)[::-1], "carl": np.ones(10)}
    names = sorted(gallery)
    feats = dict(zip(names, embed(url, [gallery[n] for n in names])))
    for probe in ([0, 1, 2, 3, 4, 5, 6, 7, 8, 8], [1] * 9 + [2]):
        f = embed(url, [probe])[0]
        best = max(names, key=lambda n: cosine(f, feats[n]))
        print("probe", probe, "is", best, "%.3f" % cosine(f, feats[best]))
    print(embed(url, [np.arange(10) / 10.0, np.arange(10)[::-1]], top=2))
    try:
        embed(url, [[1.0] * 7])
    except ValueError as e:
        print("bad size, code", e)
