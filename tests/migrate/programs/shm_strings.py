import os
import sys
import numpy as np
from tensorrtserver.api import *
import tensorrtserver.shared_memory as shm

url, protocol = sys.argv[1], ProtocolType.from_str(sys.argv[2])
words = np.array([b'one', b'', b'three'], dtype=object)
serialized = serialize_string_tensor(words)
size = serialized.size * serialized.itemsize

handle = shm.create_shared_memory_region('words', '/words_%d' % os.getpid(), size)
shm.set_shared_memory_region(handle, [serialized])
control = SharedMemoryControlContext(url, protocol)
control.register(handle)
try:
    ctx = InferContext(url, protocol, 'identity_string')
    result = ctx.run({'INPUT0': (handle, [3])}, {'OUTPUT0': InferContext.ResultFormat.RAW}, 1)
    print([w.decode() for w in result['OUTPUT0'][0]])
finally:
    control.unregister(handle)
    shm.destroy_shared_memory_region(handle)
