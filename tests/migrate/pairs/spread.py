"""Arguments in tuples and dicts that the file writes down."""

from __future__ import annotations

RUN = 'run_model(c, "m", i, o)\nc.close()\n'

PAIRS = {
    "a dict of arguments": (
        'k = {"url": u, "protocol": ProtocolType.GRPC, "model_name": "m"}\n'
        "c = InferContext(**k)\nc.run(i, o)\n",
        'k = {"url": u, "protocol": "grpc", "model_name": "m"}\n'
        f'c = grpcclient.InferenceServerClient(k["url"])\n{RUN}',
    ),
    "arguments by dict()": (
        'k = dict(url=u, protocol=1)\nc = InferContext(model_name="m", **k)\nc.run(i, o)\n',
        f'k = dict(url=u, protocol=1)\nc = grpcclient.InferenceServerClient(k["url"])\n{RUN}',
    ),
    "a tuple of arguments": (
        'a = (u, 1)\nc = InferContext(*a, "m")\nc.run(*[i, o])\n',
        f"a = (u, 1)\nc = grpcclient.InferenceServerClient(a[0])\n{RUN}",
    ),
    "a dict in the call": (
        'h = ServerHealthContext(**{"url": u, "protocol": 1})\nh.is_live()\n',
        "h = grpcclient.InferenceServerClient(u)\nh.is_server_live()\nh.close()\n",
    ),
    "arguments of a request": (
        'c = InferContext(u, 1, "m")\nk = dict(inputs=i, outputs=o)\nc.run(batch_size=1, **k)\n',
        "c = grpcclient.InferenceServerClient(u)\nk = dict(inputs=i, outputs=o)\n"
        'run_model(c, "m", k["inputs"], k["outputs"])\nc.close()\n',
    ),
    "keywords that a function hands on": (
        "def make(name, **more):\n    return InferContext(u, 1, name, **more)\n"
        'make("m", model_version=2).run(i, o)\nmake("n", verbose=True).run(i, o)\n',
        "def make(name, **more):\n    return Model(grpcclient.InferenceServerClient(u, "
        'verbose=more.get("verbose", False)), name, '
        '{"model_version": version_text(more.get("model_version", -1))})\n'
        'run_of(make("m", model_version=2), i, o)\nrun_of(make("n", verbose=True), i, o)\n',
    ),
    "keywords through two functions": (
        "def make(**more):\n    return ServerHealthContext(u, 1, **more)\n"
        "def ask(**more):\n    return make(**more).is_live()\nask(verbose=v)\n",
        "def make(**more):\n    return grpcclient.InferenceServerClient(u, "
        'verbose=more.get("verbose", False))\n'
        "def ask(**more):\n    return make(**more).is_server_live()\nask(verbose=v)\n",
    ),
    "arguments that a class hands on": (
        "class A:\n    def __init__(self, n, *args):\n        self.c = InferContext(u, 1, *args)\n"
        '    def f(self):\n        self.c.run(i, o)\nA(1, "m", 2)\nA(2, x, y)\n',
        "class A:\n    def __init__(self, n, *args):\n"
        "        self.c = Model(grpcclient.InferenceServerClient(u), args[0], "
        '{"model_version": version_text(args[1])})\n'
        "    def f(self):\n        run_model(self.c.client, self.c.name, i, o, "
        '**self.c.options)\nA(1, "m", 2)\nA(2, x, y)\n',
    ),
}
