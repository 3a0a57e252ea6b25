"""What a context tells of its requests, and what the file remembers."""

from __future__ import annotations

from tests.migrate.sources_migrated import CONTEXT

MADE = 'ctx = grpcclient.InferenceServerClient("localhost:8001")\n'
REMEMBERED = 'ctx = RememberingClient(grpcclient.InferenceServerClient("localhost:8001"))\n'
CLOSED = "ctx.close()\n"
RUN = "ctx.run(i, o)\n"
RUN_AFTER = "run_model(ctx, 'simple', i, o)\n"

PAIRS = {
    "model": (
        f"{CONTEXT}{RUN}a = ctx.get_last_request_model_name()\n"
        "b = ctx.get_last_request_model_version()\n",
        f"{REMEMBERED}{RUN_AFTER}a = ctx.last.model_name\nb = ctx.last.model_version\n{CLOSED}",
    ),
    "number": (
        f"{CONTEXT}{RUN}print(ctx.get_last_request_id())\n",
        f"{REMEMBERED}{RUN_AFTER}print(ctx.last.number)\n{CLOSED}",
    ),
    "statistics": (
        f'{CONTEXT}{RUN}print(ctx.get_stat()["completed_request_count"])\n',
        f'{REMEMBERED}{RUN_AFTER}print(ctx.request_stat()["completed_request_count"])\n{CLOSED}',
    ),
    "of a record": (
        'every = [InferContext("u", 1, n, correlation_id=n) for n in names]\n'
        "for c in every:\n    print(c.get_last_request_model_name(), c.correlation_id())\n",
        'every = [Model(RememberingClient(grpcclient.InferenceServerClient("u")), n, '
        '{"sequence_id": n}) for n in names]\nfor c in every:\n'
        '    print(c.client.last.model_name, c.options.get("sequence_id", 0))\n',
    ),
    "correlation id": (
        'c = InferContext("u", 1, "m", correlation_id=ident)\nc.run(i, o)\n'
        "print(c.correlation_id())\n",
        'c = grpcclient.InferenceServerClient("u")\nrun_model(c, "m", i, o, sequence_id=ident)\n'
        "c.close()\nprint(ident)\n",
    ),
    "no correlation id": (
        f"{CONTEXT}print(ctx.correlation_id())\n",
        f"{MADE}print(0)\n",
    ),
}
