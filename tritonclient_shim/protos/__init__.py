"""v1's protobuf messages (docs/v1-behaviour.md §8), complete as of release 1.15.

``scripts/protos`` makes ``*_pb2.py`` and ``*_pb2.pyi`` from the ``.proto`` files here, and
the modules ``tensorrtserver.api.*_pb2`` that legacy programs import and that only re-export these
names. Classes say ``tensorrtserver.api.<x>_pb2`` as their module, so pickles hold v1's names.
``retired.proto`` has the messages that v1 itself removed; ``grpc_service_pb2_grpc`` (which imports
grpc) has the service. This file imports nothing.

Which descriptor pool
---------------------
The messages live in a pool of their own (``DESCRIPTOR.pool``), under the file names
``tensorrtserver/api/<x>.proto``, and never in protobuf's default pool. In the default pool
two files of one name, or two definitions of ``nvidia.inferenceserver.ModelConfig``, exclude
each other: the second import raises TypeError. A legacy program may carry its own generated
copy of the v1 protos, as it must where protos of its own import them: that code looks up
``api.proto`` by this name in the default pool. Our messages, registered there under any other
name, would not help it; they would only collide with its copy.

What holds, on protobuf 3.20 to 7:

* ``tritonclient.grpc`` may be imported before or after.
* A program's own copy of the v1 protos, under the original or other file names, may be
  imported before or after, and so may its own protos on top of that copy. Its classes and
  ours are then different classes of one wire format: hand a message from one to the other
  with ``ours.ParseFromString(theirs.SerializeToString())``.
* Text format, JSON, ``copy``, ``pickle`` and passing messages between processes work. A
  pickle stores the class, not a name to be looked up in the default pool.
* A proto that embeds our messages can be built in our pool:
  ``api_pb2.DESCRIPTOR.pool.AddSerializedFile(...)`` with ``api_pb2.DESCRIPTOR.name`` as
  its dependency.

What does not hold: generated code that looks for our files in the default pool, and the
lookup by name in ``symbol_database.Default()``, ``json_format`` or ``text_format`` of an
``Any`` (give them ``descriptor_pool=api_pb2.DESCRIPTOR.pool``). A copy of
``model_config.proto`` or ``grpc_service.proto`` under the original file names still cannot
share a process with ``tritonclient.grpc``, which registers files of the same names.
"""
