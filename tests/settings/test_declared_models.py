"""The setting ``models``: accepted descriptions, and the refusals of others."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tritonclient_shim import configure
from tritonclient_shim.settings import SettingsError
from tritonclient_shim.settings.models import DeclaredModel, declared_models


def test_files(tmp_path: Path) -> None:
    """The setting may be a JSON file with label files beside it. A label may be empty."""
    (tmp_path / "labels").write_text("a\n\nc\r\n", "utf-8")
    path = tmp_path / "models.json"
    path.write_text(json.dumps({"m": {"outputs": {"y": {"labels": "labels"}}}}), "utf-8")
    (pair,) = declared_models(path)
    assert pair[1].labels() == {"y": ("a", "", "c")}
    assert declared_models("{}") == ()
    assert configure(models=str(path)).declared("m") == pair[1]
    assert configure(models=str(path)).declared("n") is None
    assert declared_models({"m": {}}) == (("m", DeclaredModel("m")),)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (3, "a mapping of model names"),
        ("/no/such/file", "cannot be read"),
        ("{", "no JSON"),
        ({"m": 3}, "for model 'm' a mapping of max_batch_size, inputs, outputs"),
        ({"m": {"max_batch": 3}}, "'max_batch' is none of these"),
        ({"m": {"max_batch_size": -1}}, "as max_batch_size of model 'm' an integer"),
        ({"m": {"inputs": []}}, "as inputs of model 'm' a mapping"),
        ({"m": {"inputs": {"x": {"datatype": "FLOAT"}}}}, "as datatype of tensor 'x' one of BOOL"),
        ({"m": {"inputs": {"x": {"datatype": []}}}}, "as datatype of tensor 'x' one of BOOL"),
        ({"m": {"outputs": {"x": {"labels": "a\0b"}}}}, "cannot be read"),
        pytest.param('{"m":' * 20_000, "this is no JSON", id="deep JSON"),
        ({"m": {"inputs": {"x": {"dims": [-2]}}}}, "as dims of tensor 'x' a list of sizes"),
        ({"m": {"outputs": {"y": {"labels": 3}}}}, "as labels of tensor 'y' a list of texts"),
        ({"m": {"outputs": {"y": {"labels": "/no/such/file"}}}}, "cannot be read"),
    ],
)
def test_what_is_no_setting(value: Any, message: str) -> None:
    """A wrong description is refused with its place and what was expected. Nothing changes."""
    with pytest.raises(SettingsError, match=message):
        configure(models=value)
