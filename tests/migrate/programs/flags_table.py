from tensorrtserver.api import *
import sys
R = InferContext.ResultFormat
FLAG = {'start': InferRequestHeader.FLAG_SEQUENCE_START,
        'end': InferRequestHeader.FLAG_SEQUENCE_END,
        'mid': InferRequestHeader.FLAG_NONE,
        'only': InferRequestHeader.FLAG_SEQUENCE_START | InferRequestHeader.FLAG_SEQUENCE_END}
proto = ProtocolType.from_str(sys.argv[2])
def step(ctx, value, which, corr_id=0):
    out = ctx.run(inputs={'INPUT': [np.array([value], np.int32)]}, outputs={'OUTPUT': R.RAW, 'CORRID': R.RAW},
                  batch_size=1, flags=FLAG[which], corr_id=corr_id)
    return '%d of %d' % (out['OUTPUT'][0][0], out['CORRID'][0][0])
ctx = InferContext(sys.argv[1], proto, 'sequence_oldest')
print(step(ctx, 5, 'start', 6001)); print(step(ctx, 6, 'mid', 6001)); print(step(ctx, 7, 'end', 6001))
print(step(ctx, 1, 'only', 6002))
ctx2 = InferContext(sys.argv[1], proto, 'sequence_oldest', -1, False, 6003)
for w, v in zip(('start', 'mid', 'mid', 'end'), (1, 10, 100, 1000)):
    r = ctx2.run({'INPUT': [np.array([v], np.int32)]}, {'OUTPUT': R.RAW}, 1, FLAG[w])
print(r['OUTPUT'][0][0])
