from __future__ import print_function
import abc
import os
import numpy as np
import tensorrtserver.api as trtis_api


class Base(object):
    __metaclass__ = abc.ABCMeta
    model_name = None

    def __init__(self, **kw):
        self.infer_ctx = trtis_api.InferContext(**dict(self.connection(), model_name=self.model_name, **kw))

    @staticmethod
    def connection():
        return {'url': os.environ['TRTIS_URL'],
                'protocol': trtis_api.ProtocolType.from_str(os.environ['TRTIS_PROTOCOL'])}

    @abc.abstractmethod
    def prepare(self, text):
        """text to input"""

    def __call__(self, text):
        data = self.prepare(text)
        return self.infer_ctx.run({'INPUT0': data}, {'OUTPUT0': trtis_api.InferContext.ResultFormat.RAW}, len(data))['OUTPUT0']


class Letters(Base):
    model_name = 'identity_uint8'

    def prepare(self, text):
        return [np.frombuffer(word.encode('ascii'), dtype=np.uint8) for word in text]


class Words(Base):
    model_name = 'identity_string'

    def prepare(self, text):
        return [np.array([word.encode()], dtype=object) for word in text]


print([l.tobytes().decode() for l in Letters(verbose=False)(['abc', 'xyz'])])
print([w[0].decode('utf8') for w in Words()(['hello', 'you'])])
