"""The server itself, without a protocol: its models, its regions, and its replies.

Every refusal is a ServerError.
"""

from __future__ import annotations

import mmap
import os
from typing import Any, Mapping

from tritonclient_shim.backends.in_process.declared import (
    Arrays,
    Model,
    Sequence,
    ServerError,
    Tensor,
    config_of,
    invalid,
)
from tritonclient_shim.backends.in_process.tensors import inputs_of, output_of
from tritonclient_shim.concurrency import forks
from tritonclient_shim.core.model import (
    Buffer,
    IndexRow,
    InferCall,
    InferReply,
    ModelConfigDocument,
    ModelStatistics,
    OutputSpec,
    RegisteredRegion,
    ServerMetadata,
    ShmSlice,
    TensorOut,
)

_FOLDER = "/dev/shm"  # where Linux keeps POSIX shared-memory objects


class Regions:
    """The regions by name. CUDA memory is refused, as by a server without a GPU."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[RegisteredRegion, mmap.mmap]] = {}

    def register(self, name: str, key: str, byte_size: int, offset: int = 0) -> None:
        """Open the object of this key under a name."""
        if name in self._known:
            raise ServerError(f"shared memory region '{name}' already in manager", "ALREADY_EXISTS")
        try:
            with open(os.path.join(_FOLDER, key.lstrip("/")), "r+b") as file:
                memory = mmap.mmap(file.fileno(), 0)
        except (OSError, ValueError) as error:
            raise ServerError(f"Unable to open shared memory region: '{key}'") from error
        if offset < 0 or byte_size < 0 or offset + byte_size > len(memory):
            memory.close()
            raise invalid(f"failed to register shared memory region '{name}': invalid args")
        self._known[name] = RegisteredRegion(name, byte_size, key, offset), memory

    def refuse_cuda(self, name: str, *_: Any) -> None:
        """Raise ServerError: there is no GPU here."""
        raise invalid(
            f"failed to register CUDA shared memory region '{name}': no CUDA in this server"
        )

    def unregister(self, *names: str) -> None:
        """Forget some regions, without names all. Unknown names succeed."""
        for name in names or [*self._known]:
            self._known.pop(name, None)

    def status(self) -> tuple[RegisteredRegion, ...]:
        """Return all regions."""
        return tuple(row for row, _ in self._known.values())

    def read(self, part: ShmSlice) -> Buffer:
        """Return the bytes of a slice."""
        start, memory = self._place(part)
        return memory[start : start + part.byte_size]

    def write(self, part: ShmSlice, data: Buffer, output: str) -> None:
        """Write an output to its slice."""
        start, memory = self._place(part)
        if len(data) > part.byte_size:
            raise invalid(
                f"shared memory size specified with the request for output '{output}' "
                f"({part.byte_size} bytes) should be at least {len(data)} bytes to hold the results"
            )
        memory[start : start + len(data)] = bytes(data)

    def _place(self, part: ShmSlice) -> tuple[int, mmap.mmap]:
        if part.region not in self._known:
            text = f"Unable to find shared memory region: '{part.region}'"
            raise ServerError(text, "NOT_FOUND")
        row, memory = self._known[part.region]
        if part.offset + part.byte_size > row.byte_size:
            raise invalid(f"Invalid offset + byte size for shared memory region: '{part.region}'")
        return row.offset + part.offset, memory


class RunningModel:
    """A model by its name. Any thread may call; one request runs at a time."""

    def __init__(self, name: str, model: Model) -> None:
        self.name = name
        self.model = model
        self.loaded = model.loaded
        self.ever_loaded = model.loaded
        self._lock = forks.Lock()
        self._sequences: dict[tuple[int, int], dict[str, Any]] = {}

    def load(self) -> None:
        """Load the model, or load it again: open sequences are lost."""
        self.loaded = self.ever_loaded = True
        self._sequences.clear()

    def run(self, version: int, inputs: Arrays, call: InferCall) -> Arrays:
        """Call the function. Raises ServerError."""
        arguments: list[Any] = [inputs]
        if self.model.stateful:
            arguments.append(self._sequence(version, call))
        try:
            with self._lock.lock:
                arrays = self.model.versions[version](*arguments)
        except ServerError:
            raise
        except Exception as error:  # whatever a function raises is an answer
            refusal = ServerError(
                f"Failed to process the request(s) for model '{self.name}_0_0', message: "
                f"{type(error).__name__}: {error}"
            )
            refusal.model_exception = error
            raise refusal from error
        names = {output.name for output in self.model.outputs}
        if not isinstance(arrays, dict) or not names.issuperset(arrays):
            shown = sorted(map(str, arrays)) if isinstance(arrays, dict) else type(arrays).__name__
            raise ServerError(
                f"the function of model '{self.name}' returned {shown}; expected a dict with "
                f"arrays for {sorted(names)}"
            )
        return arrays

    def _sequence(self, version: int, call: InferCall) -> Sequence:
        """Return the sequence of a request, begun or continued (docs/v2-mapping.md §4)."""
        number = call.sequence_id
        key = (version, call.sequence_id)
        if not number:
            raise invalid(
                f"inference request to model '{self.name}' must specify a non-zero or non-empty "
                "correlation ID"
            )
        with self._lock.lock:
            if call.sequence_start:
                self._sequences[key] = {}
            elif key not in self._sequences:
                raise invalid(
                    f"inference request for sequence {number} to model '{self.name}' must specify "
                    "the START flag on the first request of the sequence"
                )
            state = self._sequences[key]
            if call.sequence_end:
                del self._sequences[key]
        return Sequence(number, call.sequence_start, call.sequence_end, state)


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

    def config(self, name: str, version: str = "") -> ModelConfigDocument:
        """Return a loaded model's configuration."""
        running, _ = self._known(name, version)
        return ModelConfigDocument(config_of(name, running.model), "python")

    def statistics(self, name: str = "", version: str = "") -> tuple[ModelStatistics, ...]:
        """Return a row per loaded version, of one model or of all; nothing is counted."""
        return tuple(
            ModelStatistics(row.name, row.version)
            for row in self.index()
            if row.state == "READY" and name in ("", row.name) and version in ("", row.version)
        )

    def index(self) -> tuple[IndexRow, ...]:
        """Return a row per version; a bare one for a model that has never been loaded."""
        rows = []
        for name, running in self._models.items():
            state, reason = ("READY", "") if running.loaded else ("UNAVAILABLE", "unloaded")
            versions = running.model.versions if running.ever_loaded else ()
            rows += [IndexRow(name, str(number), state, reason) for number in versions]
            rows += [] if versions else [IndexRow(name)]
        return tuple(rows)

    def load(self, name: str) -> None:
        """Load or reload."""
        if name not in self._models:
            raise ServerError(f"failed to load '{name}', failed to poll from model repository")
        self._models[name].load()

    def unload(self, name: str) -> None:
        """Unload; unknown names succeed."""
        if name in self._models:
            self._models[name].loaded = False

    def infer(self, call: InferCall) -> InferReply:
        """Check the call, run the model's function, and answer with what was asked for."""
        running, version = self._known(call.model_name, call.model_version)
        inputs = inputs_of(call.model_name, running.model, call, self.regions.read)
        arrays = running.run(version, inputs, call)
        declared = {tensor.name: tensor for tensor in running.model.outputs}
        specs = call.outputs or tuple(OutputSpec(name) for name in declared)
        outputs = tuple(
            self._output(call.model_name, declared[output.name], arrays[output.name], output)
            for output in specs
            if output.name in arrays
        )
        return InferReply(call.model_name, str(version), outputs, call.request_id)

    def _output(self, name: str, tensor: Tensor, value: object, spec: OutputSpec) -> TensorOut:
        output = output_of(name, tensor, value, spec.form.class_count)
        if spec.shm is None:
            return output
        self.regions.write(spec.shm, output.data or b"", spec.name)
        return output._replace(data=None)

    def _known(self, name: str, version: str = "") -> tuple[RunningModel, int]:
        """Return a model, and the version of a request; '' is the latest. Raises ServerError."""
        unknown = f"Request for unknown model: '{name}'"
        running = self._models.get(name)
        if running is None or not running.ever_loaded:
            raise ServerError(f"{unknown} is not found", "NOT_FOUND")
        if not running.loaded:
            raise ServerError(f"{unknown} has no available versions", "NOT_FOUND")
        versions = {str(number): number for number in running.model.versions}
        versions[""] = max(running.model.versions)
        if version not in versions:
            raise ServerError(f"{unknown} version {version} is not found", "NOT_FOUND")
        return running, versions[version]
