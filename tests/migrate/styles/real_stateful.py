# Two sequences with one context each; ids are numpy integers, flags come from a helper.
import argparse
import numpy as np
import tensorrtserver.api as trtis


def flags_for(position, length):
    flags = trtis.InferRequestHeader.FLAG_NONE
    if position == 0:
        flags |= trtis.InferRequestHeader.FLAG_SEQUENCE_START
    if position == length - 1:
        flags |= trtis.InferRequestHeader.FLAG_SEQUENCE_END
    return flags


def accumulate(url, protocol, sequence, values):
    ctx = trtis.InferContext(url, protocol, "sequence_sum", -1, correlation_id=sequence, verbose=False)
    totals = []
    for position, value in enumerate(values):
        result = ctx.run({"INPUT": [np.array([value], dtype=np.int32)]},
                         {"OUTPUT": trtis.InferContext.ResultFormat.RAW},
                         1, flags_for(position, len(values)))
        totals.append(int(result["OUTPUT"][0][0]))
    ctx.close()
    return totals


parser = argparse.ArgumentParser()
parser.add_argument("-u", "--url")
parser.add_argument("-i", "--protocol")
FLAGS = parser.parse_args()
protocol = trtis.ProtocolType.from_str(FLAGS.protocol)
for sequence in np.arange(9101, 9103):
    print(sequence, accumulate(FLAGS.url, protocol, sequence, [3, 1, 4, 1, 5]))
