import sys
from tensorrtserver.api import *
import tensorrtserver.shared_memory as shm

protocol = ProtocolType.from_str(sys.argv[2])


def models(name=None):
    status = ServerStatusContext(sys.argv[1], protocol, name).get_server_status()
    return "simple" in status.model_status, len(status.model_status) > 1


print(models("simple"), models())
try:
    shm.create_shared_memory_region("bad", "/a/bad/key", 64)
except shm.SharedMemoryException as error:
    print("no such key")
