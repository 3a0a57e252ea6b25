from star_common import *

flags = parse()
print(ProtocolType.from_str(flags.protocol).name, sys.version_info > (3,))
