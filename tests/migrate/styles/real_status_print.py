import argparse
from tensorrtserver.api import *

parser = argparse.ArgumentParser()
parser.add_argument('-u', '--url')
parser.add_argument('-i', '--protocol')
FLAGS = parser.parse_args()
protocol = ProtocolType.from_str(FLAGS.protocol)

health_ctx = ServerHealthContext(FLAGS.url, protocol, verbose=False)
print("Health for model {}".format("simple"))
print("Live: {}".format(health_ctx.is_live()))
print("Ready: {}".format(health_ctx.is_ready()))

status_ctx = ServerStatusContext(FLAGS.url, protocol, "simple")
status = status_ctx.get_server_status()
print("Status for model {}".format("simple"))
text = str(status)
print('id: "' in text, 'model_status' in text, len(text) > 200)
config = status.model_status["simple"].config
print([(tensor.name, list(tensor.dims)) for tensor in config.input], config.max_batch_size)
if status.ready_state == 2 and "simple" in status.model_status:
    print("server is ready")
