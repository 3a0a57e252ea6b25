"""Print, as JSON, the names and the signatures of the v1 API in this interpreter."""

import importlib
import inspect
import json

MODULES = ("api", "shared_memory", "cuda_shared_memory")
MESSAGES = ("api_pb2", "model_config_pb2", "server_status_pb2", "request_status_pb2")
GRPC = ("grpc_service_pb2", "grpc_service_pb2_grpc")


def starred(name):
    """Return the names that ``from name import *`` binds."""
    names = {}
    exec("from %s import *" % name, names)  # noqa: S102, UP031
    return sorted(item for item in names if item != "__builtins__")


def parameters(function):
    """Return a function's parameters with their defaults."""
    result = []
    for parameter in inspect.signature(function).parameters.values():
        default = None if parameter.default is parameter.empty else repr(parameter.default)
        result.append([parameter.name, default])
    return result


def described(value):
    """Return the parameters of a function, or of the public methods of a class."""
    if not inspect.isclass(value):
        return {"": parameters(value)}
    return {
        name: parameters(method)
        for name, method in inspect.getmembers(value, _written)
        if name == "__init__" or not name.startswith("_")
    }


def _written(value):
    """True if this is a method written in Python."""
    return inspect.isfunction(value) or inspect.ismethod(value)


def ours(module):
    """Yield the functions and classes that belong to a module."""
    for name, value in sorted(vars(module).items()):
        if name.startswith("_") or getattr(value, "__module__", None) != module.__name__:
            continue
        plain_enum = inspect.isclass(value) and hasattr(value, "__members__")
        if callable(value) and not plain_enum:
            yield name, value


def main():
    names, calls = {}, {}
    for short in MODULES + tuple("api." + item for item in MESSAGES + GRPC):
        full = "tensorrtserver." + short
        module = importlib.import_module(full)
        names[full] = starred(full)
        if short in MODULES:
            calls[full] = {name: described(value) for name, value in ours(module)}
    print(json.dumps({"names": names, "calls": calls}))


main()
