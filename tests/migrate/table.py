"""The legacy programs and their command lines: data only.

``{url}`` and ``{protocol}`` stand for the server's address and the protocol's name, as the program
accepts them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Mapping, NamedTuple

import demo.programs as demo

PROGRAMS_FOLDER = Path(__file__).with_name("programs")
#: Programs in the style of real programs. ``expected_uses.txt`` does not list their uses.
STYLES_FOLDER = PROGRAMS_FOLDER.with_name("styles")
DEMO_FOLDER = Path(__file__).parents[2] / "demo" / "legacy"

FLAGS = ("-u", "{url}", "-i", "{protocol}")
PLACES = ("{url}", "{protocol}")
VARIABLES = {"TRTIS_URL": "{url}", "TRTIS_PROTOCOL": "{protocol}"}
_PICTURES = ("-m", "image_classifier", "-b", "2", "-c", "3")
GRPC = ("grpc",)


class Program(NamedTuple):
    """A program: its files and its command line."""

    name: str  # of the case: the file's name, and a word for the call
    files: tuple[Path, ...]  # the first one is run
    arguments: tuple[str, ...] = FLAGS
    variables: Mapping[str, str] = {}
    protocols: tuple[str, ...] = ("http", "grpc")
    needs_run: bool = False  # ``tritonclient-shim run``: NumPy removed what it uses
    alone: bool = False  # it changes the server's state, which its copies would see
    status: int = 0  # at the end
    varies: str = ""  # a pattern for output that differs from run to run

    @property
    def source(self) -> str:
        """Return the name that the cases of these files share."""
        return self.name.partition("-")[0]

    @property
    def script(self) -> str:
        """Return the name of the file that is run."""
        return self.files[0].name


def _own(name: str, *arguments: str, **more: object) -> Program:
    """Return a program of ours: a script, a notebook or a folder with a ``main.py``."""
    file = name.partition("-")[0]
    folders = (PROGRAMS_FOLDER, STYLES_FOLDER)
    files = [path for folder in folders for path in sorted(folder.glob(f"{file}.*"))]
    files = files or [path for item in folders for path in sorted((item / file).glob("*.py"))]
    return Program(name, tuple(files), arguments, **more)  # type: ignore[arg-type]


OWN = (
    *(
        _own(name, *FLAGS)
        for name in (
            *("async_errors", "async_queue", "errors", "real_load_test"),
            *("real_segmenter", "protocol_in_settings", "real_async_callback", "real_async_ids"),
            *("real_context_subclass", "real_cuda", "real_detector", "real_dotted"),
            *("real_old_async", "real_package", "real_recommender", "real_service"),
            *("real_several", "real_simple", "real_status_print", "real_tracker", "real_wait"),
            *("real_star_constants", "real_user_data", "star_through_files", "strings", "threads"),
        )
    ),
    *(
        _own(name, *PLACES)
        for name in (
            *("real_text_batch", "late_import", "multiproc"),
            *("real_async_global", "real_errors", "real_model_only_there", "real_speech_class"),
            *("real_batches", "real_closing_subclass", "real_config_print"),
            *("real_strings", "real_subclass", "star_names", "thread_last", "all_models"),
            *("batches", "contexts_by_name", "futures", "last_requests", "literal_requests"),
            *("named_models", "sorted_requests", "threads_in_turn"),
        )
    ),
    *(
        _own(name, variables=VARIABLES)
        for name in (
            *("real_gateway_service", "real_kf_transformer", "real_per_call", "real_status_loops"),
            *("real_tts", "wait_until_ready"),
        )
    ),
    *(
        _own(name, *FLAGS, alone=True)  # regions, sequences, loaded models
        for name in (
            *("real_shm_pair", "real_stateful", "model_control", "real_sequence", "real_shm"),
            "real_shm_choice",
            *("sequence_both_ways", "shm_reuse"),
        )
    ),
    _own("real_health_status", *PLACES, alone=True),
    _own("real_status_counts", *PLACES, alone=True),
    _own("statuses", *PLACES, alone=True),
    _own("fetched_elsewhere", *PLACES),
    _own("formats_elsewhere", *PLACES, alone=True),
    _own("shm_in_use", *PLACES, alone=True),
    _own("shm_strings", *PLACES, alone=True),
    _own("real_unittest_util", variables=VARIABLES, alone=True),
    _own("sequence_both_ways-streaming", *FLAGS, "-s", "-a", protocols=GRPC, alone=True),
    _own("real_stream", "-u", "{url}", protocols=GRPC, alone=True),
    _own("sequence_stream", "-u", "{url}", protocols=GRPC, alone=True),
    _own("real_literal", "{url}", protocols=GRPC),
    _own("real_stub", "-u", "{url}", protocols=GRPC),
    _own("real_stub_by_name", "{url}", protocols=GRPC),
    _own("real_stub_future", "{url}", protocols=GRPC),
    _own("real_stub_raw", "{url}", protocols=GRPC),
    _own("stub_calls", "{url}", protocols=GRPC, alone=True),
    _own("stub_status", "{url}", protocols=GRPC),
    _own("real_grpc_image", "-u", "{url}", *_PICTURES, protocols=GRPC),
    _own("real_grpc_image-async", "-u", "{url}", *_PICTURES, "-a", protocols=GRPC),
    _own("real_grpc_image-streaming", "-u", "{url}", *_PICTURES, "--streaming", protocols=GRPC),
    _own("real_image_class", *FLAGS, *_PICTURES),
    _own("image_client", *FLAGS, *_PICTURES),
    _own("image_client-async", *FLAGS, *_PICTURES, "-a"),
    _own("headers_everywhere", *FLAGS, "-H", "X-Team: vision", "-H", "Empty:"),
    _own("health_probe", variables={"SERVER": "{url}", "PROTOCOL": "{protocol}"}),
    _own(
        "health_probe-nobody",
        variables={"SERVER": "127.0.0.1:9", "PROTOCOL": "{protocol}"},
        status=2,
    ),
    _own("python2", *FLAGS, needs_run=True),
    _own("python2-async", *FLAGS, "--async", needs_run=True),
)

#: The demo's scripts, called as the demo calls them.
DEMO = tuple(
    Program(
        "-".join([f"demo_{item.script[:-3]}", *(option.strip("-") for option in item.options[:1])]),
        (DEMO_FOLDER / item.script,),
        (*FLAGS, *item.options),
        protocols=item.protocols,
        alone=item.script.startswith(("shared_memory", "sequence")),  # their names are fixed
        varies=r"^Request \d+|^expected error: .*",  # v1's server counted; texts are Triton's
    )
    for item in demo.PROGRAMS
    # a model that is on another server, and ids of sequences that are too large for gRPC
    if item.script not in ("flower_client.py", "sequence_client.py")
)

PROGRAMS = (*OWN, *DEMO)
