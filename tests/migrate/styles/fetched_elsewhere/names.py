from tensorrtserver.api import *
import tensorrtserver.api.model_config_pb2 as model_config
