"""The functions for contexts and requests that a rewritten file may need, as text."""

from __future__ import annotations

CONFIG = '''
@functools.lru_cache(maxsize=None)
def config_of(client, model_name):
    """The configuration of a model, which is asked for once."""
    return client.get_model_config(model_name).config
'''
CONFIG_HTTP = '''
@functools.lru_cache(maxsize=None)
def config_of(client, model_name):
    """The configuration of a model, which is asked for once, as the message that gRPC has."""
    answer = client.get_model_config(model_name)  #-threads
    answer = _own_client(client).get_model_config(model_name)  #+threads
    message = model_config_pb2.ModelConfig()
    return json_format.ParseDict(answer, message, ignore_unknown_fields=True)
'''
CONFIG_EITHER = '''
@functools.lru_cache(maxsize=None)
def config_of(client, model_name):
    """The configuration of a model, which is asked for once, as the message that gRPC has."""
    answer = client.get_model_config(model_name)  #-threads
    answer = _own_client(client).get_model_config(model_name)  #+threads
    if isinstance(client, grpcclient.InferenceServerClient):
        return answer.config
    message = model_config_pb2.ModelConfig()
    return json_format.ParseDict(answer, message, ignore_unknown_fields=True)
'''
MODULE_OF = '''
def module_of(client):
    """The module that a client is from."""
    return grpcclient if isinstance(client, grpcclient.InferenceServerClient) else httpclient
'''
INPUT = '''
def infer_input(client, model_name, name, rows):  #-region
def infer_input(client, model_name, name, rows, batch_size=1):  #+region
    """The tensor of an input, from one array for each entry of the batch."""
    config = config_of(client, model_name)
    known = {one.name: one for one in config.input}[name]  #-errors
    known = next((one for one in config.input if one.name == name), None)  #+errors
    if known is None:  #+errors
        raise InferenceServerException("unknown input '%s' for '%s'" % (name, model_name))  #+errors
    datatype = model_config_pb2.DataType.Name(known.data_type)[len("TYPE_"):]
    datatype = datatype.replace("STRING", "BYTES")
    region, dims = rows if isinstance(rows[0], Region) else (rows, known.dims)  #+region
    if isinstance(region, Region):  #+region
        shape = [batch_size, *dims] if config.max_batch_size else list(dims)  #+region
        tensor = CLIENT.InferInput(name, shape, datatype)  #+region
        return region_input(tensor, region, shape, datatype)  #+region
    batch = np.stack(rows)
    if datatype == "BYTES":
        plain = [bytes(one) if isinstance(one, bytes) else one for one in batch.flat]
        batch = np.array(plain, object).reshape(batch.shape)
    else:
        batch = np.ascontiguousarray(batch).view(triton_to_np_dtype(datatype))
    dims = batch.shape[1:] if -1 in known.dims else tuple(known.dims)
    batch = batch.reshape((len(rows), *dims) if config.max_batch_size else dims)  #-errors
    try:  #+errors
        batch = batch.reshape((len(rows), *dims) if config.max_batch_size else dims)  #+errors
    except ValueError as error:  #+errors
        raise InferenceServerException("input '%s': %s" % (name, error)) from error  #+errors
    tensor = CLIENT.InferInput(name, list(batch.shape), datatype)
    tensor.set_data_from_numpy(batch)
    return tensor
'''  # noqa: E501
RUN = '''
def run_model(client, model_name, inputs, outputs, **options):  #-region
def run_model(client, model_name, inputs, outputs, batch_size=1, **options):  #+region
    """Infer, and return for each output a list of what each entry of the batch has.

    inputs: name -> a list with one array for each entry of the batch.
    outputs: a mapping with the names of the outputs as keys.  #-classes
    outputs: name -> how many classes to return, or 0 for the array.  #+classes
    Both may have a Region instead; batch_size is for inputs in a Region.  #+region
    """
    tensors = [infer_input(client, model_name, name, rows) for name, rows in inputs.items()]  #-region
    tensors = [  #+region
        infer_input(client, model_name, name, rows, batch_size)  #+region
        for name, rows in inputs.items()  #+region
    ]  #+region
    wanted = [CLIENT.InferRequestedOutput(name) for name in outputs]  #-classes
    wanted = [  #+classes
        CLIENT.InferRequestedOutput(name, class_count=count)  #-region+classes
        CLIENT.InferRequestedOutput(  #+region+classes
            name, class_count=0 if isinstance(count, Region) else count  #+region+classes
        )  #+region+classes
        for name, count in outputs.items()  #+classes
    ]  #+classes
    for tensor in wanted:  #+region
        region = outputs[tensor.name()]  #+region
        if isinstance(region, Region):  #+region
            tensor.set_shared_memory(region.name, region.byte_size)  #+region
    answer = client.infer(model_name, tensors, outputs=wanted, **options)  #-threads-last
    answer = _own_client(client).infer(  #+threads-last
        model_name, tensors, outputs=wanted, **options  #+threads-last
    )  #+threads-last
    answer = infer_remembered(client, model_name, tensors, outputs=wanted, **options)  #+last
    return results_of(answer, outputs, config_of(client, model_name))
'''  # noqa: E501
RUN_OF = '''
def run_of(model, inputs, outputs, **options):
    """`run_model` of a Model, which knows its client and its name."""
    options = {**model.options, **options}
    return run_model(model.client, model.name, inputs, outputs, **options)
'''
RESULTS = '''
def results_of(answer, outputs, config):
    """What an answer has: for each output a list of what each entry of the batch has."""
    found = {}
    for name in outputs:  #-classes-region
    for name, region in outputs.items():  #-classes+region
    for name, count in outputs.items():  #+classes
        array = answer.as_numpy(name).copy()  #-region
        region, count = (count, 0) if isinstance(count, Region) else (None, count)  #+region+classes
        is_read = isinstance(region, Region)  #+region
        array = array_in(region, answer, name) if is_read else answer.as_numpy(name)  #+region
        array = array.copy()  #+region
        told = answer.get_output(name)  #+http+grpc
        if not array.size and isinstance(told, dict):  # HTTP, older releases  #+http+grpc
            array = array.astype(triton_to_np_dtype(told["datatype"]))  #+http+grpc
        if not array.size:  # older releases of tritonclient have no type for it  #+http-grpc
            array = array.astype(triton_to_np_dtype(answer.get_output(name)["datatype"]))  #+http-grpc
        found[name] = list(array) if config.max_batch_size > 0 else [array]
        if count:  #+classes
            found[name] = [classes_of(row) for row in found[name]]  #+classes
    return found
'''  # noqa: E501
COUNTS = '''
def class_counts(outputs):
    """Outputs in v1's forms, (1,) for the array and (2, k) for k classes -> how many classes."""
    return {name: form[1] if len(form) == 2 else 0 for name, form in outputs.items()}
'''
CLASSES = '''
def classes_of(texts):
    """Classes, such as b"0.9:3:cat" -> tuples of index, value as a 32-bit float, and label."""
    parts = [(text.decode().split(":", 2) + [""])[:3] for text in texts.flat]
    return [(int(index), float(np.float32(value)), label) for value, index, label in parts]
'''
MODEL = '''
class Model(typing.NamedTuple):
    """A model: the client to reach it by, its name, and what each request for it has besides."""

    client: typing.Any
    name: str
    options: dict = {}
    stream: bool = False  # whether its asynchronous requests go over a stream  #+stream

    def close(self):
        """Close the client."""
        self.client.close()

    def __enter__(self):
        return self

    def __exit__(self, *raised):
        self.close()
'''
VERSION = '''
def version_text(version):
    """The version of a model as text, '' for the latest."""
    return "" if version is None or int(version) < 0 else str(int(version))
'''
CLIENTS = """
CLIENTS = {"grpc": grpcclient, "http": httpclient}
"""
CLIENTS_BY_NUMBER = """
CLIENTS = {0: httpclient, 1: grpcclient}  # ProtocolType.HTTP, ProtocolType.GRPC
"""
FLAGS = """
FLAG_NONE, FLAG_SEQUENCE_START, FLAG_SEQUENCE_END = 0, 1, 2
"""
SEQUENCE_FLAGS = '''
def sequence_flags(flags):
    """Flags of a request, as a number -> the arguments of infer that they are now."""
    return {"sequence_start": bool(flags & 1), "sequence_end": bool(flags & 2)}
'''
SIGNED_ID = '''
def signed_id(number):
    """The id of a sequence as gRPC takes it, in a signed number of the same 64 bits."""
    return int(number) - 2**64 if number >= 2**63 else int(number)
'''
HEADERS = '''
def with_headers(client, texts):
    """The client, which sends headers, such as "Name: value", with each request from now on."""
    texts = [text.decode() if isinstance(text, bytes) else text for text in texts or ()]
    pairs = [text.partition(":") for text in texts]
    headers = {name.strip().lower(): value.strip() for name, _, value in pairs if value.strip()}
    client.register_plugin(lambda request: request.headers.update(headers))
    return client
'''
CHECK = '''
def check_model(client, model_name):
    """Raise an error where the server does not have the model."""
    if not client.is_model_ready(model_name):
        text = "no status available for unknown model '%s'" % model_name
        raise InferenceServerException(text, "StatusCode.NOT_FOUND")
'''
METADATA = '''
def server_metadata(client):
    """The name and the version of a server."""
    return client.get_server_metadata()
'''
METADATA_HTTP = '''
def server_metadata(client):
    """The name and the version of a server."""
    return types.SimpleNamespace(**client.get_server_metadata())
'''
METADATA_EITHER = '''
def server_metadata(client):
    """The name and the version of a server."""
    answer = client.get_server_metadata()
    return types.SimpleNamespace(**answer) if isinstance(answer, dict) else answer
'''
