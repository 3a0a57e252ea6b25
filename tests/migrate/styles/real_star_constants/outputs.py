from tensorrtserver.api import *

RAW = InferContext.ResultFormat.RAW


def top(n):
    return (InferContext.ResultFormat.CLASS, n)
