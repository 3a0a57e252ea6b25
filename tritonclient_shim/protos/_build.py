"""Message classes of a file, as protobuf's own builder makes them, in a separate pool.

The runtime's builder (``google.protobuf.internal.builder``) always works on the default
descriptor pool; the package docstring says why v1's messages must not be in that pool.
"""

from __future__ import annotations

from typing import Any, Iterable, Iterator

from google.protobuf import descriptor_pool, message, reflection
from google.protobuf.internal import enum_type_wrapper

#: Holds every v1 message; ``DESCRIPTOR.pool`` of each generated module is this pool.
POOL = descriptor_pool.DescriptorPool()


def load(name: str, serialized: bytes, module: dict[str, Any]) -> None:
    """Bind the names of a generated module, from the ``FileDescriptorProto`` of file ``name``.

    These are ``DESCRIPTOR``, the message classes, enum wrappers and enum values, and the
    descriptors under their old names (``_MODELCONFIG``, ``_MODELINPUT_FORMAT``). ``__all__`` lists
    all of them.
    """
    POOL.AddSerializedFile(serialized)
    file: Any = POOL.FindFileByName(name)
    path = file.name.replace("/", ".")[: -len(".proto")] + "_pb2"
    enums = file.enum_types_by_name.values()
    messages = file.message_types_by_name.values()
    names = {"DESCRIPTOR": file}
    for enum in enums:
        names[enum.name] = enum_type_wrapper.EnumTypeWrapper(enum)
        names.update((value.name, value.number) for value in enum.values)
    names.update((each.name, _message_class(each, "", path)) for each in messages)
    names.update(_old_names([*enums, *messages, *file.services_by_name.values()], "_"))
    module.update(names, __all__=[*names])


def _message_class(descriptor: Any, outer: str, module: str) -> Any:
    """Return the class of a message, with nested classes, named so that pickle finds it."""
    path = outer + descriptor.name
    members: dict[str, Any] = {
        nested.name: _message_class(nested, path + ".", module)
        for nested in descriptor.nested_types
    }
    members.update(DESCRIPTOR=descriptor, __module__=module, __qualname__=path, __reduce__=_reduce)
    return reflection.GeneratedProtocolMessageType(descriptor.name, (message.Message,), members)


def _old_names(descriptors: Iterable[Any], prefix: str) -> Iterator[tuple[str, Any]]:
    """Yield the names of descriptors in old generated code: ``_`` and the path in capitals."""
    for descriptor in descriptors:
        name = prefix + descriptor.name.upper()
        yield name, descriptor
        nested = [getattr(descriptor, kind, ()) for kind in ("enum_types", "nested_types")]
        for inner in nested:
            yield from _old_names(inner, name + "_")


def _reduce(self: Any) -> tuple[Any, ...]:
    """Return what pickle stores of a message: the class by its module, and serialized fields.

    The runtime's own ``__reduce__`` stores the full name only and looks it up in the
    default pool, where it fails or finds another program's copy of the message.
    """
    return type(self), (), self.__getstate__()
