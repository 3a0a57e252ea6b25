"""What becomes of programs in ``styles``, with the models of a server and with both protocols."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from testbed import TritonServer
from tests.migrate.sources_migrated import STAR, migrated, run, todo, write
from tests.migrate.table import STYLES_FOLDER
from tritonclient_shim.cli import main
from tritonclient_shim.cli._models import models_of
from tritonclient_shim.migrate.files import Migrated, migrate
from tritonclient_shim.migrate.options import MigrateOptions

BOTH = ("all_models", "contexts_by_name", "last_requests", "statuses", "threads_in_turn")
ONE = ("batches", "futures", "literal_requests", "named_models", "sequence_callbacks", "stub_calls")


def source_of(program: str) -> str:
    """Return the text of a program."""
    return (STYLES_FOLDER / f"{program}.py").read_text("utf-8")


def same(program: str, options: MigrateOptions, url: str, folder: Path) -> Migrated:
    """Migrate a program completely. It prints before and after equal output."""
    script, protocol = folder / "script.py", options.to or "http"
    script.write_text(source_of(program))
    before = run(script, url, protocol)
    assert before.status == 0, before.output
    migration = migrate("script.py", script.read_bytes(), options)
    assert todo(migration) == []
    write(migration, script)
    assert run(script, url, protocol) == before
    return migration


def same_with_models(program: str, to: str, server: TritonServer, folder: Path) -> Migrated:
    """Migrate a program with the models of the server."""
    url = server.url(to)
    return same(program, MigrateOptions(to, unsafe=True, models=models_of(url)), url, folder)


@pytest.mark.parametrize("program", BOTH)
def test_same_with_both_protocols(program: str, triton: TritonServer, tmp_path: Path) -> None:
    """Without ``--to``, a program chooses its protocol at run time, as it did before."""
    same(program, MigrateOptions(unsafe=True), triton.http, tmp_path)


@pytest.mark.parametrize("program", [*BOTH, *ONE])
def test_nothing_is_left(program: str) -> None:
    """With ``--unsafe``, each use of these programs is rewritten for both protocols."""
    assert [todo(migrated(source_of(program), to)) for to in ("grpc", "http")] == [[], []]


def test_requests_of_a_sequence_keep_their_order(triton: TritonServer, tmp_path: Path) -> None:
    """Requests with a sequence id reach the server in the order of their calls."""
    script = tmp_path / "script.py"
    write(migrated(source_of("sequence_callbacks")), script)
    ended = run(script, triton.http, "http")
    assert ended.status == 0, ended.output
    assert ended.output == "22\n0 5\n1 9\n2 12\n3 14\n4 15\n5 22\n"


@pytest.mark.parametrize("to", ["grpc", "http"])
def test_lines_of_tritonclient(to: str, triton: TritonServer, tmp_path: Path) -> None:
    """With the models of a server, a request with literal names becomes tritonclient's lines."""
    migration = same_with_models("literal_requests", to, triton, tmp_path)
    assert "class_of" in migration.helpers and "infer" not in migration.helpers
    text = migration.after.decode()
    assert f'inputs = [{to}client.InferInput("INPUT0", array.shape, "INT32")]\n' in text
    assert f'inputs.append({to}client.InferInput("INPUT1", array.shape, "INT32"))\n' in text
    assert "array = np.stack([row])\n" in text
    assert "array = np.stack([row, row[::-1]])\n" in text
    assert "array = np.stack([row] * 3)\n" in text
    assert f'[{to}client.InferRequestedOutput("OUTPUT", class_count=2)]' in text
    assert "answer = ctx.infer(" in text
    assert 'print(total.as_numpy("OUTPUT0")[0], len(total.as_numpy("OUTPUT0")))\n' in text
    models = models_of(triton.url(to))
    safe = migrate("script.py", migration.before, MigrateOptions(to, models=models))
    assert "InferInput" not in safe.after.decode()
    request = 'run({"INPUT0": [row]}, {"OUTPUT0": InferContext.ResultFormat.RAW})'
    code = f'{STAR}try:\n    InferContext("u", 1, "simple_nobatch").{request}\nexcept OSError: 0'
    options = MigrateOptions(to, unsafe=True, models=models)
    tried = migrate("script.py", code.encode(), options)
    assert "array = np.asarray(row)\n" in tried.after.decode()
    # a file that needs the function calls it for all requests
    other = f"{code.replace('OSError: 0', 'OSError:')}\n    InferContext('u', 1, name).run(i, o)\n"
    called = migrate("script.py", other.encode(), options)
    assert "infer" in called.helpers and "array = np.asarray(row)" not in called.after.decode()


@pytest.mark.parametrize("to", ["grpc", "http"])
def test_batches_of_an_unknown_model(to: str) -> None:
    """A request with a batch of any length becomes tritonclient's lines, for all models."""
    source = source_of("batches")
    migration = migrated(source, to)
    assert {"class_of", "stacked"} <= migration.helpers and "infer" not in migration.helpers
    text = migration.after.decode()
    client = "http_client(url)" if to == "http" else "grpcclient.InferenceServerClient(url)"
    assert f"self.ctx = {client}\n" in text
    assert "inputs[0].set_data_from_numpy(array)\n        array = stacked(right)\n" in text
    assert migrated(source.replace("len(left)", "2"), to).helpers == migration.helpers
    # models without batches take one entry, and text has a helper
    one = source.replace("len(left)", "left")
    for other in (one, source.replace("np.float32", "np.bytes_")):
        assert "infer" in migrated(other, to).helpers


@pytest.mark.parametrize("to", ["grpc", "http"])
def test_models_that_a_file_names(to: str, triton: TritonServer, tmp_path: Path) -> None:
    """A request becomes tritonclient's lines if all models that its file names take batches."""
    migration = same_with_models("named_models", to, triton, tmp_path)
    assert "stacked" in migration.helpers and "infer" not in migration.helpers
    assert "sums = ctx.infer(options.model, inputs, outputs=[" in migration.after.decode()
    options = MigrateOptions(to, unsafe=True, models=models_of(triton.url(to)))
    other = migration.before + b"OTHER = 'simple_nobatch'\n"
    assert migrate("script.py", other, options).helpers >= {"infer"}
    assert migrated(migration.before.decode(), to).helpers >= {"infer"}


@pytest.mark.parametrize("to", ["grpc", "http"])
def test_futures_of_tritonclient(to: str, triton: TritonServer, tmp_path: Path) -> None:
    """With the models of a server, asynchronous requests become futures of tritonclient."""
    migration = same_with_models("futures", to, triton, tmp_path)
    assert "infer" not in migration.helpers
    text = migration.after.decode()
    assert "pool.submit(" in text and "ctx.infer," in text
    assert ".add_done_callback(in_turn(partial(finished, 1), ctx))\n" in text
    assert "print(number, got.as_numpy(OUTPUT)[0].tolist())\n" in text


def test_asynchronous_requests_of_another_file(triton: TritonServer, tmp_path: Path) -> None:
    """A context stays if a file without v1 starts its requests. With an import there, it goes."""
    folder = tmp_path / "program"
    shutil.copytree(STYLES_FOLDER / "fetched_elsewhere", folder)
    before = run(folder / "main.py", triton.http, "http")
    reason = "import v1 in all files that start or fetch asynchronous requests"
    options = MigrateOptions(unsafe=True)
    script = folder / "main.py"
    assert reason in migrate(str(script), script.read_bytes(), options).after.decode()
    sender = folder / "sender.py"
    sender.write_text(f"from tensorrtserver.api import InferContext\n{sender.read_text()}")
    assert main(["migrate", "--write", "--unsafe", str(folder)]) == 0
    assert run(script, triton.http, "http") == before
