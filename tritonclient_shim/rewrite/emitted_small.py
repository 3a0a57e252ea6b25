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
ITER = '''
def iter{name}(mapping):
    """The {what} of a mapping."""
    return iter(mapping.{name}())
'''
STATISTICS = '''
_times = collections.defaultdict(list)  # by client: how long each request took, in nanoseconds


def request_statistics(client):
    """How many requests have been made, and how long they took."""
    return {
        "completed_request_count": len(_times[client]),
        "cumulative_total_request_time_ns": sum(_times[client]),
        "cumulative_send_time_ns": 0,
        "cumulative_receive_time_ns": 0,
    }
'''
LAST_VERSION = '''
_answers = {}  # client -> the answer to its last request


def last_model_version(client):
    """The version of the model that the last request was for."""
    answer = _answers[client].get_response()
    version = answer["model_version"] if isinstance(answer, dict) else answer.model_version
    return int(version)
'''
