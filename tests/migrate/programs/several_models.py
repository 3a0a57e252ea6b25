import argparse
from tensorrtserver.api import *

ap = argparse.ArgumentParser()
ap.add_argument("-u", "--url", required=True)
ap.add_argument("-i", "--protocol", required=True)
FLAGS = ap.parse_args()
protocol = ProtocolType.from_str(FLAGS.protocol)

# encoder -> decoder -> classifier, each one a model of its own
encoder_ctx = InferContext(FLAGS.url, protocol, "identity_fp32", -1, False)
decoder_ctx = InferContext(FLAGS.url, protocol, "identity_2d", -1, False)
classifier_ctx = InferContext(FLAGS.url, protocol, "classify", -1, False)

x = np.arange(10, dtype=np.float32)
encoded = encoder_ctx.run({"INPUT0": [x]}, {"OUTPUT0": InferContext.ResultFormat.RAW}, 1)["OUTPUT0"][0]
print("encoded", encoded.shape, encoded.dtype)

m = encoded.reshape(2, 5)
decoded = decoder_ctx.run({"INPUT0": [m]}, {"OUTPUT0": InferContext.ResultFormat.RAW}, 1)["OUTPUT0"][0]
print("decoded", decoded.shape, decoded[1, 4])

classes = classifier_ctx.run({"INPUT": [decoded.flatten()]},
                             {"OUTPUT": (InferContext.ResultFormat.CLASS, 2)}, 1)["OUTPUT"][0]
print("classes", classes)

for c in (encoder_ctx, decoder_ctx, classifier_ctx):
    c.close()
