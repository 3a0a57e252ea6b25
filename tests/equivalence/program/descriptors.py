"""Print, as JSON, every field, enum value and rpc of the v1 messages in this interpreter."""

import importlib
import json

from google.protobuf import descriptor_pb2

MODULES = ("model_config", "request_status", "api", "server_status", "grpc_service")


def fields(message, path):
    """Yield the rows of a message, its fields, its nested messages and its enums."""
    path = path + "." + message.name
    yield [path, "message"]
    oneofs = [item.name for item in message.oneof_decl]
    for item in message.field:
        oneof = oneofs[item.oneof_index] if item.HasField("oneof_index") else ""
        yield [path, item.name, item.number, item.type, item.label, item.type_name, oneof]
    for nested in message.nested_type:
        for row in fields(nested, path):
            yield row
    for row in enums(message.enum_type, path):
        yield row


def enums(types, path):
    """Yield the rows of the enums of a message or a file."""
    for enum in types:
        for item in enum.value:
            yield [path + "." + enum.name, item.name, item.number]


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
            for item in service.method:
                streams = [item.client_streaming, item.server_streaming]
                rows.append(
                    [name, service.name, item.name, item.input_type, item.output_type, streams]
                )
    print(json.dumps(rows))


main()
