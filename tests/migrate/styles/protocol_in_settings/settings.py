import os
from tensorrtserver.api import ProtocolType

URL = os.environ.get("U", "localhost:8000")
PROTOCOL = ProtocolType.HTTP


def protocol_of(text):
    return ProtocolType.from_str(text)
