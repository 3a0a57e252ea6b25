"""Sends lines of text to a model of strings, in batches, and checks the server first."""
import sys
import time
import numpy as np
from tensorrtserver.api import (InferContext, InferenceServerException, ProtocolType,
                                ServerHealthContext, ServerStatusContext)


def wait_until_ready(url, protocol, seconds=5):
    ctx = ServerHealthContext(url, protocol)
    for _ in range(seconds):
        try:
            if ctx.is_ready():
                return True
        except InferenceServerException as error:
            print("waiting:", error)
        time.sleep(1)
    return False


def encode(lines):
    return [np.array([line.encode("utf-8")], dtype=object) for line in lines]


def main(argv):
    url = argv[1]
    protocol = ProtocolType.from_str(argv[2])
    if not wait_until_ready(url, protocol):
        sys.exit("no server")
    lines = ["first line", "zweite Zeile \u00e4\u00f6\u00fc", "", "a" * 300]
    with InferContext(url, protocol, "identity_string") as ctx:
        result = ctx.run({"INPUT0": encode(lines)}, {"OUTPUT0": InferContext.ResultFormat.RAW}, len(lines))
        for row in result["OUTPUT0"]:
            print(len(row), row[0].decode("utf-8")[:20])
        fixed = np.array([b"ab", b"cde"])
        result = ctx.run({"INPUT0": [fixed]}, {"OUTPUT0": InferContext.ResultFormat.RAW})
        print(result["OUTPUT0"][0].tolist())
        wide = np.array(["x", "yz"])
        print(ctx.run({"INPUT0": [wide]}, {"OUTPUT0": InferContext.ResultFormat.RAW})["OUTPUT0"][0].tolist())


if __name__ == "__main__":
    main(sys.argv)
