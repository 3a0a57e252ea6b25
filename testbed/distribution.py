"""Which Linux distribution this is, and what can be typed on it to get a Python for the server."""

from __future__ import annotations

from dataclasses import dataclass

STANDALONE = "https://github.com/astral-sh/python-build-standalone/releases/download"
# What the packages of a release have, of the versions that the server's models can run on.
_PACKAGED = {
    ("debian", "12"): "3.11",
    ("ubuntu", "22.04"): "3.10",
    ("ubuntu", "24.04"): "3.12",
}


@dataclass(frozen=True)
class Distribution:
    """A system: its id and version as /etc/os-release has them (Debian sid has no version)."""

    id: str
    version: str
    name: str

    @property
    def packaged(self) -> str | None:
        """The version of Python that its packages have for the server, or None."""
        return _PACKAGED.get((self.id, self.version))


def read(path: str = "/etc/os-release") -> Distribution:
    """The distribution that the file describes."""
    try:
        with open(path, encoding="utf-8") as handle:
            lines = [line.strip().partition("=") for line in handle]
    except OSError:
        lines = []
    found = {name: value.strip("\"'") for name, _, value in lines}
    name = found.get("PRETTY_NAME", "this system")
    return Distribution(found.get("ID", ""), found.get("VERSION_ID", ""), name)


def remedies(distribution: Distribution, version: str) -> list[str]:
    """Each of them gets this machine a Python for the server; ``version`` is what is fetched."""
    packaged = distribution.packaged
    install = f"apt-get install python{packaged} python{packaged}-venv"
    return [
        *([install] if packaged else []),
        f"give this machine access to github.com, from where uv downloads Python {version}, or to "
        f"a mirror of {STANDALONE}: export UV_PYTHON_INSTALL_MIRROR=ADDRESS",
        "put any Python 3.8 to 3.12 that has venv and its shared library on PATH or below "
        f"PYENV_ROOT: PYTHON_CONFIGURE_OPTS=--enable-shared pyenv install {version}",
        *(
            ["name a mirror that still has Debian 12 in /etc/apt/sources.list"]
            if distribution.id == "debian"
            else []
        ),
    ]
