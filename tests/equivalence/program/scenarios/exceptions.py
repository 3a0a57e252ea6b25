"""InferenceServerException, ResultFormat and other names (docs/v1-behaviour.md §1.5, §1.6)."""

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


def constants(see):
    flags = api.InferRequestHeader
    see.note("flags", [flags.FLAG_NONE, flags.FLAG_SEQUENCE_START, flags.FLAG_SEQUENCE_END])
    see.note("formats", [api.InferContext.ResultFormat.RAW, api.InferContext.ResultFormat.CLASS])


def private_names(see):
    ctx = see.open("simple", correlation_id=3)
    see.note("open", [ctx._ctx is not None, ctx._correlation_id])
    ctx.close()
    see.note("closed", [ctx._ctx is None, ctx._correlation_id])
