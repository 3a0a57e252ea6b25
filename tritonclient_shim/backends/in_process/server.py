"""The server itself, without a protocol: what it is asked, it answers, or raises ServerFault."""

from __future__ import annotations

from typing import Mapping

from tritonclient_shim.backends.in_process.declared import Model, Tensor, config_of
from tritonclient_shim.backends.in_process.models import RunningModel
from tritonclient_shim.backends.in_process.regions import Regions
from tritonclient_shim.backends.in_process.tensors import inputs_of, output_of
from tritonclient_shim.core.errors import ServerFault
from tritonclient_shim.core.metadata import ModelMetadata, ServerMetadata, TensorMetadata
from tritonclient_shim.core.model import (
    IndexRow,
    InferCall,
    InferReply,
    ModelConfigDocument,
    ModelStatistics,
    OutputSpec,
    TensorOut,
)

#: As Triton 2.51 names them, as far as they are here.
_EXTENSIONS = (
    *("classification", "sequence", "model_repository", "schedule_policy", "model_configuration"),
    *("system_shared_memory", "binary_tensor_data", "statistics"),
)


class InProcessServer:
    """Models by name. Any thread may call."""

    def __init__(self, name: str, models: Mapping[str, Model]) -> None:
        self.running = True
        self.regions = Regions()
        self._name = name
        self._models = {key: RunningModel(key, model) for key, model in models.items()}

    def metadata(self) -> ServerMetadata:
        """Name, version of the Triton that it is held against, extensions."""
        return ServerMetadata(self._name, "2.51.0", _EXTENSIONS)

    def model_metadata(self, name: str) -> ModelMetadata:
        """A model's tensors with their batch dimension."""
        model = self._known(name, "").model
        batch = (-1,) if model.max_batch_size else ()

        def told(tensors: tuple[Tensor, ...]) -> tuple[TensorMetadata, ...]:
            return tuple(TensorMetadata(t.name, t.datatype, (*batch, *t.dims)) for t in tensors)

        return ModelMetadata(name, "python", told(model.inputs), told(model.outputs))

    def config(self, name: str, version: str) -> ModelConfigDocument:
        """A loaded model's configuration."""
        return ModelConfigDocument(config_of(name, self._known(name, version).model), "python")

    def statistics(self, name: str, version: str) -> tuple[ModelStatistics, ...]:
        """Of one model, or of all that are loaded."""
        loaded = {key: one for key, one in self._models.items() if one.loaded}
        if not name:
            return tuple(row for one in loaded.values() for row in one.statistics())
        if name not in loaded:
            text = f"requested model '{name}' is not available"
            raise ServerFault(text, "INVALID_ARGUMENT")
        rows = loaded[name].statistics()
        found = tuple(row for row in rows if version in ("", row.version))
        if not found:
            text = f"requested model version is not available for model '{name}'"
            raise ServerFault(text, "INVALID_ARGUMENT")
        return found

    def index(self) -> tuple[IndexRow, ...]:
        """A row per version; a bare one for a model that has never been loaded."""
        rows = []
        for name, one in self._models.items():
            state, reason = ("READY", "") if one.loaded else ("UNAVAILABLE", "unloaded")
            versions = one.model.versions if one.ever_loaded else ()
            rows += [IndexRow(name, str(number), state, reason) for number in versions]
            rows += [] if versions else [IndexRow(name)]
        return tuple(rows)

    def load(self, name: str) -> None:
        """Load or reload."""
        if name not in self._models:
            text = f"failed to load '{name}', failed to poll from model repository"
            raise ServerFault(text, "INTERNAL")
        self._models[name].load()

    def unload(self, name: str) -> None:
        """Unload; unknown names succeed."""
        if name in self._models:
            self._models[name].loaded = False

    def infer(self, call: InferCall) -> InferReply:
        """Check the call, run the model's function, and answer with what was asked for."""
        running = self._known(call.model_name, "")
        version = running.version(call.model_version)
        inputs = inputs_of(call.model_name, running.model, call, self.regions.read)
        found = running.run(version, inputs, call)
        declared = {one.name: one for one in running.model.outputs}
        asked = call.outputs or tuple(OutputSpec(name) for name in declared)
        outputs = tuple(
            self._output(call.model_name, declared[one.name], found[one.name], one)
            for one in asked
            if one.name in found
        )
        return InferReply(call.model_name, str(version), outputs, call.request_id)

    def _output(self, name: str, tensor: Tensor, value: object, asked: OutputSpec) -> TensorOut:
        output = output_of(name, tensor, value, asked.class_count)
        if asked.shm is None:
            return output
        self.regions.write(asked.shm, output.data or b"", asked.name)
        return output._replace(data=None)

    def _known(self, name: str, version: str) -> RunningModel:
        running = self._models.get(name)
        if running is None or not running.ever_loaded:
            raise ServerFault(f"Request for unknown model: '{name}' is not found", "NOT_FOUND")
        running.version(version)
        return running
