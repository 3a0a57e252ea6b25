"""Part of the genuine client's environment: copied into it, and imported at every start there.

The client hands protobuf ctypes arrays. protobuf's C++ parser takes them; its Python one, the only
one of protobuf 3.20 on Python 3.11, does not. So that one gets bytes; the other never comes here.
"""

from google.protobuf.message import Message

parse = Message.ParseFromString


def parse_bytes(self, serialized):
    return parse(self, bytes(serialized))


Message.ParseFromString = parse_bytes
