"""Part of the genuine client's environment: copied into it, and imported at every start there.

The client hands ctypes arrays to protobuf. protobuf's parser in C++ accepts them, its parser in
Python rejects them. protobuf 3.20 has only the parser in Python on Python 3.11, so it gets bytes.
The parser in C++ does not call this function.
"""

from google.protobuf.message import Message

parse = Message.ParseFromString


def parse_bytes(self, serialized):
    return parse(self, bytes(serialized))


Message.ParseFromString = parse_bytes
