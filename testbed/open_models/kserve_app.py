"""KServe's model server with the models of the table: ``kserve_app.py HTTP_PORT GRPC_PORT``.

KServe listens on every address of the machine. Two changes here keep it on 127.0.0.1.
"""

import sys
import uuid

import kserve.model_server
import kserve.protocol.grpc.server
import kserve.protocol.rest.server
from kserve import InferOutput, InferResponse, Model, ModelServer
from table import MODELS


class LoopbackREST(kserve.protocol.rest.server.RESTServer):
    """The HTTP server, on loopback."""

    def __init__(self, *args, **options):
        super().__init__(*args, **options)
        self.config.host = "127.0.0.1"


class LoopbackAio:
    """A stand-in for ``grpc.aio`` that opens the ports of the gRPC server on loopback."""

    def __init__(self, genuine):
        self.genuine = genuine

    def server(self, *args, **options):
        """Return a server that replaces the address and keeps the port."""
        result = self.genuine.server(*args, **options)
        add = result.add_insecure_port
        result.add_insecure_port = lambda address: add(f"127.0.0.1:{address.rpartition(':')[2]}")
        return result


class Computed(Model):
    """A model that applies its function of the table."""

    def __init__(self, name, model):
        super().__init__(name)
        self.model = model
        self.ready = True

    def get_input_types(self):
        """Return the metadata of the inputs."""
        return self.model.metadata("inputs")

    def get_output_types(self):
        """Return the metadata of the outputs."""
        return self.model.metadata("outputs")

    def predict(self, payload, headers=None):
        """Apply the function to the inputs."""
        received = {item.name: item.datatype for item in payload.inputs}
        declared = {name: datatype for name, datatype, _ in self.model.outputs}
        results = self.model.function({item.name: item.as_numpy() for item in payload.inputs})
        outputs = []
        for name, array in results.items():
            output = InferOutput(name, list(array.shape), {**received, **declared}[name])
            output.set_data_from_numpy(array, binary_data=True)
            outputs.append(output)
        # Without these options KServe sends all outputs, in JSON. Short models of users omit them.
        selection = {
            "requested_outputs": payload.request_outputs,
            "use_binary_outputs": payload.use_binary_outputs,
        }
        # KServe rejects a reply without an id, but a request may have none
        reply_id = payload.id or str(uuid.uuid4())
        return InferResponse(reply_id, self.name, outputs, **(selection if declared else {}))


def main(http_port, grpc_port):
    """Serve until SIGTERM."""
    kserve.model_server.RESTServer = LoopbackREST
    grpc_server = kserve.protocol.grpc.server
    grpc_server.aio = LoopbackAio(grpc_server.aio)
    server = ModelServer(http_port=http_port, grpc_port=grpc_port, grace_period=1)
    server.start([Computed(name, model) for name, model in MODELS.items()])


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
