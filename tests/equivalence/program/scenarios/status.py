"""Server status: its comparable parts (docs/v1-behaviour.md §6.2)."""

import numpy as np
from recorder import BOTH, SUMS, A, B

import tensorrtserver.api.model_config_pb2 as model_config
import tensorrtserver.api.server_status_pb2 as server_status

MODELS = [
    *("simple", "simple_nobatch", "simple_string", "identity_2d", "identity_reshape", "slow"),
    *("classify", "classify_nolabels", "image_classifier", "multi_version", "tensor_names"),
    *("sequence_sum", "sequence_oldest", "queue_policy"),
]


def server(see):
    ctx = see.of("ServerStatusContext")
    see.note("before", ctx.get_last_request_id())
    status = ctx.get_server_status()
    first = ctx.get_last_request_id()
    see.note("kind", [type(status).__name__, isinstance(status, server_status.ServerStatus)])
    see.note("id", [status.id, status.version, status.ready_state == server_status.SERVER_READY])
    see.note(
        "request ids grow",
        [first > 0, ctx.get_server_status() and ctx.get_last_request_id() > first],
    )
    see.note("up", status.uptime_ns > 0)
    see.note("models", sorted(status.model_status))
    for name, model in sorted(status.model_status.items()):
        versions = sorted(model.version_status.items())
        see.note(
            name,
            [
                [number, version.ready_state, version.ready_state_reason.message]
                for number, version in versions
            ],
        )


def configurations(see):
    for name in MODELS:
        status = see.of("ServerStatusContext", name).get_server_status()
        see.note(name + ", models", sorted(status.model_status))
        see.note(name, str(status.model_status[name].config))


def ensembles(see):
    """Sort the maps: their order in a text is not defined."""
    for name in ("ensemble_simple", "ensemble_classify"):
        config = see.of("ServerStatusContext", name).get_server_status().model_status[name].config
        for step in config.ensemble_scheduling.step:
            see.note(name, [step.model_name, step.model_version])
            see.note(
                name + ", maps", [sorted(step.input_map.items()), sorted(step.output_map.items())]
            )


def details(see):
    status = see.of("ServerStatusContext", "image_classifier").get_server_status()
    config = status.model_status["image_classifier"].config
    entry, out = config.input[0], config.output[0]
    kinds = model_config.ModelInput.Format.Name, model_config.DataType.Name
    see.note("input", [list(entry.dims), kinds[0](entry.format), kinds[1](entry.data_type)])
    see.note("output", [list(out.dims), out.data_type == model_config.TYPE_FP32])
    see.note("batch", config.max_batch_size)
    see.note(
        "asking for a model that is not there makes it",
        [str(status.model_status["nope"]), sorted(status.model_status)],
    )
    see.note("server level", [status.HasField(name) for name in ("status_stats", "health_stats")])


def refused(see):
    for name in ("nope", "broken"):
        ctx = see.of("ServerStatusContext", name)
        see(name, lambda ctx=ctx: sorted(ctx.get_server_status().model_status))
        see.last_id(name + ", last id", ctx)


def names(see):
    for name in (None, "", "simple", b"simple"):
        status = see.of("ServerStatusContext", name).get_server_status()
        see.note(
            f"models for {name!r}",
            ["simple" in status.model_status, len(status.model_status) > 1],
        )
    for name in (5, ["simple"]):
        see(
            f"name {name!r}",
            lambda name=name: see.of("ServerStatusContext", name).get_server_status().id,
        )


def until(see, model, counted):
    """Return the version of a model once it is counted. Triton counts after it has answered."""
    context = see.of("ServerStatusContext", model)
    for _ in range(500):
        version = context.get_server_status().model_status[model].version_status[1]
        if counted(version):
            break
    return version


def counters(see):
    """Compare how the counters of a model grow with its requests."""
    ctx = see.open("simple_nobatch")
    before = until(see, "simple_nobatch", lambda version: True)
    count = before.model_execution_count
    for _ in range(3):
        ctx.run(SUMS, BOTH)
    after = until(see, "simple_nobatch", lambda item: item.model_execution_count >= count + 3)
    see.note("executions", after.model_execution_count - count)
    see.note("inferences", after.model_inference_count - before.model_inference_count)


def statistics(see):
    ctx = see.open("simple")
    ctx.run({"INPUT0": [A] * 4, "INPUT1": [B] * 4}, BOTH, 4)
    version = until(see, "simple", lambda item: 4 in item.infer_stats)
    stats = version.infer_stats[4]
    durations = (stats.success, stats.compute, stats.queue)
    grown = [duration.count > 0 and duration.total_time_ns > 0 for duration in durations]
    see.note("batch 4", grown)
    see.note("failed", stats.failed.count)
    see.note("last", version.last_inference_timestamp_milliseconds > 10**12)


def text(see):
    status = see.of("ServerStatusContext", "simple").get_server_status()
    status.ClearField("uptime_ns")
    for version in status.model_status["simple"].version_status.values():
        version.ClearField("infer_stats")
        for name in (
            "model_execution_count",
            "model_inference_count",
            "last_inference_timestamp_milliseconds",
        ):
            version.ClearField(name)
    see.note("text", str(status))
    see.note("bytes", len(status.SerializeToString()))
    see.note("again", type(status).FromString(status.SerializeToString()) == status)
    see.note("numpy", np.int64(status.ready_state))
