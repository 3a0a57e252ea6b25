"""What legacy uses become, on small sources."""

from __future__ import annotations

import pytest

from tests.migrate.sources_migrated import CONTEXT, STAR, body, migrated, todo

RAW = "InferContext.ResultFormat.RAW"

PAIRS = {
    "health": (
        'h = ServerHealthContext("u", ProtocolType.GRPC)\nok = h.is_live() and h.is_ready()\n',
        'h = grpcclient.InferenceServerClient("u")\n'
        "ok = h.is_server_live() and h.is_server_ready()\n",
    ),
    "control": (
        'c = ModelControlContext("u", 0, True)\nc.load("m")  # now\nc.unload(x)\n',
        'c = httpclient.InferenceServerClient("u", verbose=True)\n'
        'c.load_model("m")  # now\nc.unload_model(x)\n',
    ),
    "run": (
        f'{CONTEXT}r = ctx.run({{ "A" : [a] }}, {{"B": {RAW}}}, batch_size=1)\n',
        'ctx = grpcclient.InferenceServerClient("localhost:8001")\n'
        'r = run_model(ctx, "simple", { "A" : [a] }, {"B": 0})\n',
    ),
    "version and correlation id": (
        'c = InferContext("u", 1, name, 2, False, 7)\nc.run(i, o, 1, 3)\n',
        'c = grpcclient.InferenceServerClient("u")\n'
        'run_model(c, name, i, o, model_version="2", sequence_id=7, '
        "sequence_start=True, sequence_end=True)\n",
    ),
    "headers": (
        'c = InferContext("u", 1, "m", http_headers=["X-Team: a"])\nc.run(i, o, timeout_us=5)\n',
        'c = grpcclient.InferenceServerClient("u")\n'
        "run_model(c, \"m\", i, o, timeout=5, headers={'x-team': 'a'})\n",
    ),
    "scheme": (
        'InferContext("https://u:443", 0, "m").run(i, o)\n',
        "run_model(httpclient.InferenceServerClient('u:443', ssl=True), \"m\", i, o)\n",
    ),
    "contexts in a list": (
        'every = []\nfor n in names:\n    every.append(InferContext("u", 1, n))\n'
        "for c in every:\n    c.run(i, o)\n    c.close()\n",
        "every = []\nfor n in names:\n"
        '    every.append(Model(grpcclient.InferenceServerClient("u"), n, {}))\n'
        "for c in every:\n    run_model(c.client, c.name, i, o, **c.options)\n"
        "    c.close()\n",
    ),
    "classes": (
        f"{CONTEXT}ctx.run(i, {{'O': (InferContext.ResultFormat.CLASS, k)}})\n",
        'ctx = grpcclient.InferenceServerClient("localhost:8001")\n'
        "run_model(ctx, \"simple\", i, {'O': k})\n",
    ),
    "flags": (
        f"{CONTEXT}flags = InferRequestHeader.FLAG_SEQUENCE_START\nctx.run(i, o, 1, flags)\n",
        'ctx = grpcclient.InferenceServerClient("localhost:8001")\nflags = FLAG_SEQUENCE_START\n'
        'run_model(ctx, "simple", i, o, **sequence_flags(flags))\n',
    ),
    "configuration": (
        'c = ServerStatusContext("u", 1, name)\ns = c.get_server_status()\n'
        "if name not in s.model_status:\n    raise E\n"
        "config = s.model_status[name].config\n",
        'c = grpcclient.InferenceServerClient("u")\ns = c\n'
        "if not s.is_model_ready(name):\n    raise E\nconfig = config_of(s, name)\n",
    ),
    "a variable that is bound again": (
        'c = ServerStatusContext("u", 1, name)\n'
        "def limit(status):\n    s = status.get_server_status()\n"
        "    status = s.model_status[name]\n    return status.config.max_batch_size\nlimit(c)\n",
        'c = grpcclient.InferenceServerClient("u")\n'
        "def limit(status):\n    s = status\n"
        "    status = config_of(s, name)\n    return status.max_batch_size\nlimit(c)\n",
    ),
    "NumPy": ("a = np.zeros(1, dtype=np.object)\n", "a = np.zeros(1, dtype=object)\n"),
}


@pytest.mark.parametrize("name", PAIRS)
def test_rewritten(name: str) -> None:
    """Each legacy use becomes what the guide shows, and the format of the rest stays."""
    before, after = PAIRS[name]
    assert body(before) == after
    assert todo(migrated(STAR + before)) == []


@pytest.mark.parametrize("name", PAIRS)
def test_migrated_twice(name: str) -> None:
    """What is migrated stays as it is."""
    once = migrated(STAR + PAIRS[name][0]).after
    assert migrated(once.decode()).after == once


def test_protocol_of_the_program() -> None:
    """A protocol chosen at run time goes on being chosen, or is the one that was asked for."""
    source = 'p = ProtocolType.from_str(text)\nh = ServerHealthContext("u", p)\n'
    chosen = 'p = text.lower()\nh = CLIENTS[p].InferenceServerClient("u")\n'
    assert body(source) == chosen
    assert 'h = httpclient.InferenceServerClient("u")\n' in body(source, "http")
    assert (
        'CLIENTS = {"grpc": grpcclient, "http": httpclient}\n'
        in migrated(STAR + source).after.decode()
    )


def test_star_import_becomes_names() -> None:
    """What only the star import bound is imported by its name, and nothing else."""
    text = migrated(STAR + "try:\n    print(np, sys)\nexcept InferenceServerException:\n    pass\n")
    assert text.after.decode() == (
        "import sys\nfrom tritonclient.utils import InferenceServerException\n"
        "import numpy as np\ntry:\n    print(np, sys)\nexcept InferenceServerException:\n    pass\n"
    )


def test_context_stays_with_a_use_that_stays() -> None:
    """Where a use cannot be rewritten the context stays, too, and the file says why."""
    source = f"{STAR}{CONTEXT}ctx.run(i, o)\nprint(ctx.get_stat()['cumulative_send_time_ns'])\n"
    found = migrated(source)
    assert set(todo(found)) == {"1:TS001", "2:TS010", "2:TS050", "3:TS051", "4:TS057"}
    why = "no client tells the times of sending and receiving apart"
    comment = f"# TODO(TS057): {why} (tritonclient-shim guide statistics)"
    assert found.after.decode() == source.replace("print(", f"{comment}\nprint(")
    assert migrated(found.after.decode()).after == found.after


def test_unsafe_needs_the_option() -> None:
    """What some programs may notice is reported and left alone without --unsafe."""
    source = f"{STAR}{CONTEXT}ctx.run(i, {{'O': (InferContext.ResultFormat.CLASS, 2)}})\n"
    found = migrated(source, unsafe=False)
    assert not found.changed
    reasons = {row.entry.id: outcome.what for row, outcome in found.uses}
    assert reasons["TS063"] == "unsafe: values come with six decimals; --unsafe rewrites it"


def test_object_that_escapes() -> None:
    """A context that code outside of the file gets stays a context."""
    for use in ("handler(ctx)", "x = ctx.run", "print(ctx)", "def f():\n    return ctx"):
        assert "2:TS050" in todo(migrated(f"{STAR}{CONTEXT}{use}\n")), use


def test_error_of_the_constructor_is_kept() -> None:
    """In a try the model is asked for when the context was made."""
    assert 'check_model(ctx, "simple")' in body(
        f"try:\n    {CONTEXT}except InferenceServerException as e:\n    print(e.message())\n"
    )


def test_error_that_tells_of_the_server() -> None:
    """Where an error is asked for v1's ids, the contexts that raise it stay."""
    source = f"try:\n    {CONTEXT}except InferenceServerException as e:\n    e.request_id()\n"
    found = migrated(STAR + source)
    assert {"3:TS050", "4:TS015", "5:TS017"} <= set(todo(found))
    assert "tritonclient.utils" not in found.after.decode()
    assert migrated(found.after.decode()).after == found.after


def test_forms_out_of_sight_stay_with_a_class_that_stays() -> None:
    """A request whose outputs may be asked for as CLASS is left where that CLASS is left."""
    source = (
        f"{CONTEXT}wanted = {{'O': (InferContext.ResultFormat.CLASS, 2)}}\nctx.run(i, wanted)\n"
    )
    assert body(source, unsafe=False).endswith("ctx.run(i, wanted)\n")
    assert 'run_model(ctx, "simple", i, wanted)' in body(source)


def test_forms_behind_variables_are_counted_by_a_function() -> None:
    """Where CLASS is given another name, v1's values stay, and are read at the call."""
    source = f"CLASS = InferContext.ResultFormat.CLASS\n{CONTEXT}ctx.run(i, {{'O': (CLASS, 2)}})\n"
    assert body(source) == (
        'CLASS = 2\nctx = grpcclient.InferenceServerClient("localhost:8001")\n'
        "run_model(ctx, \"simple\", i, outputs=class_counts({'O': (CLASS, 2)}))\n"
    )


def test_functions_of_future_keep_their_names() -> None:
    """``iteritems`` of the star import, or imported, becomes a function of this name."""
    for imports in (STAR, f"from future.utils import iteritems\n{STAR}"):
        text = migrated(f"{imports}for one in iteritems(found):\n    pass\n").after.decode()
        assert "def iteritems(mapping):" in text
        assert "for one in iteritems(found):" in text
        assert "future" not in text
