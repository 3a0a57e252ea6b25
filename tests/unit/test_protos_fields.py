"""The v1 messages against an independent listing of every field (docs/v1-behaviour.md §8.1)."""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from typing import Any, Iterator

import pytest
from google.protobuf import descriptor_pb2

MODULES = ("model_config", "request_status", "api", "server_status", "grpc_service")
SHORT = {"uint32": "u32", "uint64": "u64", "int32": "i32", "int64": "i64"}
PACKAGE = ".nvidia.inferenceserver."


def descriptor(name: str) -> Any:
    """Name of a .proto file → its descriptor, as data."""
    module = importlib.import_module(f"tritonclient_shim.protos.{name}_pb2")
    file = descriptor_pb2.FileDescriptorProto()
    module.DESCRIPTOR.CopyToProto(file)
    return file


def read_listing() -> dict[str, tuple[list[str], dict[str, list[str]]]]:
    """v1_messages.txt → per file: its imports, and the lines of each message, enum and rpc."""
    files: dict[str, tuple[list[str], dict[str, list[str]]]] = {}
    content: dict[str, list[str]] = {}
    for line in (Path(__file__).parent / "v1_messages.txt").read_text().splitlines():
        if line.startswith("file "):
            _, name, _, imports = line.split(" ", 3)
            content = {}
            files[name] = ([i for i in imports.split() if i != "nothing"], content)
        elif line.startswith("rpc "):
            content[line] = []
        elif line.startswith("enum "):
            name, rest = line.split("  ")
            content[name] = rest.split(", ")
        elif line and not line.startswith("#"):
            name, rest = line.split(maxsplit=1)
            fields = [] if rest == "(empty)" else rest.split("; ")
            content[name] = [re.sub(r"([ :,])\.", rf"\1{name}.", field) for field in fields]
    return files


def type_name(field: Any) -> str:
    """Field → name of its type, short for scalars, without the package for the others."""
    if field.type_name:
        return str(field.type_name[len(PACKAGE) :])
    plain = field.Type.Name(field.type)[len("TYPE_") :].lower()
    return str(SHORT.get(plain, plain))


def field_line(message: Any, field: Any) -> str:
    """Field → its line of the listing."""
    text = type_name(field)
    repeated = field.label == field.LABEL_REPEATED
    entries = {n.name: n for n in message.nested_type if n.options.map_entry}
    entry = entries.get(text.split(".")[-1])
    if entry is not None:
        text = f"map<{type_name(entry.field[0])},{type_name(entry.field[1])}>"
    line = f"{field.number} {field.name}:{'rep ' * (repeated and entry is None)}{text}"
    if field.HasField("oneof_index"):
        line += "/" + message.oneof_decl[field.oneof_index].name
    return line


def described(message: Any, outer: str = "") -> Iterator[tuple[str, list[str]]]:
    """Message → its lines and those of everything nested in it."""
    name = outer + message.name
    fields = sorted(message.field, key=lambda field: field.number)
    yield name, [field_line(message, field) for field in fields]
    for enum in message.enum_type:
        yield f"enum {name}.{enum.name}", enum_values(enum)
    for nested in message.nested_type:
        if not nested.options.map_entry:
            yield from described(nested, name + ".")


def enum_values(enum: Any) -> list[str]:
    """Enum → its values as the listing has them."""
    return [f"{value.name}={value.number}" for value in enum.value]


def rpc_line(service: Any, rpc: Any) -> str:
    """Rpc → its line of the listing."""
    before, after = "stream " * rpc.client_streaming, "stream " * rpc.server_streaming
    source, target = rpc.input_type[len(PACKAGE) :], rpc.output_type[len(PACKAGE) :]
    return f"rpc {service.name}.{rpc.name}({before}{source}) -> {after}{target}"


@pytest.mark.parametrize("name", MODULES)
def test_every_message_enum_and_rpc_is_as_listed(name: str) -> None:
    """Numbers, names, types, labels, map keys, oneofs, enums, rpcs; no more, no less."""
    # docs/v1-behaviour.md §8.1
    file = descriptor(name)
    ours = {f"enum {enum.name}": enum_values(enum) for enum in file.enum_type}
    for message in file.message_type:
        ours.update(described(message))
    for service in file.service:
        ours.update({rpc_line(service, rpc): [] for rpc in service.method})
    assert ours == read_listing()[name][1]


@pytest.mark.parametrize("name", MODULES)
def test_file_name_package_and_imports(name: str) -> None:
    """Files sit under tensorrtserver/api/, import each other there, one proto3 package."""
    # docs/v1-behaviour.md §8.4
    file = descriptor(name)
    assert (file.name, file.package) == (f"tensorrtserver/api/{name}.proto", PACKAGE.strip("."))
    assert file.syntax == "proto3"
    imports = [f"tensorrtserver/api/{stem}.proto" for stem in read_listing()[name][0]]
    assert list(file.dependency) == imports


def test_the_listing_is_whole() -> None:
    """The listing that the other tests trust has all five files and 7 rpcs."""
    # docs/v1-behaviour.md §8.1
    listing = read_listing()
    assert tuple(listing) == MODULES
    assert sum(len(content) for _, content in listing.values()) == 92
    assert sum(key.startswith("rpc ") for key in listing["grpc_service"][1]) == 7
