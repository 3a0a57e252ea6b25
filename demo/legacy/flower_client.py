#!/usr/bin/env python
# Classification of plain numbers, as it was written in 2019: four measurements of a flower are
# sent, and its most likely kinds come back. The model's name and tensors can be chosen.

import argparse
from builtins import range
from tensorrtserver.api import *

FLAGS = None

FLOWERS = [(5.1, 3.5, 1.4, 0.2), (6.0, 2.7, 4.1, 1.0), (6.5, 3.0, 5.8, 2.2)]
KINDS = ["setosa", "versicolor", "virginica"]

if __name__ == '__main__':
    parser = argparse.ArgumentParser()
    parser.add_argument('-v', '--verbose', action="store_true", required=False, default=False,
                        help='Enable verbose output')
    parser.add_argument('-u', '--url', type=str, required=False, default='localhost:8000',
                        help='Inference server URL. Default is localhost:8000.')
    parser.add_argument('-i', '--protocol', type=str, required=False, default='http',
                        help='Protocol ("http"/"grpc"). Default is "http".')
    parser.add_argument('-m', '--model-name', type=str, required=False, default='flowers',
                        help='Name of model')
    parser.add_argument('--input', type=str, required=False, default='values',
                        help='Name of the input. Default is "values".')
    parser.add_argument('--output', type=str, required=False, default='predict_proba',
                        help='Name of the output. Default is "predict_proba".')
    FLAGS = parser.parse_args()
    protocol = ProtocolType.from_str(FLAGS.protocol)

    ctx = InferContext(FLAGS.url, protocol, FLAGS.model_name, -1, FLAGS.verbose)
    values = [np.array(flower, dtype=np.float64) for flower in FLOWERS]

    scores = ctx.run({ FLAGS.input : values },
                     { FLAGS.output : InferContext.ResultFormat.RAW }, len(values))[FLAGS.output]
    classes = ctx.run({ FLAGS.input : values },
                      { FLAGS.output : (InferContext.ResultFormat.CLASS, 2) },
                      len(values))[FLAGS.output]

    for i in range(len(values)):
        print("{}: {}".format(FLOWERS[i], ", ".join(
            "{} {:.3f}".format(KINDS[cls[0]], cls[1]) for cls in classes[i])))
        if classes[i][0][0] != i:
            print("error: expected {}".format(KINDS[i]))
            sys.exit(1)
        if classes[i][0][0] != np.argmax(scores[i]):
            print("error: the best class has not the highest score")
            sys.exit(1)

    print("PASS")
