import sys
from tensorrtserver.api import ModelRepositoryContext, ProtocolType

ctx = ModelRepositoryContext(sys.argv[1], ProtocolType.from_str(sys.argv[2]))
index = ctx.get_model_repository_index()
names = [m.name for m in index.models]
wanted = ["simple", "classify", "spare", "not_there"]
for name in wanted:
    print("%-10s %s" % (name, "yes" if name in names else "no"))
