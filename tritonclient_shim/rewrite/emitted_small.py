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
