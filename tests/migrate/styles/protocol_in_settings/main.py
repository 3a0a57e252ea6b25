import sys
import settings
from tensorrtserver.api import *

ctx = ServerStatusContext(sys.argv[2], settings.protocol_of(sys.argv[4]), "simple")
print(ctx.get_server_status().model_status["simple"].version_status[1].infer_stats is not None)
print(int(settings.PROTOCOL))
