"""Print, as JSON, every field, enum value and rpc of the v1 messages in this interpreter."""

import importlib
import json

from google.protobuf import descriptor_pb2

MODULES = ("model_config", "request_status", "api", "server_status", "grpc_service")


def fields(message, path):
    """The rows of a message and of all that is in it."""
    path = path + "." + message.name
    yield [path, "message"]
    oneofs = [one.name for one in message.oneof_decl]
    for one in message.field:
        oneof = oneofs[one.oneof_index] if one.HasField("oneof_index") else ""
        yield [path, one.name, one.number, one.type, one.label, one.type_name, oneof]
    for nested in message.nested_type:
        for row in fields(nested, path):
            yield row
    for row in enums(message.enum_type, path):
        yield row


def enums(found, path):
    """The rows of the enums of a message or a file."""
    for enum in found:
        for one in enum.value:
            yield [path + "." + enum.name, one.name, one.number]


def main():
    rows = []
    for name in MODULES:
        module = importlib.import_module("tensorrtserver.api." + name + "_pb2")
        file = descriptor_pb2.FileDescriptorProto()
        file.ParseFromString(module.DESCRIPTOR.serialized_pb)
        rows.append([name, "package", file.package, file.syntax])
        for message in file.message_type:
            rows.extend(fields(message, name))
        rows.extend(enums(file.enum_type, name))
        for service in file.service:
            for one in service.method:
                streams = [one.client_streaming, one.server_streaming]
                rows.append(
                    [name, service.name, one.name, one.input_type, one.output_type, streams]
                )
    print(json.dumps(rows))


main()
