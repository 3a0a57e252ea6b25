import numpy as np, sys
from tensorrtserver.api import *
import tensorrtserver.shared_memory as shm
from ctypes import *
url, proto = sys.argv[1], ProtocolType.from_str(sys.argv[2])
infer_ctx = InferContext(url, proto, "simple", -1, False)
shared_memory_ctx = SharedMemoryControlContext(url, proto, verbose=False)
a = np.arange(start=0, stop=16, dtype=np.int32)
b = np.ones(shape=16, dtype=np.int32)
isz = a.size * a.itemsize
osz = isz
op = shm.create_shared_memory_region("output_data", "/output_simple_x", osz)
shared_memory_ctx.unregister(op)
shared_memory_ctx.register(op)
ip = shm.create_shared_memory_region("input_data", "/input_simple_x", isz)
shm.set_shared_memory_region(ip, [a])
ip2 = shm.create_shared_memory_region('input2_data', '/input2_simple_x', isz)
shm.set_shared_memory_region(ip2, [b])
shared_memory_ctx.unregister(ip2); shared_memory_ctx.register(ip2)
shared_memory_ctx.unregister(ip)
shared_memory_ctx.register(ip)
results = infer_ctx.run({'INPUT0': ip, 'INPUT1': ip2},
    {'OUTPUT0': (InferContext.ResultFormat.RAW, op), 'OUTPUT1': InferContext.ResultFormat.RAW})
print(results['OUTPUT0'][0], results['OUTPUT1'][0])
for r in shared_memory_ctx.get_shared_memory_status().shared_memory_region:
    print(r.name, r.system_shared_memory.shared_memory_key, r.byte_size)
shared_memory_ctx.unregister_all()
shm.destroy_shared_memory_region(ip); shm.destroy_shared_memory_region(op)
