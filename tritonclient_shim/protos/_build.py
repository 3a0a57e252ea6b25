"""File descriptor → message classes, as protobuf's own builder makes them, in a separate pool.

The runtime's builder (``google.protobuf.internal.builder``) always works on the default
descriptor pool; the package docstring says why v1's messages must not be in that pool.
"""

from __future__ import annotations

from typing import Any

from google.protobuf import descriptor_pool, message, reflection
from google.protobuf.internal import enum_type_wrapper

#: Holds every v1 message; ``DESCRIPTOR.pool`` of each generated module is this pool.
POOL = descriptor_pool.DescriptorPool()


def load(name: str, serialized: bytes, namespace: dict[str, Any]) -> None:
    """``FileDescriptorProto`` of file ``name`` → the names of a generated module, in ``namespace``.

    Binds ``DESCRIPTOR``, the message classes, enum wrappers and enum values, and the
    descriptors under their old names (``_MODELCONFIG``, ``_MODELINPUT_FORMAT``).
    """
    POOL.AddSerializedFile(serialized)
    file: Any = POOL.FindFileByName(name)
    namespace["DESCRIPTOR"] = file
    for enum in file.enum_types_by_name.values():
        namespace[enum.name] = enum_type_wrapper.EnumTypeWrapper(enum)
        namespace.update((value.name, value.number) for value in enum.values)
        _bind_descriptor(enum, "", namespace)
    module = file.name.replace("/", ".")[: -len(".proto")] + "_pb2"
    for descriptor in file.message_types_by_name.values():
        namespace[descriptor.name] = _message_class(descriptor, "", module)
        _bind_message_descriptors(descriptor, "", namespace)
    for service in file.services_by_name.values():
        _bind_descriptor(service, "", namespace)


def _message_class(descriptor: Any, outer: str, module: str) -> Any:
    """Message descriptor → its class, nested classes included, named so that pickle finds it."""
    path = outer + descriptor.name
    members: dict[str, Any] = {
        nested.name: _message_class(nested, path + ".", module)
        for nested in descriptor.nested_types
    }
    members.update(DESCRIPTOR=descriptor, __module__=module, __qualname__=path, __reduce__=_reduce)
    return reflection.GeneratedProtocolMessageType(descriptor.name, (message.Message,), members)


def _bind_message_descriptors(descriptor: Any, prefix: str, namespace: dict[str, Any]) -> None:
    """Message descriptor → ``_OUTER_INNER`` names for it and for what is nested in it."""
    _bind_descriptor(descriptor, prefix, namespace)
    inner = prefix + descriptor.name + "_"
    for enum in descriptor.enum_types:
        _bind_descriptor(enum, inner, namespace)
    for nested in descriptor.nested_types:
        _bind_message_descriptors(nested, inner, namespace)


def _bind_descriptor(descriptor: Any, prefix: str, namespace: dict[str, Any]) -> None:
    """Descriptor → its name in old generated code: ``_`` and the path in capitals."""
    namespace["_" + (prefix + descriptor.name).upper()] = descriptor


def _reduce(self: Any) -> tuple[Any, ...]:
    """Message → what pickle stores: the class by its module, and the serialized fields.

    The runtime's own ``__reduce__`` stores the full name only and looks it up in the
    default pool, where it fails or finds another program's copy of the message.
    """
    return type(self), (), self.__getstate__()
