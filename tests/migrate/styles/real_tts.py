# text -> mel (acoustic model) -> waveform (vocoder), two models on one server
import os
import sys
from contextlib import contextmanager
from tensorrtserver.api import *

SYMBOLS = "_-abcdefghijklmnopqrstuvwxyz '"


def getenv_protocol():
    name = os.environ.get('TRTIS_PROTOCOL', 'http')
    return ProtocolType.from_str(name)


@contextmanager
def model(name, **kw):
    ctx = InferContext(os.environ['TRTIS_URL'], getenv_protocol(), name, **kw)
    try:
        yield ctx
    finally:
        ctx.close()


class Synthesizer:
    def __init__(self, acoustic, vocoder, chunk=16):
        self.acoustic = acoustic
        self.vocoder = vocoder
        self.chunk = chunk
        self.stats = {}

    def text_to_ids(self, text):
        return np.array([SYMBOLS.index(c) for c in text.lower() if c in SYMBOLS], dtype=np.int64)

    def mel(self, text):
        ids = self.text_to_ids(text)
        output = self.acoustic.run({'INPUT0': [ids.astype(np.float64)]},
                                   {'OUTPUT0': InferContext.ResultFormat.RAW})
        return output['OUTPUT0'][0]

    def wave(self, mel):
        pad = -len(mel) % self.chunk
        frames = np.pad(mel, (0, pad), 'constant').reshape(-1, self.chunk).astype(np.float16)
        audio = []
        for start in range(0, len(frames), 2):
            part = [f for f in frames[start:start + 2]]
            result = self.vocoder.run(inputs={'INPUT0': part},
                                      outputs={'OUTPUT0': InferContext.ResultFormat.RAW},
                                      batch_size=len(part))
            audio.extend(result['OUTPUT0'])
        audio = np.concatenate(audio)[:len(mel)]
        self.stats['chunks'] = self.stats.get('chunks', 0) + len(frames)
        return audio

    def __call__(self, text):
        mel = self.mel(text)
        audio = self.wave(mel)
        peak = np.abs(audio.astype(np.float32)).max()
        print('%-28s mel %s %s audio %s %s peak %.1f' % (repr(text), mel.shape, mel.dtype, audio.shape,
                                                       audio.dtype, peak))
        return audio


def main():
    with model('identity_fp64', verbose=False) as acoustic, \
         model('identity_fp16', model_version=1, http_headers=[]) as vocoder:
        tts = Synthesizer(acoustic, vocoder)
        total = 0
        for sentence in ("Hello world", "The server isn't new any more", "a"):
            total += len(tts(sentence))
        print('samples', total, 'chunks', tts.stats['chunks'])
        for ctx in (acoustic, vocoder):
            stat = ctx.get_stat()
            print(ctx.get_last_request_model_name(), stat['completed_request_count'], len(stat))
            if stat['cumulative_send_time_ns'] < 0:
                sys.exit(1)


if __name__ == '__main__':
    main()
