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
}
