import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor
import numpy as np
from tensorrtserver.api import *
import tensorrtserver.shared_memory as shm

url, protocol = sys.argv[1], ProtocolType.from_str(sys.argv[2])
handle = shm.create_shared_memory_region('pause', '/pause_%d' % os.getpid(), 4)
shm.set_shared_memory_region(handle, [np.array([1.0], dtype=np.float32)])
control = SharedMemoryControlContext(url, protocol)


def ask():
    ctx = InferContext(url, protocol, 'slow')
    return ctx.run({'INPUT0': handle}, {'OUTPUT0': InferContext.ResultFormat.RAW})['OUTPUT0'][0]


with ThreadPoolExecutor(1) as pool:
    control.register(handle)
    asked = pool.submit(ask)
    time.sleep(0.4)
    control.unregister(handle)
    print(asked.result())

    control.register(handle)
    asked = pool.submit(ask)
    time.sleep(0.4)
    control.unregister_all()
    print(asked.result())
shm.destroy_shared_memory_region(handle)
