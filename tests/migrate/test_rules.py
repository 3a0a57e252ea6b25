"""Rewrites of legacy uses in small sources."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tritonclient.grpc

from testbed import TritonServer
from tests.migrate.sources_migrated import CONTEXT, STAR, body, migrated, todo, write
from tritonclient_shim.rewrite.emitted import helper_file
from tritonclient_shim.rewrite.helpers.models import InferModel


def test_protocol_of_the_program() -> None:
    """A protocol chosen at run time stays chosen, unless the option names a protocol."""
    source = 'p = ProtocolType.from_str(text)\nh = ServerHealthContext("u", p)\n'
    chosen = 'p = text.lower()\nh = connect(p, "u")\n'
    assert body(source) == chosen
    assert 'h = httpclient.InferenceServerClient("u")\n' in body(source, "http")
    assert "from triton_helpers import connect\n" in migrated(STAR + source).after.decode()


def test_star_import_becomes_names() -> None:
    """Names that only the star import bound are imported by name if they are used."""
    text = migrated(STAR + "try:\n    print(np, sys)\nexcept InferenceServerException:\n    pass\n")
    assert text.after.decode() == (
        "import sys\nfrom tritonclient.utils import InferenceServerException\n"
        "import numpy as np\ntry:\n    print(np, sys)\nexcept InferenceServerException:\n    pass\n"
    )


def test_context_stays_with_a_use_that_stays() -> None:
    """A use that stays keeps its context, and no other context. A comment says why."""
    why = "infer_stats of a status has no successor"
    source = (
        f'{STAR}{CONTEXT}r = ctx.run(i, o)\ns = ServerStatusContext("u", 1).get_server_status()\n'
        "print(s.model_status['m'].version_status[1].infer_stats)\n"
    )
    migration = migrated(source)
    assert set(todo(migration)) == {"1:TS001", "4:TS025", "4:TS026"}
    comment = f"# TODO(TS026): {why} (tritonclient-shim guide server-status)\ns = "
    assert comment in migration.after.decode()
    assert migrated(migration.after.decode()).after == migration.after


def test_unsafe_needs_the_option() -> None:
    """Without --unsafe, a rewrite that programs may notice is reported and not done."""
    source = f"{STAR}{CONTEXT}ctx.run(i, {{'O': (InferContext.ResultFormat.CLASS, 2)}})\n"
    migration = migrated(source, unsafe=False)
    assert not migration.changed
    reasons = {row.entry.id: outcome.what for row, outcome in migration.uses}
    assert reasons["TS063"] == "unsafe: values come with six decimals; --unsafe rewrites it"


def test_error_of_the_constructor_is_kept() -> None:
    """A context in a ``try`` becomes a client with a check of the model."""
    assert 'check_model(ctx, "simple")' in body(
        f"try:\n    {CONTEXT}except InferenceServerException as e:\n    print(e.message())\n"
    )


def test_error_that_tells_of_the_server() -> None:
    """If a program reads v1's ids of an error, the contexts that raise the error stay."""
    source = f"try:\n    {CONTEXT}except InferenceServerException as e:\n    e.request_id()\n"
    migration = migrated(STAR + source, unsafe=False)
    assert {"3:TS050", "4:TS015", "5:TS017"} <= set(todo(migration))
    assert "tritonclient.utils" not in migration.after.decode()
    assert migrated(migration.after.decode(), unsafe=False).after == migration.after


def test_states_by_name() -> None:
    """Names and numbers of states become members of a class of the helpers."""
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
    """An import of v1 goes even if its fallback binds the name."""
    source = (
        "try:\n    from tensorrtserver.api import InferContext\n    there = True\n"
        "except ImportError:\n    InferContext, there = None, False\n"
        'def f():\n    c = InferContext("u", 1, "m")\n    return c.run(i, o)\n'
    )
    migration = migrated(source)
    assert todo(migration) == []
    assert "tensorrtserver" not in migration.after.decode()
    assert "try:\n    there = True\nexcept" in migration.after.decode()


def test_imports_in_a_block() -> None:
    """Two imports of a block that need one successor get it once."""
    source = (
        "try:\n    from tensorrtserver.api import *\n"
        "    from tensorrtserver.api import InferenceServerException\n"
        "except ImportError:\n    pass\nprint(InferenceServerException)\n"
    )
    text = migrated(source).after.decode()
    assert text.count("from tritonclient.utils import InferenceServerException") == 1


@pytest.mark.parametrize("read", ["infer_stats", "SerializeToString()", "HasField('id')"])
def test_status_of_which_more_is_read(read: str) -> None:
    """A status stays if the program reads a part that no server returns."""
    source = f'{STAR}s = ServerStatusContext("u", 1).get_server_status()\nprint(s.{read})\n'
    assert "2:TS026" in todo(migrated(source))


def test_one_comment_for_a_line() -> None:
    """The reason against rewriting a use is reported once, with all its ids."""
    source = f'{STAR}c = ServerHealthContext(*url, verbose=True, http_headers=["A: b"])\n'
    text = migrated(source).after.decode()
    assert text.count("# TODO(") == 1


def test_batch_size_of_other_inputs() -> None:
    """A request keeps its call if its inputs have another batch size: v1 refused it."""
    for size in (1, 3):
        source = f"{CONTEXT}ctx.run({{'A': [a, b]}}, {{}}, batch_size={size})\n"
        assert f"ctx.run({{'A': [a, b]}}, {{}}, batch_size={size})" in body(source)
        assert "3:TS051" in todo(migrated(STAR + source, unsafe=False))


@pytest.mark.parametrize(
    "use", ["print(p)", "str(p).lower()", "'%s' % p", "f'{p}'", "'{}'.format(p)", "log.info('', p)"]
)
def test_text_of_a_protocol(use: str) -> None:
    """If a program prints a protocol, it gets a class with v1's names and numbers."""
    source = f'p = ProtocolType.from_str(t)\nServerHealthContext("u", p).is_live()\n{use}\n'
    migration = migrated(STAR + source)
    once = migration.after.decode()
    assert todo(migration) == []
    assert "from triton_helpers import ProtocolType, connect\n" in once
    assert migrated(once).after.decode() == once


def test_raw_stub_with_a_call_that_has_no_rule() -> None:
    """A raw stub stays if one of its calls has no rule. A second run adds no comment."""
    source = (
        "from tensorrtserver.api import grpc_service_pb2 as pb, grpc_service_pb2_grpc\n"
        "s = grpc_service_pb2_grpc.GRPCServiceStub(channel)\ns.Infer(pb.InferRequest())\n"
    )
    assert todo(migrated(source)) == []
    text = migrated(source + "s.Profile(pb.ProfileRequest())\n").after.decode()
    assert "# TODO(TS072): v1's messages and its raw stub are rewritten by hand" in text
    assert migrated(text).after.decode() == text


def test_cuda_memory() -> None:
    """CUDA memory becomes regions with a raw handle. Its module is imported at the first use."""
    source = (
        "from tensorrtserver.api import SharedMemoryControlContext\n"
        "import tensorrtserver.cuda_shared_memory as cuda\n"
        "h = cuda.create_shared_memory_region('a', 64, 0)\n"
        "cuda.set_shared_memory_region(h, [x])\n"
        "c = SharedMemoryControlContext('u', 1)\nc.cuda_register(h)\nc.unregister(h)\n"
        "cuda.destroy_shared_memory_region(h)\n"
    )
    migration = migrated(source)
    assert todo(migration) == []
    assert migration.after.decode().endswith(
        "h = create_cuda_region('a', 64, 0)\n"
        "cuda_memory().set_shared_memory_region(h.handle, [x])\n"
        "c = grpcclient.InferenceServerClient('u')\n"
        "c.register_cuda_shared_memory(h.name, h.key, h.device_id, h.byte_size)\n"
        "unregister_region(c, h)\ncuda_memory().destroy_shared_memory_region(h.handle)\n"
    )


def test_handle_of_another_function() -> None:
    """With --unsafe, a handle of unknown origin counts as a region."""
    source = "c = SharedMemoryControlContext(u, 1)\ndef f(h):\n    c.register(h)\n"
    assert todo(migrated(STAR + source)) == []
    assert "h.name, h.key, h.byte_size" in body(source)
    assert "4:TS041" in todo(migrated(STAR + source, unsafe=False))


def test_forms_out_of_sight_stay_with_a_class_that_stays() -> None:
    """A request whose outputs may be CLASS stays if a use of CLASS stays."""
    source = (
        f"{CONTEXT}wanted = {{'O': (InferContext.ResultFormat.CLASS, 2)}}\nctx.run(i, wanted)\n"
    )
    assert body(source, unsafe=False).endswith("ctx.run(i, wanted)\n")
    assert 'infer_classes(ctx, "simple", i, wanted)' in body(source)


def test_forms_behind_variables_are_counted_by_a_function() -> None:
    """If CLASS has an alias, v1's values stay, and a helper converts them at the call."""
    source = f"CLASS = InferContext.ResultFormat.CLASS\n{CONTEXT}ctx.run(i, {{'O': (CLASS, 2)}})\n"
    assert body(source) == (
        'CLASS = 2\nctx = grpcclient.InferenceServerClient("localhost:8001")\n'
        "infer_classes(ctx, \"simple\", i, outputs=class_counts({'O': (CLASS, 2)}))\n"
    )


def test_functions_of_future_keep_their_names() -> None:
    """``iteritems`` of the star import, or of ``future``, becomes a helper of this name."""
    for imports in (STAR, f"from future.utils import iteritems\n{STAR}"):
        text = migrated(f"{imports}for one in iteritems(found):\n    pass\n").after.decode()
        assert "from triton_helpers import iteritems\n" in text
        assert "for one in iteritems(found):" in text
        assert "future" not in text


def test_protocol_by_its_name() -> None:
    """A protocol from literal text becomes the text in lower case."""
    assert body('print(is_up(ProtocolType.from_str("gRPC")))\n', unsafe=False) == (
        'print(is_up("grpc"))\n'
    )


def test_use_in_an_argument_that_goes() -> None:
    """With --to, the protocol's argument goes, with the uses inside it."""
    source = f"{STAR}p = given()\nh = ServerHealthContext(u, ProtocolType(p))\nh.is_live()\n"
    chosen = migrated(source, "grpc")
    assert todo(chosen) == []
    assert "TODO" not in chosen.after.decode()
    assert todo(migrated(source)) == []
    assert "connect(ProtocolType(p), u)" in migrated(source).after.decode()


def test_method_that_is_called_on_its_class() -> None:
    """A method called on its class stays, also if the file makes only one object."""
    creation = "s = ServerStatusContext(u, 1)\n"
    source = f"{STAR}{creation}print(ServerStatusContext.get_server_status())\n"
    migration = migrated(source)
    assert "ServerStatusContext.get_server_status()" in migration.after.decode()
    assert "3:TS026" in todo(migration)


_CONTROL = 'c = SharedMemoryControlContext("u", ProtocolType.GRPC)\n'
_STATUS = "s = c.get_shared_memory_status()\n"
_READ = 'print(len(s.shared_memory_region) if hasattr(s, "shared_memory_region") else s)\n'


def test_asked_whether_it_has_regions() -> None:
    """A program that checks whether a status has regions gets True."""
    client = 'c = grpcclient.InferenceServerClient("u")\n'
    assert body(_CONTROL + _STATUS + _READ) == f"{client}s = shared_memory_status(c)\n{_READ}"
    assert todo(migrated(STAR + _CONTROL + _STATUS + _READ)) == []


def test_whole_status_stays() -> None:
    """A status that is used as a whole stays v1's, also in a conditional expression."""
    for use in ("print(s)\n", 'print(1 if hasattr(s, "x") else s)\n', "print(1 if ok else s)\n"):
        assert "3:TS045" in todo(migrated(STAR + _CONTROL + _STATUS + use)), use


_USED = "def use(x):\n    return ctx.run(x, o)\nctx = InferContext('u', p, 'm')\n"


def test_client_for_each_thread() -> None:
    """Over HTTP each thread gets a separate client if the file imports a module of threads."""
    threads = f"from concurrent.futures import ThreadPoolExecutor\n{_USED}"
    assert "ThreadClient(" in body(threads, "http")
    assert "ThreadClient(" not in body(threads, "grpc") + body(_USED, "http")


def test_error_of_the_constructor() -> None:
    """A function checks the model of its context if the file catches the error."""
    source = "def make(name):\n    c = InferContext('u', 1, name)\n    return c.run(a, b)\n"
    tried = f"{source}try:\n    make(n)\nexcept InferenceServerException:\n    print('refused')\n"
    assert "check_model(c, name)" in body(tried)
    assert "check_model(" not in body(source)


@pytest.mark.parametrize("over_grpc", [True, False])
def test_model_configuration_is_fetched_once(
    over_grpc: bool, triton: TritonServer, tmp_path: Path
) -> None:
    """Requests fetch the model's configuration once, also for arrays of other shapes."""
    helpers: dict[str, Any] = {}
    exec(helper_file(str(tmp_path), ["infer_exactly"], over_grpc)[2], helpers)
    with tritonclient.grpc.InferenceServerClient(triton.grpc) as client:
        fetch, fetched = client.get_model_config, []

        @functools.wraps(fetch)
        def get_model_config(name: str) -> Any:
            fetched.append(name)
            return fetch(name)

        client.get_model_config = get_model_config
        inputs = {f"INPUT{n}": [np.zeros((4, 4), np.int32)] for n in (0, 1)}
        for _ in range(2):
            result = helpers["infer_exactly"](client, "simple", inputs, {"OUTPUT0": 0})
            assert result["OUTPUT0"][0].shape == (16,)
        assert fetched == ["simple"]


def test_large_sequence_id() -> None:
    """Over gRPC, a sequence's id above 2**63 - 1 becomes a negative number."""
    model = object.__new__(InferModel)  # the constructor asks the server
    model.client = tritonclient.grpc.InferenceServerClient("127.0.0.1:1")
    model.version, model.sequence = "", 0
    ids = [7, 2**63 - 1, 2**63, 2**64 - 1]
    sent = [model.options(corr_id=item)["sequence_id"] for item in ids]
    model.close()
    assert sent == [7, 2**63 - 1, -(2**63), -1]


@pytest.mark.parametrize(("name", "protocol"), [("GrpcModel", "grpc"), ("InferModel", "http")])
def test_class_with_a_name_of_the_file(name: str, protocol: str, tmp_path: Path) -> None:
    """A class of the helpers whose name the file uses gets another name there."""
    source = f'{STAR}{name} = 3\nmake = InferContext\nmake("u", {{}}, "m").run(i, o)\n'
    migration = migrated(source, protocol)
    assert f"from triton_helpers import {name} as {name}_\n" in migration.after.decode()
    write(migration, tmp_path / "script.py")
    assert f"class {name}:" in (tmp_path / "triton_helpers.py").read_text("utf-8")
