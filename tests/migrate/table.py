"""The legacy programs and their command lines: data only.

``{url}`` and ``{protocol}`` stand for the server's address and the protocol's name, as the program
accepts them. ``{number}`` is v1's number of the protocol; ``{http}`` and ``{grpc}`` are addresses.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Mapping, NamedTuple

import demo.programs as demo
from tests.migrate import scenario_scripts

PROGRAMS_FOLDER = Path(__file__).with_name("programs")
#: Programs in the style of real programs. ``expected_uses.txt`` does not list their uses.
STYLES_FOLDER = PROGRAMS_FOLDER.with_name("styles")
DEMO_FOLDER = Path(__file__).parents[2] / "demo" / "legacy"

FLAGS = ("-u", "{url}", "-i", "{protocol}")
PLACES = ("{url}", "{protocol}")
VARIABLES = {"TRTIS_URL": "{url}", "TRTIS_PROTOCOL": "{protocol}"}
_PICTURES = ("-m", "image_classifier", "-b", "2", "-c", "3")
HTTP, GRPC = ("http",), ("grpc",)


class Program(NamedTuple):
    """A program: its files and its command line."""

    name: str  # of the case: the file's name, and a word for the call
    files: tuple[Path, ...] = ()  # the first one is run
    arguments: tuple[str, ...] = FLAGS
    variables: Mapping[str, str] = {}
    protocols: tuple[str, ...] = ("http", "grpc")
    needs_run: bool = False  # ``tritonclient-shim run``: NumPy removed what it uses
    alone: bool = False  # it changes the server's state, which its copies would see
    status: int = 0  # at the end
    varies: str = ""  # a pattern for output that differs from run to run
    text: str = ""  # of a program that has no file

    @property
    def source(self) -> str:
        """Return the name that the cases of these files share."""
        return self.name.partition("-")[0]

    @property
    def script(self) -> str:
        """Return the name of the file that is run."""
        return self.files[0].name if self.files else "main.py"


def _own(name: str, *arguments: str, **more: object) -> Program:
    """Return a program of ours: a script, a notebook or a folder with a ``main.py``."""
    file = name.partition("-")[0]
    folders = (PROGRAMS_FOLDER, STYLES_FOLDER)
    files = [path for folder in folders for path in sorted(folder.glob(f"{file}.*"))]
    files = files or [path for item in folders for path in sorted((item / file).glob("*.py"))]
    return Program(name, tuple(files), arguments, **more)  # type: ignore[arg-type]


_SETTINGS = (
    '{{"server": "{url}", "protocol": {number}, "model": "identity_fp32",'
    ' "input": "INPUT0", "output": "OUTPUT0"}}'
)

OWN = (
    _own("async_busy_wait", *PLACES),
    _own("async_errors", *FLAGS),
    _own("asyncio_bridge", *PLACES),
    _own("thread_last", *PLACES),
    _own("late_import", *PLACES),
    _own("late_import_notebook", variables=VARIABLES),
    _own("sequence_both_ways", *FLAGS, alone=True),
    _own("sequence_both_ways-streaming", *FLAGS, "-s", "-a", protocols=GRPC, alone=True),
    _own("star_through_files", *FLAGS),
    _own("protocol_in_settings", *FLAGS),
    *(
        _own(f"real_{name}", *FLAGS)
        for name in ("async_callback", "async_ids", "cuda", "detector", "dotted", "package")
    ),
    *(_own(f"real_{name}", *FLAGS) for name in ("service", "several", "simple", "status_print")),
    *(
        _own(f"real_{name}", *PLACES)
        for name in ("async_global", "errors", "model_only_there", "strings", "subclass")
    ),
    *(
        _own(f"real_{name}", *FLAGS)
        for name in ("old_async", "recommender", "tracker", "user_data")
    ),
    _own("real_health_status", *PLACES, alone=True),  # it loads a model
    _own("real_speech_class", *PLACES),
    _own("real_kf_transformer", variables=VARIABLES),
    _own("real_unittest_util", variables=VARIABLES, alone=True),
    _own("real_context_subclass", *FLAGS),
    _own("real_grpc_image", "-u", "{url}", *_PICTURES, protocols=GRPC),
    _own("real_grpc_image-async", "-u", "{url}", *_PICTURES, "-a", protocols=GRPC),
    _own("real_grpc_image-streaming", "-u", "{url}", *_PICTURES, "--streaming", protocols=GRPC),
    _own("real_image_class", *FLAGS, "-m", "image_classifier", "-b", "2", "-c", "3"),
    _own("real_literal", "{url}", protocols=GRPC),
    _own("real_per_call", variables=VARIABLES),
    _own("real_sequence", *FLAGS, alone=True),
    _own("real_shm", *FLAGS, alone=True),
    _own("real_status_counts", *PLACES, alone=True),
    _own("real_stream", "-u", "{url}", protocols=GRPC, alone=True),
    _own("real_stub", "-u", "{url}", protocols=GRPC),
    _own("real_stub_raw", "{url}", protocols=GRPC),
    _own("context_manager", *FLAGS),
    _own("shm_reuse", *FLAGS, alone=True),
    _own("status_all", *PLACES),
    _own("stub_stream", "-u", "{url}", protocols=GRPC),
    _own("async_closure", variables=VARIABLES),
    _own("async_queue", *FLAGS),
    _own("batches", *FLAGS),
    _own("classify_labels", *PLACES),
    _own("ensemble", *PLACES),
    _own("errors", *FLAGS),
    _own("headers", "{url}", protocols=HTTP),
    _own("client_class", *FLAGS),
    _own("lifecycle", *FLAGS, alone=True),
    _own("ready_ids", *FLAGS),
    _own("stream_queue", *FLAGS, protocols=GRPC, alone=True),
    _own("headers_everywhere", *FLAGS, "-H", "X-Team: vision", "-H", "Empty:"),
    _own("health_probe", variables={"SERVER": "{url}", "PROTOCOL": "{protocol}"}),
    _own(
        "health_probe-nobody",
        variables={"SERVER": "127.0.0.1:9", "PROTOCOL": "{protocol}"},
        status=2,
    ),
    _own("image_client", *FLAGS, "-m", "image_classifier", "-c", "3", "-b", "2"),
    _own("image_client-async", *FLAGS, "-m", "image_classifier", "-c", "2", "-b", "4", "-a"),
    _own(
        "image_client-streaming",
        *(*FLAGS, "-m", "image_classifier", "-s", "INCEPTION", "--streaming"),
        protocols=GRPC,
    ),
    _own("model_checks", "-b", "2", *FLAGS),
    _own("model_control", *FLAGS, alone=True),
    _own("module_alias", variables=VARIABLES),
    _own("multiproc", *PLACES),
    _own("notebook", variables=VARIABLES),
    _own("odd_format", *PLACES),
    _own("options", "-u", "{url}", "-i", "{protocol}"),
    _own("python2", *FLAGS, needs_run=True),
    _own("python2-async", *FLAGS, "--async", needs_run=True),
    _own("random_data", *FLAGS),
    _own("repeated_array", *PLACES),
    _own("repository", *PLACES),
    _own("sequence_stream", "-u", "{url}", protocols=GRPC, alone=True),
    _own("sequence_sync", *FLAGS, alone=True),
    _own("service", *FLAGS),
    _own("settings_from_env", variables={"SETTINGS": _SETTINGS}),
    _own("shm_client", *FLAGS, alone=True),
    _own("shm_status_fields", *PLACES, alone=True),
    _own("shm_strings", *PLACES, alone=True),
    _own("simple_client", *FLAGS),
    _own("star_names", *PLACES),
    _own("status_dump", "classify", *FLAGS),
    _own("status_dump-string", "simple_string", *FLAGS),
    _own("strings", *FLAGS),
    _own("strings_unicode", variables=VARIABLES),
    _own("stub_infer", "-u", "{url}", protocols=GRPC),
    _own("stub_status", "{url}", protocols=GRPC),
    _own("subclass", *PLACES),
    _own("submitting_threads", *FLAGS),
    _own("suite", variables=VARIABLES),
    _own("threads", *FLAGS),
    _own("two_files", *FLAGS),
    _own("wait_until_ready", variables=VARIABLES),
)

#: The demo's scripts, called as the demo calls them.
DEMO = tuple(
    Program(
        "-".join([f"demo_{item.script[:-3]}", *(option.strip("-") for option in item.options[:1])]),
        (DEMO_FOLDER / item.script,),
        (*FLAGS, *item.options),
        protocols=item.protocols,
        alone=item.script.startswith(("sequence", "shared_memory")),
        varies=r"^Request \d+" if item.script == "image_client.py" else "",  # v1's server counted
    )
    for item in demo.PROGRAMS
    if item.script != "flower_client.py"  # its model is on another server
)

#: The scenarios as scripts. ``ast.unparse`` exists since Python 3.9.
SCENARIO = tuple(
    Program(f"scenario_{name}", (), PLACES, text=scenario_scripts.script_of(name), alone=True)
    for name in (scenario_scripts.SCENARIOS if sys.version_info >= (3, 9) else ())
)
PROGRAMS = (*OWN, *DEMO, *SCENARIO)
