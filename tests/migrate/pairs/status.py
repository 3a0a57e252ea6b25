"""What is read of a server's status."""

from __future__ import annotations

_BEFORE = 'c = ServerStatusContext("u", 1{name})\ns = c.get_server_status()\n'
_AFTER = 'c = grpcclient.InferenceServerClient("u")\ns = {made}\nc.close()\n'


def _pair(read: str, after: str = "", name: str = "") -> tuple[str, str]:
    before = _BEFORE.format(name=f", {name}" if name else "") + read
    return before, _AFTER.format(made=f"server_status(c{name and ', '}{name})") + (after or read)


PAIRS = {
    "versions": _pair(
        'for v, state in s.model_status["m"].version_status.items():\n'
        "    print(v, state.ready_state)\n"
    ),
    "iteritems": _pair(
        'self.assertIn("m", s.model_status)\n'
        'for k, v in iteritems(s.model_status["m"].version_status):\n    print(v.ready_state)\n'
    ),
    "variables": _pair(
        "model = s.model_status[name]\nprint(model.config.max_batch_size)\n"
        "states = [v.ready_state for v in model.version_status.values()]\n",
        name="name",
    ),
    "a variable that is bound again": (
        'c = ServerStatusContext("u", 1, name)\n'
        "def limit(status):\n    s = status.get_server_status()\n"
        "    status = s.model_status[name]\n    return status.config.max_batch_size\nlimit(c)\n",
        'c = grpcclient.InferenceServerClient("u")\n'
        "def limit(status):\n    s = status\n"
        "    status = config_of(s, name)\n    return status.max_batch_size\nlimit(c)\nc.close()\n",
    ),
    "a part of what a call returns": (
        'c = ServerStatusContext("u", 1)\nconfig = c.get_server_status().model_status[n].config\n',
        'c = grpcclient.InferenceServerClient("u")\nconfig = config_of(c, n)\nc.close()\n',
    ),
    "a part of what a new context's call returns": (
        "config = ServerStatusContext(u, 1).get_server_status().model_status[n].config\n",
        "config = config_of(grpcclient.InferenceServerClient(u), n)\n",
    ),
    "nothing": (
        'ServerStatusContext("u", 1).get_server_status()\n',
        'grpcclient.InferenceServerClient("u").get_server_metadata()\n',
    ),
}
