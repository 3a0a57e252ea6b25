"""The state of a v2 server → v1's messages about status, repository and shared memory.

What v2 does not have stays unset: the counters of status, health, control, shared-memory and
repository calls, and the configuration, except the name, of a model without a ready version
(docs/v1-behaviour.md §6.2).
"""

from __future__ import annotations

import itertools
from typing import Iterable

from tritonclient_shim.core.model import (
    BatchStatistics,
    Duration,
    IndexRow,
    ModelStatistics,
    RegisteredRegion,
    ServerSnapshot,
)
from tritonclient_shim.protos import server_status_pb2 as pb
from tritonclient_shim.servers.configuration import to_v1
from tritonclient_shim.translate.to_v1 import version_number

#: The batch size under which v1.13 and later filed requests of the v2 protocol
#: (docs/v1-behaviour.md §6.2).
_V2_BATCH = 1

_READY_STATES = {
    "READY": pb.MODEL_READY,
    "UNAVAILABLE": pb.MODEL_UNAVAILABLE,
    "LOADING": pb.MODEL_LOADING,
    "UNLOADING": pb.MODEL_UNLOADING,
}


def tracked_rows(
    index: Iterable[IndexRow], statistics: Iterable[ModelStatistics], model_name: str = ""
) -> tuple[IndexRow, ...]:
    """Return a row per version of what v1 tracked, of one model or of all.

    v1 tracked what had been loaded once: v2's rows with a state. A model that was deleted on disk
    while loaded is missing from v2's index. Its statistics still list it
    (docs/v1-behaviour.md §E.12).
    """
    listed = [row for row in index if row.state and model_name in ("", row.name)]
    known = {row.name for row in listed}
    loaded = [IndexRow(s.name, s.version, "READY") for s in statistics if s.name not in known]
    return tuple(listed + [row for row in loaded if model_name in ("", row.name)])


def to_status(snapshot: ServerSnapshot) -> pb.ServerStatus:
    """Return ``nvidia.inferenceserver.ServerStatus`` (docs/v1-behaviour.md §6.2)."""
    status = pb.ServerStatus(
        id=snapshot.metadata.name,
        version=snapshot.metadata.version,
        uptime_ns=snapshot.uptime_ns,
        ready_state=pb.SERVER_READY if snapshot.live else pb.SERVER_FAILED_TO_INITIALIZE,
    )
    names = dict.fromkeys([row.name for row in snapshot.index] + list(snapshot.configs))
    for name in names:
        _fill_model(status.model_status[name], name, snapshot)
    return status


def to_index(index: Iterable[IndexRow]) -> pb.ModelRepositoryIndex:
    """Return every model of the repositories once, sorted (docs/v1-behaviour.md §6.3)."""
    names = sorted({row.name for row in index})
    entries = [pb.ModelRepositoryIndex.ModelEntry(name=name) for name in names]
    return pb.ModelRepositoryIndex(models=entries)


def to_regions(regions: Iterable[RegisteredRegion]) -> pb.SharedMemoryStatus:
    """Return a server's regions, sorted by name as v1's server did (docs/v1-behaviour.md §6.5)."""
    status = pb.SharedMemoryStatus()
    for region in sorted(regions, key=lambda each: each.name):
        message = status.shared_memory_region.add(name=region.name, byte_size=region.byte_size)
        if region.kind == "cuda":
            message.cuda_shared_memory.device_id = region.device_id
            message.cuda_shared_memory.SetInParent()  # also when the device is 0
        else:
            key = region.key
            shown = "/" + key.lstrip("/") if key.startswith("//") else key  # see free_spelling
            message.system_shared_memory.shared_memory_key = shown
            message.system_shared_memory.offset = region.offset
    return status


def free_spelling(key: str, taken: Iterable[str]) -> str:
    """Return how to spell a user's key, on a server that has registered the keys ``taken``.

    A v2 server uses the descriptor of the first registration again when the very same key is
    registered under another name. It has closed that descriptor: it refuses, or maps whatever file
    has the number now (docs/v2-mapping.md §8). It compares keys as text, while ``shm_open`` drops
    all leading slashes, so one more slash makes the server open the object afresh. That is also
    right when the key has a new object since.
    """
    spellings = set(taken)
    if key not in spellings:
        return key
    bare = key.lstrip("/")
    return next(spelled for n in itertools.count(1) if (spelled := "/" * n + bare) not in spellings)


def _fill_model(status: pb.ModelStatus, name: str, snapshot: ServerSnapshot) -> None:
    document = snapshot.configs.get(name)
    if document is not None:
        status.config.CopyFrom(to_v1(document))
    status.config.name = name
    statistics = {s.version: s for s in snapshot.statistics if s.name == name}
    for number, row in _versions(name, snapshot.index).items():
        _fill_version(status.version_status[number], row, statistics.get(row.version))


def _versions(name: str, index: Iterable[IndexRow]) -> dict[int, IndexRow]:
    """Return the rows of a model by v1's number of the version.

    Versions that are no numbers share -1. A ready one stands for all of them there. A model in two
    repositories has a row without version, which is no version (docs/v1-behaviour.md §E.12).
    """
    rows: dict[int, IndexRow] = {}
    for row in index:
        if row.name != name or not (row.version or row.state == "READY"):
            continue
        number = version_number(row.version)
        if number not in rows or row.state == "READY":
            rows[number] = row
    return rows


def _fill_version(
    status: pb.ModelVersionStatus, row: IndexRow, statistics: ModelStatistics | None
) -> None:
    status.ready_state = _READY_STATES.get(row.state, pb.MODEL_UNKNOWN)
    status.ready_state_reason.SetInParent()  # v1 set it also where there was no reason
    status.ready_state_reason.message = row.reason
    if statistics is None:
        return
    status.model_execution_count = statistics.execution_count
    status.model_inference_count = statistics.inference_count
    status.last_inference_timestamp_milliseconds = statistics.last_inference_ms
    for batch_size, stats in infer_stats(statistics).items():
        status.infer_stats[batch_size].CopyFrom(stats)


def infer_stats(statistics: ModelStatistics) -> dict[int, pb.InferRequestStats]:
    """Return v1's statistics of a model version, by the requests' batch size
    (docs/v2-mapping.md §7).

    v2 counts by *executed* batch size. While no two requests were executed together, that is the
    requests' batch size, and the counts are exact; the total time is shared out by count. Otherwise
    everything is under 1, where v1.13 and later put requests of the v2 protocol. Failures are under
    1 as well: v2 has no batch size for them.
    """
    rows: dict[int, pb.InferRequestStats] = {}
    if _unmerged(statistics):
        for batch in statistics.batches:
            count = batch.compute_infer.count
            success, queue = (
                Duration(count, whole.ns * count // statistics.success.count)
                for whole in (statistics.success, statistics.queue)
            )
            rows[batch.batch_size] = _row(success, queue, batch)
    elif statistics.success.count:
        whole = BatchStatistics(
            _V2_BATCH, statistics.compute_input, statistics.compute_infer, statistics.compute_output
        )
        rows[_V2_BATCH] = _row(statistics.success, statistics.queue, whole)
    if statistics.fail.count:
        failed = rows.setdefault(_V2_BATCH, pb.InferRequestStats()).failed
        failed.CopyFrom(_duration(statistics.fail))
    return rows


def _unmerged(statistics: ModelStatistics) -> bool:
    """True if every execution was of one successful request.

    v2 counts a failed execution by its batch size too, but not its inferences.
    """
    executed = sum(batch.compute_infer.count for batch in statistics.batches)
    inferences = sum(batch.batch_size * batch.compute_infer.count for batch in statistics.batches)
    return (
        executed > 0
        and executed == statistics.success.count == statistics.execution_count
        and inferences == statistics.inference_count
    )


def _row(success: Duration, queue: Duration, batch: BatchStatistics) -> pb.InferRequestStats:
    parts = (batch.compute_input, batch.compute_infer, batch.compute_output)
    compute = Duration(success.count, sum(part.ns for part in parts))
    return pb.InferRequestStats(
        success=_duration(success),
        queue=_duration(queue),
        compute=_duration(compute),
        compute_input=_duration(parts[0]),
        compute_infer=_duration(parts[1]),
        compute_output=_duration(parts[2]),
    )


def _duration(duration: Duration) -> pb.StatDuration:
    return pb.StatDuration(count=duration.count, total_time_ns=duration.ns)
