"""Constructors of InferContext, with legal and with odd arguments
(docs/v1-behaviour.md §3.1, §1.5).
"""

import numpy as np
from recorder import BOTH, RAW, SUMS, A, floats

import tensorrtserver.api as api

ZERO = {"INPUT0": [floats(0)]}


def construct(see, label, *args, **kwargs):
    """Construct, run once, close."""
    try:
        ctx = api.InferContext(*args, **kwargs)
    except Exception as error:
        see.note(label, see.refusal(error))
        return
    see.getters(label, ctx)
    see.run(label + ", run", ctx, SUMS, {"OUTPUT0": RAW})
    ctx.close()


def protocols(see):
    number = int(see.protocol)
    for value in (see.protocol, number, float(number), str(number), np.int64(number), bool(number)):
        construct(see, f"protocol {type(value).__name__}", see.url, value, "simple")
    for value in ("http", "grpc", None, 2, -1, [], 99999999999, 2**32, 2**31):
        construct(see, f"protocol {value!r}", see.url, value, "simple")


def protocol_names(see):
    for text in ("http", "HTTP", "grpc", "gRPC", "Http", "", "nope", None, 5):
        see(f"from_str {text!r}", api.ProtocolType.from_str, text)
    for item in (api.ProtocolType.HTTP, api.ProtocolType.GRPC):
        see.note("text", [repr(item), int(item), item == int(item), item.name])


def models(see):
    for name in ("nope", "", b"simple", "simple ", "Simple"):
        construct(see, f"model {name!r}", see.url, see.protocol, name)
    for name in (5, ["simple"]):
        construct(see, f"model {name!r}", see.url, see.protocol, name)


def urls(see):
    construct(see, "bytes", see.url.encode(), see.protocol, "simple")
    if not see.grpc:
        construct(see, "scheme", "http://" + see.url, see.protocol, "simple")
        construct(see, "slash", see.url + "/", see.protocol, "simple")


def versions(see):
    for version in (None, -1, 1, 2, 0, -2, 7, True, np.int64(1), 2**64 + 1, 2**63):
        label = f"version {type(version).__name__} {version}"
        construct(see, label, see.url, see.protocol, "simple", version)
    for version in ("1", 1.0, [1]):
        construct(see, f"version {version!r}", see.url, see.protocol, "simple", version)


def several_versions(see):
    for version in (None, -1, 1, 2, 3, 4):
        see.run(f"version {version}", see.open("multi_version", version), ZERO, {"OUTPUT0": RAW})


def correlation_ids(see):
    for value in (0, 5, -1, 2**64, 2**64 + 3, True, np.uint64(2**64 - 1), np.int32(7)):
        label = f"correlation id {type(value).__name__} {value}"
        construct(see, label, see.url, see.protocol, "simple", None, False, value)
    for value in ("5", None, 1.5):
        label = f"correlation id {value!r}"
        construct(see, label, see.url, see.protocol, "simple", correlation_id=value)


def streaming(see):
    for value in (True, False, None, 0, 1, "", "yes"):
        construct(see, f"streaming {value!r}", see.url, see.protocol, "simple", streaming=value)
    construct(see, "streaming, protocol 2", see.url, 2, "simple", streaming=True)
    construct(see, "streaming, unknown model", see.url, see.protocol, "nope", streaming=True)


def headers(see):
    for value in (
        *(None, [], (), "", ["A:B"], ("A:B", "C: D:E"), ["A:"], [b"A:B"], [5], 5),
        *(["NV-InferRequest:x"], ["nv-inferrequest:x"]),
    ):
        construct(see, f"headers {value!r}", see.url, see.protocol, "simple", http_headers=value)


def pairs(good, wrong):
    """Yield a label and arguments, two of them wrong, for each pair of wrong arguments."""
    for place, first in enumerate(wrong):
        for second in wrong[place:]:
            arguments = list(good)
            arguments[second[1]] = second[2]
            arguments[first[1]] = first[2]
            yield f"{first[0]}, {second[0]}", arguments


WRONG = (("url", 0, 5), ("protocol", 1, "http"), ("protocol number", 1, 7), ("model", 2, 5))


def order_of_checks(see):
    others = (("version", 3, "x"), ("correlation id", 5, "x"), ("streaming", 6, True))
    wrong = (*WRONG, *others, ("headers", 7, [5]), ("unknown model", 2, "nope"))
    good = [see.url, see.protocol, "simple", None, False, 0, False, []]
    for label, arguments in pairs(good, wrong):
        construct(see, label, *arguments)


def other_contexts_order_of_checks(see):
    good = [see.url, see.protocol, "simple", False, []]
    for label, arguments in pairs(good, (*WRONG, ("headers", 4, [5]))):
        see(label, constructed, api.ServerStatusContext, *arguments)
        if "model" not in label:
            del arguments[2]
            see(label + ", health", constructed, api.ServerHealthContext, *arguments)


def arguments(see):
    construct(see, "none")
    construct(see, "url only", see.url)
    construct(see, "unknown keyword", see.url, see.protocol, "simple", nope=1)
    construct(
        see,
        "keywords",
        url=see.url,
        protocol=see.protocol,
        model_name="simple",
        model_version=None,
        verbose=False,
        correlation_id=0,
        streaming=False,
        http_headers=[],
    )


CONTEXTS = (
    "ServerHealthContext",
    "ServerStatusContext",
    "ModelRepositoryContext",
    "ModelControlContext",
    "SharedMemoryControlContext",
)


def constructed(kind, *arguments):
    """True if a context can be made."""
    kind(*arguments).close()
    return True


def other_contexts(see):
    for name in CONTEXTS:
        kind = getattr(api, name)
        for value in (2, "http", None):
            see(f"{name} protocol {value!r}", constructed, kind, see.url, value)
        see(name + " no arguments", kind)
        see(name + " unknown keyword", kind, see.url, see.protocol, nope=1)
        see.last_id(name + " last id", see.of(name))


def with_blocks(see):
    with api.InferContext(see.url, see.protocol, "simple") as ctx:
        see.run("inside", ctx, SUMS, BOTH)
    see("error inside", _raise_inside, see.url, see.protocol)
    see.note("close", [ctx.close(), ctx.close()])
    see.last_id("id", ctx)
    see("name", ctx.get_last_request_model_name)
    see("version", ctx.get_last_request_model_version)


def _raise_inside(url, protocol):
    with api.InferContext(url, protocol, "simple") as ctx:
        ctx.run({"INPUT0": [A]}, {"OUTPUT0": 1})


def connections(see):
    see("no such host", api.InferContext, "nowhere.invalid:8000", see.protocol, "simple")
    if not see.grpc:
        see("empty url", api.InferContext, "", see.protocol, "simple")
        see("space", api.InferContext, "not a url", see.protocol, "simple")
    calls = (
        ("ServerHealthContext", "is_live", ()),
        ("ServerStatusContext", "get_server_status", ()),
        ("ModelRepositoryContext", "get_model_repository_index", ()),
        ("ModelControlContext", "load", ("simple",)),
        ("SharedMemoryControlContext", "unregister_all", ()),
    )
    for port, (name, call, arguments) in enumerate(calls, 9):  # a channel each: nobody_there_again
        ctx = getattr(api, name)(f"127.0.0.1:{port}", see.protocol)
        see(name, getattr(ctx, call), *arguments)
        see.last_id(name + ", last id", ctx)


def nobody_there_again(see):
    """Connect twice: the genuine client's channel to a dead server waits before it tries again."""
    # docs/v1-behaviour.md §3.1
    for turn in ("first", "second"):
        see(turn, api.InferContext, "127.0.0.1:19", see.protocol, "simple")
