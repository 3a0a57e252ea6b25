# -*- coding: utf-8 -*-
import os
import numpy as np
from tensorrtserver.api import InferContext, ProtocolType

server = os.environ['TRTIS_URL']
protocol = ProtocolType.from_str(os.environ['TRTIS_PROTOCOL'])
context = InferContext(server, protocol, 'identity_string', None)
RAW = InferContext.ResultFormat.RAW


def echo(words):
    # words is a list of str, numpy makes dtype <U.. of it
    answer = context.run({'INPUT0': [np.array(words)]}, {'OUTPUT0': RAW}, 1)
    return [w.decode('utf-8') for w in answer['OUTPUT0'][0]]


def echo_bytes(words):
    answer = context.run({'INPUT0': (np.array(words, dtype=object),)}, {'OUTPUT0': RAW})['OUTPUT0']
    return answer[0].tolist()


if __name__ == '__main__':
    print(echo(['hello', 'world', u'Grüße', '']))
    print(echo_bytes([b'raw', b'\x00\xff', 'text']))
    two = context.run({'INPUT0': [np.array(['a', 'b']), np.array(['c', 'd'])]}, {'OUTPUT0': RAW}, 2)
    print(len(two['OUTPUT0']), two['OUTPUT0'][1][0].decode('utf-8'))
