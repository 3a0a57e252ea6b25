"""The API reference describes every public name."""

from __future__ import annotations

import inspect
import re

import tensorrtserver.api as api
import tritonclient_shim
from tensorrtserver import cuda_shared_memory, shared_memory
from tests.pages.blocks import text
from tritonclient_shim import testing

PAGE = text("docs/api.md")


def test_the_facade_is_complete() -> None:
    """The page describes each class and function of ours that a star import binds."""
    ours = {
        name
        for name in api.__all__
        if getattr(getattr(api, name), "__module__", "") == "tensorrtserver.api"
    }
    assert "InferContext" in ours
    listed = r"^\.\. auto(?:class|exception|function):: (?:tensorrtserver\.api\.)?(\w+)$"
    assert ours <= set(re.findall(listed, PAGE, re.M))


def test_the_memory_modules_are_complete() -> None:
    """The page names exactly the functions and exceptions of the memory modules."""
    for module in (shared_memory, cuda_shared_memory):
        name = module.__name__
        listed = PAGE.partition(f".. automodule:: {name}\n   :members: ")[2].partition("\n\n")[0]
        defined = {
            key
            for key, value in vars(module).items()
            if getattr(value, "__module__", "") == name and not key.startswith("_")
            if inspect.isclass(value) or inspect.isfunction(value)
        }
        assert set(re.findall(r"\w+", listed.partition("\n```")[0])) == defined


def test_the_rest_is_complete() -> None:
    """The page describes the functions of this package that v1 did not have."""
    offered = set(tritonclient_shim.__all__) - {"__version__"}
    assert offered == set(re.findall(r"autofunction:: tritonclient_shim\.(\w+)", PAGE))
    listed = r"^\.\. auto(?:class|exception|function):: (\w+)$"
    of_testing = PAGE.partition("currentmodule:: tritonclient_shim.testing")[2]
    assert set(testing.__all__) == set(re.findall(listed, of_testing, re.M))
    assert "InferenceServerException" in PAGE and "tritonclient_shim.pytest_plugin" in PAGE
