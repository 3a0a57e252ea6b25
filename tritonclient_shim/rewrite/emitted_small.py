"""Smaller functions that a rewritten file may need, as text."""

from __future__ import annotations

INDEX = '''
def repository_index(client):
    """The models of the server's repository, by name, as the attribute `models`."""
    names = sorted({model.name for model in client.get_model_repository_index().models})
    return types.SimpleNamespace(models=[types.SimpleNamespace(name=name) for name in names])
'''
INDEX_HTTP = INDEX.replace("model.name for", 'model["name"] for').replace("().models}", "()}")
INDEX_EITHER = '''
def repository_index(client):
    """The models of the server's repository, by name, as the attribute `models`."""
    answer = client.get_model_repository_index()
    if isinstance(client, grpcclient.InferenceServerClient):
        names = {model.name for model in answer.models}
    else:
        names = {model["name"] for model in answer}
    return types.SimpleNamespace(models=[types.SimpleNamespace(name=one) for one in sorted(names)])
'''
PROTOCOLS = '''
class ProtocolType(enum.IntEnum):
    """The protocols, by the names and numbers that they had."""

    HTTP = 0
    GRPC = 1

    @classmethod
    def from_str(cls, text):
        """The protocol of a name in any case."""
        return cls[text.upper()]

    def __str__(self):
        return f"ProtocolType.{self.name}"
'''
SERVER_STATES = '''
class ServerReadyState(enum.IntEnum):
    """States of a server, by the names and numbers that they had."""

    SERVER_INVALID = 0
    SERVER_INITIALIZING = 1
    SERVER_READY = 2
    SERVER_EXITING = 3
    SERVER_FAILED_TO_INITIALIZE = 10
'''
MODEL_STATES = '''
class ModelReadyState(enum.IntEnum):
    """States of a version of a model, by the names and numbers that they had."""

    MODEL_UNKNOWN = 0
    MODEL_READY = 1
    MODEL_UNAVAILABLE = 2
    MODEL_LOADING = 3
    MODEL_UNLOADING = 4
'''
ROWS = '''
def index_rows(client):
    """Name, version and state of each model in the server's repository."""
    models = client.get_model_repository_index().models
    return [(one.name, one.version, one.state) for one in models]
'''
ROWS_HTTP = '''
def index_rows(client):
    """Name, version and state of each model in the server's repository."""
    models = client.get_model_repository_index()
    return [(one["name"], one.get("version", ""), one.get("state", "")) for one in models]
'''
ROWS_EITHER = '''
def index_rows(client):
    """Name, version and state of each model in the server's repository."""
    models = client.get_model_repository_index()
    if isinstance(client, grpcclient.InferenceServerClient):
        return [(one.name, one.version, one.state) for one in models.models]
    return [(one["name"], one.get("version", ""), one.get("state", "")) for one in models]
'''
STATUS = '''
def server_status(client, model_name=None):
    """The state of a server and of the models that it has loaded once, or of one of them."""
    told, live = server_metadata(client), client.is_server_live()
    models = collections.defaultdict(
        lambda: types.SimpleNamespace(
            config=model_config_pb2.ModelConfig(),  #+config
            version_status=collections.defaultdict(lambda: types.SimpleNamespace(ready_state=0)),
        )
    )
    for name, version, state in index_rows(client):
        if state and version and model_name in (None, "", name):
            number = ModelReadyState["MODEL_" + state].value
            models[name].version_status[int(version)].ready_state = number
            if state == "READY":  #+config
                models[name].config = config_of(client, name)  #+config
    if model_name and model_name not in models:
        text = "no status available for unknown model '%s'" % model_name
        raise InferenceServerException(text, "StatusCode.NOT_FOUND")
    return types.SimpleNamespace(
        id=told.name,
        version=told.version,
        ready_state=2 if live else 0,  # SERVER_READY, SERVER_INVALID
        model_status=models,
    )
'''
MESSAGE = '''
def message_of(error):
    """What an error says; over HTTP that of a connection is an OSError."""
    return error.message() if isinstance(error, InferenceServerException) else str(error)
'''
SERVER_ID = '''
def server_id_of(error):
    """The name of the server that an error is from; '' where none has answered."""
    status = error.status() if isinstance(error, InferenceServerException) else None
    return "" if status in (None, "StatusCode.UNAVAILABLE") else "triton"
'''
REQUEST_ID = '''
def request_id_of(error):
    """0 for every error: a server does not number its requests any more."""
    return 0
'''
ITER = '''
def iter{name}(mapping):
    """The {what} of a mapping."""
    return iter(mapping.{name}())
'''
