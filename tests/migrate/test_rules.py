"""What legacy uses become, on small sources."""

from __future__ import annotations

import pytest

from tests.migrate.sources_migrated import CONTEXT, STAR, body, migrated, todo
from tritonclient_shim.rewrite.helpers import signed_id


def test_protocol_of_the_program() -> None:
    """A protocol chosen at run time goes on being chosen, or is the one that was asked for."""
    source = 'p = ProtocolType.from_str(text)\nh = ServerHealthContext("u", p)\n'
    chosen = 'p = text.lower()\nh = CLIENTS[p].InferenceServerClient("u")\n'
    assert body(source) == chosen
    assert 'h = httpclient.InferenceServerClient("u")\n' in body(source, "http")
    assert "from triton_helpers import CLIENTS\n" in migrated(STAR + source).after.decode()


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
    found = migrated(STAR + source, unsafe=False)
    assert {"3:TS050", "4:TS015", "5:TS017"} <= set(todo(found))
    assert "tritonclient.utils" not in found.after.decode()
    assert migrated(found.after.decode(), unsafe=False).after == found.after


def test_states_by_name() -> None:
    """Names and numbers of a status's states become those of a class of the file."""
    text = migrated(
        "from tensorrtserver.api import server_status_pb2 as ss\n"
        "print(ss.ModelReadyState.Name(n), n == ss.MODEL_READY, ss.ServerReadyState.Value('A'))\n"
        "print(ss.SERVER_READY)\n"
    ).after.decode()
    assert text.endswith(
        "print(ModelReadyState(n).name, n == ModelReadyState.MODEL_READY, "
        "ServerReadyState['A'].value)\nprint(ServerReadyState.SERVER_READY.value)\n"
    )
    assert "tensorrtserver" not in text


def test_import_with_a_fallback() -> None:
    """A name that is only bound where v1 is missing keeps no import of v1."""
    source = (
        "try:\n    from tensorrtserver.api import InferContext\n    there = True\n"
        "except ImportError:\n    InferContext, there = None, False\n"
        'def f():\n    c = InferContext("u", 1, "m")\n    return c.run(i, o)\n'
    )
    found = migrated(source)
    assert todo(found) == []
    assert "tensorrtserver" not in found.after.decode()
    assert "try:\n    there = True\nexcept" in found.after.decode()


@pytest.mark.parametrize(
    "read",
    [
        "print(s.model_status)",
        "print(s.model_status['m'].version_status)",
        "f(s.model_status['m'])",
        "s.model_status['m'].version_status[1].infer_stats",
        "x = [s.model_status]",
        "s.uptime_ns",
        "for pair in s.model_status.items():\n    f(pair)",
    ],
)
def test_status_of_which_more_is_read(read: str) -> None:
    """A status stays where something is done with it that no question can answer."""
    source = f'{STAR}s = ServerStatusContext("u", 1).get_server_status()\n{read}\n'
    assert "2:TS026" in todo(migrated(source))


def test_one_comment_for_a_line() -> None:
    """What prevents the rewriting of a use is told once, with all its ids."""
    source = f'{STAR}c = InferContext(*url, verbose=True, http_headers=["A: b"])\nc.run(i, o)\n'
    text = migrated(source).after.decode()
    assert text.count("# TODO(") == 1
    assert "# TODO(TS050, TS103, TS102): " in text


def test_batch_size_of_other_inputs() -> None:
    """A request that v1 refused, since its batch size was not that of its inputs, is left."""
    for size in (1, 3):
        source = f"{STAR}{CONTEXT}ctx.run({{'A': [a, b]}}, {{}}, batch_size={size})\n"
        assert "3:TS051" in todo(migrated(source))
    source = f"{STAR}{CONTEXT}ctx.run({{'A': [a, b]}}, {{}}, 2)\nctx.run({{'A': [*a]}}, {{}}, 2)\n"
    assert todo(migrated(source)) == []


@pytest.mark.parametrize(
    "use", ["print(p)", "str(p).lower()", "'%s' % p", "f'{p}'", "'{}'.format(p)", "log.info('', p)"]
)
def test_text_of_a_protocol(use: str) -> None:
    """Where a protocol is printed the file gets a class with v1's names and numbers."""
    source = f'p = ProtocolType.from_str(t)\nServerHealthContext("u", p).is_live()\n{use}\n'
    found = migrated(STAR + source)
    once = found.after.decode()
    assert todo(found) == []
    assert "from triton_helpers import CLIENTS, ProtocolType\n" in once
    assert migrated(once).after.decode() == once


def test_comment_where_there_is_no_rule() -> None:
    """What no rule rewrites has a comment, too, which says why; a second run adds none."""
    source = (
        "from tensorrtserver.api import grpc_service_pb2_grpc\n"
        "import tensorrtserver.cuda_shared_memory as cuda\n"
        "s = grpc_service_pb2_grpc.GRPCServiceStub(channel)\n"
        "h = cuda.create_shared_memory_region('a', 4, 0)\n"
    )
    found = migrated(source).after.decode()
    assert "# TODO(TS072): v1's messages and its raw stub are rewritten by hand" in found
    assert "# TODO(TS086): register the memory by name" in found
    assert migrated(found).after.decode() == found


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
        "run_model(ctx, \"simple\", i, outputs=class_counts({'O': (CLASS, 2)}))\nctx.close()\n"
    )


def test_functions_of_future_keep_their_names() -> None:
    """``iteritems`` of the star import, or imported, becomes a function of this name."""
    for imports in (STAR, f"from future.utils import iteritems\n{STAR}"):
        text = migrated(f"{imports}for one in iteritems(found):\n    pass\n").after.decode()
        assert "from triton_helpers import iteritems\n" in text
        assert "for one in iteritems(found):" in text
        assert "future" not in text


def test_large_sequence_id() -> None:
    """A sequence's id in the upper half of 64 bits is sent over gRPC as a negative number."""
    source = 'c = InferContext("u", p, "m", -1, False, 2**63 + 5)\nc.run(i, o, 1)\n'
    source += "c.run(i, o, corr_id=2**64 - 1)\n"
    assert body(source, to="grpc") == (
        'c = grpcclient.InferenceServerClient("u")\n'
        'run_model(c, "m", i, o, sequence_id=signed_id(2**63 + 5))\n'
        'run_model(c, "m", i, o, sequence_id=signed_id(2**64 - 1))\n'
        "c.close()\n"
    )
    assert [signed_id(one) for one in (7, 2**63 - 1, 2**63, 2**64 - 1)] == [
        *(7, 2**63 - 1),
        *(-(2**63), -1),
    ]
