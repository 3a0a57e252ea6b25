"""The programs of the demo, and the texts that each must print: data only."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Program:
    """A legacy script, its options, its protocols, and the texts that it must print.

    The demo shows the line with the last of the ``expected`` texts.
    """

    script: str
    says: str
    expected: tuple[str, ...]
    options: tuple[str, ...] = ()
    protocols: tuple[str, ...] = ("http", "grpc")

    def result(self, output: str) -> str:
        """Return the first line of the output that has the last of the expected texts."""
        return next(line for line in output.splitlines() if self.expected[-1] in line)


MODELS = ("simple", "simple_string", "image_classifier", "sequence_sum", "flowers")

_RAW_IMAGES = (
    "model 'image_classifier': input 'input' FORMAT_NCHW 3x224x224, output 'probabilities'",
    "Request 501, batch size 2",
    "    502 (",
    ") = 1.0",
    ") = 0.5",
    "Sent 3 requests",
    "    501 (l501) = 1.0",
)

_FLOWERS = (
    "(5.1, 3.5, 1.4, 0.2): setosa ",
    "(6.0, 2.7, 4.1, 1.0): versicolor ",
    "(6.5, 3.0, 5.8, 2.2): virginica ",
)

_ADD_SUB = Program(
    "add_sub_client.py",
    "synchronous inference, health, and an error",
    ("live: True, ready: True", "15 - 1 = 14", "expected error: ", "15 + 1 = 16"),
)
_CALLBACKS = Program(
    "callback_client.py",
    "16 requests in flight, answered through callbacks (releases 1.8 to 1.15)",
    ("15 + 1 = 16, 15 - 1 = 14", "completed requests: 16"),
)
_REQUEST_IDS = Program(
    "request_id_client.py",
    "requests in flight, fetched by their ids (releases 1.0 to 1.7)",
    ("request ids: [1, 2, 3, 4]", "all 4 requests are done", "request 3: [31, 32]"),
)
_STRINGS = Program("string_client.py", "string tensors", ("'15' + '1' = '16', '15' - '1' = '14'",))
_CLASSES = Program("flower_client.py", "classification of plain numbers", _FLOWERS)

PROGRAMS = (
    _ADD_SUB,
    _CALLBACKS,
    _REQUEST_IDS,
    Program(
        "image_client.py",
        "server status, model configuration and image classification: class (label) = score",
        (
            "model 'image_classifier': input 'input' TYPE_FP32 FORMAT_NCHW 3x224x224, "
            "output 'probabilities'",
            "    7 (",
            ") = 1.0",
            ") = 0.5",
            "    501 (l501) = 1.0",
        ),
        ("-c", "2"),
    ),
    _CLASSES,
    _STRINGS,
    Program(
        "shared_memory_client.py",
        "inputs and outputs in system shared memory",
        (
            "registered: input0, input1, output0, output1",
            "left registered: 0",
            "15 + 1 = 16, 31 - 100 = -69",
        ),
    ),
    Program(
        "sequence_client.py",
        "two sequences through a stateful model, one request at a time",
        ("sequence 9223372036854775809: ", "[11, 18, 23, 26, 28, 28, 29]"),
    ),
    Program(
        "sequence_client.py",
        "the same over one gRPC stream, all requests under way at once",
        ("sequence 9223372036854775809: ", "[-11, -18, -23, -26, -28, -28, -29]"),
        ("--streaming",),
        ("grpc",),
    ),
    Program(
        "raw_stub_image_client.py",
        "image classification with the raw gRPC stub on a channel of one's own",
        _RAW_IMAGES,
        protocols=("grpc",),
    ),
    Program(
        "raw_stub_image_client.py",
        "the same with futures",
        _RAW_IMAGES,
        options=("--async",),
        protocols=("grpc",),
    ),
    Program(
        "raw_stub_image_client.py",
        "the same over a stream",
        _RAW_IMAGES,
        options=("--streaming",),
        protocols=("grpc",),
    ),
)


# The servers that are not Triton have no image formats, no shared memory and no sequences.
KSERVE_PROGRAMS = (_ADD_SUB, _CALLBACKS, _REQUEST_IDS, _STRINGS, _CLASSES)

MLSERVER_PROGRAMS = (
    *KSERVE_PROGRAMS,
    Program(
        "flower_client.py",
        "a classifier that scikit-learn has trained, and whose inputs the server does not know",
        _FLOWERS,
        ("-m", "iris"),
    ),
    Program("flower_client.py", "one that XGBoost has trained", _FLOWERS, ("-m", "iris_boosted")),
)


def complaints(program: Program, protocol: str, status: int, output: str) -> list[str]:
    """Return a line for each difference between a script's output and the expected output."""
    name = f"{program.script} over {protocol}"
    lines = [f"{name} ended with exit status {status}"] if status else []
    missing = [text for text in (*program.expected, "PASS") if text not in output]
    return lines + [f"{name} did not print {text!r}" for text in missing]
