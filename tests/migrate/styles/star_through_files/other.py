from star_common import *

flags = parse()
print(ProtocolType.from_str(flags.protocol) == ProtocolType.HTTP, sys.version_info > (3,))
