import sys
import numpy as np
from tensorrtserver.api import InferContext, ProtocolType
# our gateway wants a token
TOKEN = 'secret'
ctx = InferContext(sys.argv[1], ProtocolType.HTTP, 'identity_fp32', None, http_headers=['Authorization: Bearer ' + TOKEN, 'X-Team: vision'])
y = ctx.run({'INPUT0': [np.float32([1, 2])]}, {'OUTPUT0': InferContext.ResultFormat.RAW})
print(y['OUTPUT0'][0] * 2)
