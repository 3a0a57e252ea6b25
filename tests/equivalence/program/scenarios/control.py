"""Health, repository index, closed contexts (docs/v1-behaviour.md §6, §6.1, §6.3)."""

CLOSED = {
    "ServerHealthContext": ("is_live", "is_ready"),
    "ServerStatusContext": ("get_server_status",),
    "ModelRepositoryContext": ("get_model_repository_index",),
    "ModelControlContext": (("load", "simple"), ("unload", "spare")),
    "SharedMemoryControlContext": ("unregister_all", "get_shared_memory_status"),
}


def health(see):
    ctx = see.of("ServerHealthContext")
    see.note("before", ctx.get_last_request_id())
    for name in ("is_live", "is_ready"):
        see(name, getattr(ctx, name))
        see.note(name + ", last id", ctx.get_last_request_id())


def repository(see):
    ctx = see.of("ModelRepositoryContext")
    index = ctx.get_model_repository_index()
    see.note("id", ctx.get_last_request_id() > 0)
    see.note("type", type(index).__name__)
    see.note("text", str(index))
    see.note("names", [model.name for model in index.models])


def closed(see):
    for name, calls in sorted(CLOSED.items()):
        ctx = see.of(name)
        see.note(name + " close", [ctx.close(), ctx.close()])
        for call in calls:
            call, arguments = (call[0], call[1:]) if isinstance(call, tuple) else (call, ())
            see(f"{name} {call}", getattr(ctx, call), *arguments)
            see.last_id(f"{name} {call}, last id", ctx)
