import asyncio
import sys
from functools import partial

import numpy as np
from tensorrtserver import api

# the client has no asyncio, so its calls go to the executor


class Model:
    def __init__(self, url, protocol, name):
        self._ctx = api.InferContext(url, protocol, name)
        self._outputs = {'OUTPUT0': api.InferContext.ResultFormat.RAW}

    async def infer(self, loop, array):
        call = partial(self._ctx.run, outputs=self._outputs, batch_size=1)
        result = await loop.run_in_executor(None, call, {'INPUT0': [array]})
        return result['OUTPUT0'][0]


async def main(url, protocol):
    loop = asyncio.get_event_loop()
    model = Model(url, protocol, 'identity_int16')
    for n in (1, 3):
        print((await model.infer(loop, np.arange(n, dtype=np.int16))).tolist())


asyncio.new_event_loop().run_until_complete(
    main(sys.argv[1], api.ProtocolType.HTTP if sys.argv[2] == 'http' else api.ProtocolType.GRPC))
