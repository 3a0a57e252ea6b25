"""A speech client: the class asks the model for its configuration and keeps the context."""
import sys
import numpy as np
from tensorrtserver.api import *
import tensorrtserver.api.model_config_pb2 as model_config


def model_dtype_to_np(model_dtype):
    if model_dtype == model_config.TYPE_BOOL:
        return np.bool_
    elif model_dtype == model_config.TYPE_INT32:
        return np.int32
    elif model_dtype == model_config.TYPE_FP32:
        return np.float32
    elif model_dtype == model_config.TYPE_STRING:
        return np.dtype(object)
    return None


class SpeechClient(object):

    def __init__(self, url, protocol, model_name, model_version, batch_size,
                 model_platform=None, verbose=False, mode="batch", from_features=True):
        self.model_name = model_name
        self.model_version = model_version
        self.verbose = verbose
        self.batch_size = batch_size
        self.transpose_audio_features = False
        self.grpc_stub = None
        self.ctx = None
        self.correlation_id = 0
        self.first_run = True
        if mode == "streaming" or mode == "asynchronous":
            self.correlation_id = 1

        self.buffer = []
        self.ctx = InferContext(url, protocol, model_name, model_version, verbose, self.correlation_id, False)

        server_ctx = ServerStatusContext(url, protocol, model_name, verbose)
        server_status = server_ctx.get_server_status()

        self.audio_signals_name, self.transcripts_name, self.audio_signals_type = self.parse_model(
            server_status, model_name, batch_size, model_platform, verbose)

    def postprocess(self, results):
        if len(results) != 1:
            raise Exception("expected 1 result, got " + str(len(results)))
        transcript = []
        for i, row in enumerate(results["OUTPUT"]):
            transcript.append(int(np.argmax(row)))
        print("transcript:", transcript)
        return transcript

    def check_num_samples(self, num_samples):
        if num_samples['data_type'] != model_config.TYPE_UINT32:
            raise Exception("wrong type " + model_config.DataType.Name(num_samples['data_type']))

    def parse_model(self, server_status, model_name, batch_size, model_platform=None, verbose=False):
        if model_name not in server_status.model_status:
            raise Exception("unable to get status for '" + model_name + "'")

        status = server_status.model_status[model_name]
        config = status.config

        self.model_platform = model_platform
        # Inputs are:
        #   1) audio_signal: raw audio samples [num_samples]
        inputs = {}
        for input in config.input:
            inputs[input.name] = {"data_type": input.data_type, "dims": list(input.dims)}
        outputs = {}
        for output in config.output:
            outputs[output.name] = model_config.DataType.Name(output.data_type)
        print(inputs, outputs, config.max_batch_size >= batch_size)
        name = config.input[0].name
        return name, config.output[0].name, model_dtype_to_np(config.input[0].data_type)

    def update_audio_request(self, request, audio_generator):
        for audio_signal in audio_generator:
            request.append(audio_signal.astype(self.audio_signals_type))

    def recognize(self, audio_signal, filenames):
        flags = InferRequestHeader.FLAG_NONE
        flags = flags | InferRequestHeader.FLAG_SEQUENCE_START
        input_batch = []
        input_filenames = []
        for idx in range(self.batch_size):
            input_batch.append(audio_signal[idx].astype(self.audio_signals_type))
            input_filenames.append(filenames[idx])

        result = self.ctx.run({self.audio_signals_name: input_batch},
                              {self.transcripts_name: (InferContext.ResultFormat.RAW)},
                              self.batch_size, flags)
        return self.postprocess(result)


if __name__ == "__main__":
    protocol = ProtocolType.from_str(sys.argv[2])
    client = SpeechClient(sys.argv[1], protocol, "classify", -1, 2, mode="batch")
    signals = [np.roll(np.arange(10), n) for n in range(2)]
    client.recognize(signals, ["a.wav", "b.wav"])
    client.recognize(signals[::-1], ["b.wav", "a.wav"])
