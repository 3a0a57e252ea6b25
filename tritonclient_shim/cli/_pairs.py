"""``explain``: the code of the migration guide, before and now, that shows a legacy use."""

from __future__ import annotations

import re
from typing import NamedTuple

from tritonclient_shim.cli import _sections
from tritonclient_shim.registry.entry import RegistryEntry

#: A column of the guide → what stands above its code.
_TITLES = {
    "v1": "before",
    "grpc": "now, on gRPC  (import tritonclient.grpc as grpcclient)",
    "http": "now, over HTTP  (import tritonclient.http as httpclient)",
}
_BLOCK = re.compile(r"^```python ([\w ]+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class CodePair(NamedTuple):
    """The code of one operation, by column; the first column is ``v1``."""

    columns: dict[str, str]

    @property
    def text(self) -> str:
        """Each column below its title, indented; PyTriton's is left to the guide."""
        return "".join(
            f"  {_TITLES[name]}\n{_indented(code)}"
            for name, code in self.columns.items()
            if name in _TITLES
        )


def of(entry: RegistryEntry) -> CodePair | None:
    """The pair of the entry's section that is about it; None where the section has no code.

    That is the first pair whose code before has the entry's words, or else the section's first.
    """
    pairs = _pairs(_sections.sections()[entry.anchor].text)
    if not pairs:
        return None
    pattern = rf"\b{re.escape(entry.shown_by)}"
    return next((pair for pair in pairs if re.search(pattern, pair.columns["v1"])), pairs[0])


def _pairs(text: str) -> list[CodePair]:
    """The pairs of a section, in order; what the columns begin with is a pair as well."""
    found: list[CodePair] = []
    for marks, code in _BLOCK.findall(text):
        (name, *_) = [word for word in marks.split() if word != "prelude"]
        if name == "v1":
            found.append(CodePair({}))
        found[-1].columns[name] = code
    return found


def _indented(code: str) -> str:
    return "".join(f"    {line}".rstrip() + "\n" for line in code.splitlines())
