"""InferenceServerException, ResultFormat and other names (docs/v1-behaviour.md §1.5, §1.6)."""

from recorder import BOTH, A, B

import tensorrtserver.api as api


def by_hand(see):
    error = api.InferenceServerException(None)
    see.note("None", [str(error), error.message(), error.server_id(), error.request_id()])
    see("no argument", lambda: api.InferenceServerException())
    see.note(
        "kind",
        [
            api.InferenceServerException.__module__,
            issubclass(api.InferenceServerException, Exception),
        ],
    )


def caught(see):
    ctx = see.open("simple")
    try:
        ctx.run({"INPUT0": [A.reshape(4, 4)], "INPUT1": [B]}, BOTH)
    except api.InferenceServerException as error:
        see.note("server's", see.refusal(error))
        see.note(
            "again", [error.message() == error.message(), error.request_id() == error.request_id()]
        )
    try:
        ctx.run({}, BOTH, 99)
    except Exception as error:
        see.note(
            "client's", [type(error).__module__, str(error), error.server_id(), error.request_id()]
        )


def constants(see):
    flags = api.InferRequestHeader
    see.note("flags", [flags.FLAG_NONE, flags.FLAG_SEQUENCE_START, flags.FLAG_SEQUENCE_END])
    see.note("formats", [api.InferContext.ResultFormat.RAW, api.InferContext.ResultFormat.CLASS])


def private_names(see):
    ctx = see.open("simple", correlation_id=3)
    see.note("open", [ctx._ctx is not None, ctx._correlation_id])
    ctx.close()
    see.note("closed", [ctx._ctx is None, ctx._correlation_id])
