"""Each legacy use, and what the guide shows of it."""

from __future__ import annotations

from tests.migrate.sources_migrated import CONTEXT

RAW = "InferContext.ResultFormat.RAW"

PAIRS = {
    "health": (
        'h = ServerHealthContext("u", ProtocolType.GRPC)\nok = h.is_live() and h.is_ready()\n',
        'h = grpcclient.InferenceServerClient("u")\n'
        "ok = h.is_server_live() and h.is_server_ready()\nh.close()\n",
    ),
    "control": (
        'c = ModelControlContext("u", 0, True)\nc.load("m")  # now\nc.unload(x)\n',
        'c = httpclient.InferenceServerClient("u", verbose=True)\n'
        'c.load_model("m")  # now\nc.unload_model(x)\nc.close()\n',
    ),
    "run": (
        f'{CONTEXT}r = ctx.run({{ "A" : [a] }}, {{"B": {RAW}}}, batch_size=1)\n',
        'ctx = grpcclient.InferenceServerClient("localhost:8001")\n'
        'r = run_model(ctx, "simple", { "A" : [a] }, {"B": 0})\nctx.close()\n',
    ),
    "version and correlation id": (
        'c = InferContext("u", 1, name, 2, False, 7)\nc.run(i, o, 1, 3)\n',
        'c = grpcclient.InferenceServerClient("u")\n'
        'run_model(c, name, i, o, model_version="2", sequence_id=7, '
        "sequence_start=True, sequence_end=True)\nc.close()\n",
    ),
    "headers": (
        'c = InferContext("u", 1, "m", http_headers=["X-Team: a"])\nc.run(i, o, timeout_us=5)\n',
        'c = with_headers(grpcclient.InferenceServerClient("u"), ["X-Team: a"])\n'
        'run_model(c, "m", i, o, timeout=5)\nc.close()\n',
    ),
    "headers of other contexts": (
        'h = ServerHealthContext("u", 0, http_headers=FLAGS.headers, verbose=FLAGS.v)\n'
        'c = ModelControlContext("u", 1, http_headers=None)\nprint(h.is_live(), c.load("m"))\n',
        'h = with_headers(httpclient.InferenceServerClient("u", verbose=FLAGS.v), FLAGS.headers)\n'
        'c = grpcclient.InferenceServerClient("u")\n'
        'print(h.is_server_live(), c.load_model("m"))\nh.close()\nc.close()\n',
    ),
    "scheme": (
        'InferContext("https://u:443", 0, "m").run(i, o)\n',
        "run_model(httpclient.InferenceServerClient('u:443', ssl=True), \"m\", i, o)\n",
    ),
    "contexts in a list": (
        'every = []\nfor n in names:\n    every.append(InferContext("u", 1, n))\n'
        "for c in every:\n    c.run(i, o)\n    c.close()\n",
        "every = []\nfor n in names:\n"
        '    every.append(Model(grpcclient.InferenceServerClient("u"), n))\n'
        "for c in every:\n    run_model(c.client, c.name, i, o)\n"
        "    c.close()\n",
    ),
    "contexts in a dict": (
        'every = {n: InferContext("u", 1, "m") for n in names}\n'
        "for n, c in sorted(every.items()):\n    c.run(i, o)\n",
        'every = {n: grpcclient.InferenceServerClient("u") for n in names}\n'
        'for n, c in sorted(every.items()):\n    run_model(c, "m", i, o)\n',
    ),
    "classes": (
        f"{CONTEXT}ctx.run(i, {{'O': (InferContext.ResultFormat.CLASS, k)}})\n",
        'ctx = grpcclient.InferenceServerClient("localhost:8001")\n'
        "run_model(ctx, \"simple\", i, {'O': k})\nctx.close()\n",
    ),
    "flags": (
        f"{CONTEXT}flags = InferRequestHeader.FLAG_SEQUENCE_START\nctx.run(i, o, 1, flags)\n",
        'ctx = grpcclient.InferenceServerClient("localhost:8001")\nflags = FLAG_SEQUENCE_START\n'
        'run_model(ctx, "simple", i, o, **sequence_flags(flags))\nctx.close()\n',
    ),
    "configuration": (
        'c = ServerStatusContext("u", 1, name)\ns = c.get_server_status()\n'
        "if name not in s.model_status:\n    raise E\n"
        "config = s.model_status[name].config\n",
        'c = grpcclient.InferenceServerClient("u")\ns = c\n'
        "if not s.is_model_ready(name):\n    raise E\nconfig = config_of(s, name)\nc.close()\n",
    ),
    "NumPy": ("a = np.zeros(1, dtype=np.object)\n", "a = np.zeros(1, dtype=object)\n"),
}
