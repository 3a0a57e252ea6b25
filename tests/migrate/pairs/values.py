"""Contexts that are handed on, and their classes in annotations."""

from __future__ import annotations

CLIENT = 'grpcclient.InferenceServerClient("u")'

PAIRS = {
    "annotations": (
        "def f(p: ProtocolType) -> ServerHealthContext:\n"
        '    return ServerHealthContext("u", ProtocolType.GRPC)\n'
        "h: Optional[ServerHealthContext] = f(p)\nh.is_live()\n",
        "def f(p: str) -> grpcclient.InferenceServerClient:\n"
        f"    return {CLIENT}\n"
        "h: Optional[grpcclient.InferenceServerClient] = f(p)\nh.is_server_live()\n",
    ),
    "annotations of records": (
        'def f(n) -> InferContext:\n    return InferContext("u", 1, n)\n'
        "def g(c: InferContext):\n    return c.run(i, o)\ng(f(n))\n",
        f"def f(n) -> Model:\n    return Model({CLIENT}, n)\n"
        "def g(c: Model):\n    return run_model(c.client, c.name, i, o)\ng(f(n))\n",
    ),
    "annotations of both protocols": (
        "def f(p) -> List[ServerHealthContext]:\n    return [ServerHealthContext('u', p)]\n"
        "f(ProtocolType.from_str(t))[0].is_live()\n",
        "def f(p) -> List[typing.Any]:\n    return [CLIENTS[p].InferenceServerClient('u')]\n"
        "f(t.lower())[0].is_server_live()\n",
    ),
    "property": (
        "class A:\n    @property\n    def ctx(self):\n"
        '        return InferContext("u", 1, "m")\n'
        "    def ask(self):\n        return self.ctx.run(i, o)\n",
        "class A:\n    @property\n    def ctx(self):\n"
        f"        return {CLIENT}\n"
        '    def ask(self):\n        return run_model(self.ctx, "m", i, o)\n',
    ),
    "element of an object": (
        "class A:\n    def __init__(self):\n"
        '        self.of = {k: InferContext("u", 1, k) for k in names}\n'
        "        setattr(self, name, self.of)\n"
        "    def __getitem__(self, k):\n        return self.of[k]\n"
        "a = A()\na['x'].run(i, o)\n",
        "class A:\n    def __init__(self):\n"
        f"        self.of = {{k: Model({CLIENT}, k) for k in names}}\n"
        "        setattr(self, name, self.of)\n"
        "    def __getitem__(self, k):\n        return self.of[k]\n"
        "a = A()\nrun_model(a['x'].client, a['x'].name, i, o)\n",
    ),
    "streams of records": (
        "every = [InferContext('u', 1, n, streaming=s) for n, s in pairs]\n"
        "for c in every:\n    c.async_run(cb, i, o, 1)\n",
        f"every = [Model({CLIENT}, n, stream=s) for n, s in pairs]\n"
        "for c in every:\n"
        "    start_run(c.client, c.name, cb, i, o, owner=c, stream=c.stream)\n",
    ),
    "elements of tuples": (
        "for t in pairs:\n    InferContext(t[0], 1, t[1], streaming=t[2]).run(i, o)\n",
        "for t in pairs:\n    run_model(grpcclient.InferenceServerClient(t[0]), t[1], i, o)\n",
    ),
    "an object out of a container": (
        'q = queue.Queue()\nctx = InferContext("u", 1, "m")\n'
        "def take():\n    c, id = unknown()\n    return c.get_async_run_results(id)\n",
        f"q = queue.Queue()\nctx = {CLIENT}\n"
        "def take():\n    c, id = unknown()\n    return run_results(c, id)\n",
    ),
    "records from calls": (
        "def f(n):\n    return InferContext('u', 1, n)\nf('m').run(i, o, timeout_us=3)\n",
        f"def f(n):\n    return Model({CLIENT}, n)\nrun_of(f('m'), i, o, timeout=3)\n",
    ),
    "formats by another name": (
        "def f():\n    fmt = InferContext.ResultFormat\n"
        '    c = InferContext("u", 1, "m")\n    return c.run(i, {"O": fmt.RAW})\n',
        'def f():\n    with grpcclient.InferenceServerClient("u") as c:\n'
        '        return run_model(c, "m", i, {"O": 0})\n',
    ),
    "contexts of a pool": (
        'q = [InferContext("u", 1, n) for n in ("m", "n")]\n'
        "c = q.pop()\nc.run(i, o)\nq.pop().close()\n",
        'q = [Model(grpcclient.InferenceServerClient("u"), n) for n in ("m", "n")]\n'
        "c = q.pop()\nrun_model(c.client, c.name, i, o)\nq.pop().close()\n",
    ),
    "numbers of NumPy as ids": (
        'n = np.uint64(7)\nc = InferContext("u", 0, "m", -1, False, n)\nc.run(i, o)\n'
        "c.run(i, o, corr_id=np.random.randint(9))\nc.run(i, o, corr_id=7)\n",
        'n = np.uint64(7)\nc = httpclient.InferenceServerClient("u")\n'
        'run_model(c, "m", i, o, sequence_id=int(n))\n'
        'run_model(c, "m", i, o, sequence_id=int(np.random.randint(9)))\n'
        'run_model(c, "m", i, o, sequence_id=7)\nc.close()\n',
    ),
}
