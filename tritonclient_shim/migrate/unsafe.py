"""The changes that programs may notice: the rows of the table in ``docs/migrate.md``.

A rule names the rows of what it writes. The report repeats their numbers and words.
"""

from __future__ import annotations

from enum import Enum
from typing import Iterable, Sequence


class UnsafeChange(Enum):
    """A change that ``--unsafe`` allows, and what may differ after it.

    The order is that of the table. A difference has no capital and no full stop: reasons quote it.
    """

    DECIMALS = (
        "CLASS → `class_count`",
        "classes come with six decimals; a count of 0 or less asks for no classes, or is refused",
    )
    LINES = (
        "tritonclient's own lines for a request",
        "arrays of another datatype or shape, and models without batches, are refused; results "
        "can be read only",
    )
    REFUSED_ARRAYS = (
        "`infer` without the check of arrays",
        "arrays of another datatype or shape than the model's are refused, and inputs without "
        "arrays raise its exception",
    )
    PROTOCOL_NAME = (
        "a protocol → its name, in a program of several files",
        "other files may expect v1's number",
    )
    FORMAT_NUMBER = (
        "a format of outputs → a number, in a program of several files",
        "other files may expect v1's format",
    )
    OUTPUTS_ELSEWHERE = (
        "a request whose outputs another file may make",
        "that file may keep v1's formats",
    )
    FUTURES = (
        "asynchronous requests → futures, in a program of several files",
        "other files may expect numbers of requests",
    )
    LATE_ERRORS = (
        "asynchronous requests whose errors the program may handle at once → futures",
        "errors of a request come with its future",
    )
    OBJECT = (
        "a context or its `run` that other code gets, or a class is derived from → `InferModel`",
        "that code may use more of a context than `run` and `close`",
    )
    CONNECT = (
        "a protocol from elsewhere → `connect(protocol, url)`",
        'the protocol must be `"grpc"`, `"http"` or v1\'s number',
    )
    STATUS = (
        "a status that the program may show, hand on or ask for `uptime_ns` → "
        "`get_server_status(client)`",
        "`uptime_ns` is that of this machine, and a status is no message",
    )
    STATUS_OF_ALL = (
        "a status of one model, whose name is not known at the call",
        "the status is of all models",
    )
    PRINTED_STATUS = (
        "a status that is only printed → `client.get_inference_statistics(model_name)`",
        "it prints as tritonclient's: statistics of models, without configurations and states",
    )
    PRINTED_STATISTICS = (
        "`infer_stats` of a status that is only printed → `batch_stats`",
        "it prints as tritonclient's, with other names",
    )
    STUB = (
        "v1's raw stub → `InferStub`",
        "messages become plain objects, which take any field and print differently",
    )
    TIMES = (
        "`get_stat()` of an `InferModel`",
        "the time is that of `infer` alone; sending and receiving take 0",
    )
    REQUEST_NUMBERS = (
        "`get_last_request_id()` of an `InferModel`",
        "a server does not number requests: the client counts its own",
    )
    LAST_REQUEST = (
        "reports on the last of several asynchronous requests",
        "the last request is the one that was done last",
    )
    HANDLES = (
        "a handle of shared memory that other code gets or makes → `Region`",
        "that code may expect a handle, or make one",
    )
    PRINTED_REGIONS = (
        "`get_shared_memory_status()` that is only printed → `get_system_shared_memory_status()`",
        "it prints as tritonclient's, without regions of CUDA memory",
    )
    PRINTED_IDS = (
        "`server_id()` and `request_id()` of an error that are only printed → `None`",
        "it prints None: errors have no ids",
    )
    REGION_STATUS = (
        "a status of shared memory that the program may show or hand on → `region_status(client)`",
        "the status is no message",
    )
    LOADED_MODEL = (
        "a test if a status has a model → `client.is_model_ready(model_name)`",
        "a model that was unloaded is not there; v1 kept it, as unavailable",
    )
    CLOSED = (
        "a context that the program may use after `close()` → a client",
        "a closed client raises ValueError or RuntimeError, which handlers of v1's exception miss",
    )
    CONFIGURATION = (
        "a configuration of a status → `client.get_model_config(model_name)`",
        "a model that is not there, or was unloaded, raises an error; a status had a configuration",
    )
    STREAMS = (
        "asynchronous requests of a context that may stream → futures of a pool with 256 threads",
        "replies of a stream come in any order",
    )

    @property
    def number(self) -> int:
        """Return the number of the row."""
        return list(UnsafeChange).index(self) + 1

    @property
    def change(self) -> str:
        """Return what becomes what."""
        return self.value[0]

    @property
    def difference(self) -> str:
        """Return what a program may notice."""
        return self.value[1]


def reason_of(rows: Sequence[UnsafeChange]) -> str:
    """Return why a use stays without ``--unsafe``."""
    differences = "; ".join(row.difference for row in rows)
    return f"unsafe: {differences}; --unsafe rewrites it ({numbers_of(rows)})"


def numbers_of(rows: Iterable[UnsafeChange]) -> str:
    """Return the numbers of rows as words, such as ``rows 2, 7``."""
    numbers = sorted(row.number for row in rows)
    return f"row{'s' * (len(numbers) > 1)} {', '.join(map(str, numbers))}"
