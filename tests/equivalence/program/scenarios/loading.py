"""Model control (docs/v1-behaviour.md §6.4), on a server that has tried spare and broken
before.
"""

import time

from recorder import RAW, floats

ONE, OUT = {"INPUT0": [floats(1)]}, {"OUTPUT0": RAW}


def load_and_unload(see):
    ctx = see.of("ModelControlContext")
    see.last_id("before", ctx)
    see("load", ctx.load, "spare")
    see.last_id("last id", ctx)
    see("load again", ctx.load, "spare")
    spare = see.open("spare")
    see.run("run", spare, ONE, OUT)
    see("unload", ctx.unload, "spare")
    see.last_id("last id after unload", ctx)
    see.run("run after unload", spare, ONE, OUT)
    see("unload again", ctx.unload, "spare")
    see("load as bytes", ctx.load, b"spare")
    see.run("run after load", spare, ONE, OUT)
    see("unload as bytes", ctx.unload, b"spare")


def refused(see):
    ctx = see.of("ModelControlContext")
    see("load unknown", ctx.load, "nope")
    see.last_id("last id", ctx)
    see("unload unknown", ctx.unload, "nope")
    see.last_id("last id after success", ctx)
    see("load broken", ctx.load, "broken")
    see("unload broken", ctx.unload, "broken")
    for value in (5, ["simple"]):
        see(f"load {value!r}", ctx.load, value)
        see(f"unload {value!r}", ctx.unload, value)
        see.last_id(f"last id {value!r}", ctx)
    see("load nothing", ctx.load)


def status_of_unloaded(see):
    control = see.of("ModelControlContext")
    control.load("spare")
    status = see.of("ServerStatusContext", "spare")
    see.note("loaded", states(status.get_server_status()))
    control.unload("spare")
    see.note("unloaded", settled(status))


def settled(status):
    """Return the states after spare is unloaded. The call of unload returns before that."""
    deadline = time.time() + 30
    while True:
        spare = states(status.get_server_status())
        if spare == [["spare", [[1, 2, "unloaded"]]]] or time.time() > deadline:
            return spare
        time.sleep(0.02)


def states(status):
    return [
        [
            name,
            [
                [number, version.ready_state, version.ready_state_reason.message]
                for number, version in sorted(model.version_status.items())
            ],
        ]
        for name, model in sorted(status.model_status.items())
    ]


def unloaded(see):
    """Use a model that was loaded once (docs/v1-behaviour.md §3.4)."""
    settled(see.of("ServerStatusContext", "spare"))
    ctx = see.open("spare")
    see.run("run", ctx, ONE, OUT)
    see.run("streaming", see.open("spare", streaming=see.grpc), ONE, OUT)
    for name in ("spare", "broken"):
        status = see.of("ServerStatusContext", name).get_server_status()
        see.note(name, states(status))
        see.note(name + ", configuration", str(status.model_status[name].config))


def health_after_a_failed_load(see):
    ctx = see.of("ServerHealthContext")
    see("is_ready", ctx.is_ready)
    see("is_live", ctx.is_live)


def kinds_of_names(see):
    ctx = see.of("ModelControlContext")
    for name in ("a/b", "a b", "", "a?b", "a%20b", "\u00e4"):
        see(f"load {name!r}", ctx.load, name)
        see(f"unload {name!r}", ctx.unload, name)
