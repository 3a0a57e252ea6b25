"""The texts for faulty installations: what is wrong, and the commands that repair it."""

from __future__ import annotations

from tritonclient_shim.core.installation import commands
from tritonclient_shim.core.installation.origin import Origin, origin

_OWNERS = "Both own the folder 'tensorrtserver', and pip lets one overwrite and remove the other's"


def mixed(site: str, found: list[str], how: str) -> str:
    """NVIDIA's distribution and ours in one folder."""
    return _with_remedy(
        f"NVIDIA's retired 'tensorrtserver' distribution ({', '.join(found)}) is installed in "
        f"{site}; {how}. {_OWNERS} files. Remove NVIDIA's and put ours back",
        commands.remove_nvidias(site, found),
        site,
    )


def remains(site: str) -> str:
    """Our distribution, without files that went when NVIDIA's was uninstalled."""
    return _with_remedy(
        f"tritonclient-shim in {site} is incomplete: files of 'tensorrtserver' are gone. "
        f"That happens when NVIDIA's retired 'tensorrtserver' is uninstalled. {_OWNERS} files. "
        "Put ours back",
        [],
        site,
    )


def damaged(site: str, names: list[str]) -> str:
    """Files of ours that are missing or not as they were installed."""
    shown = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
    return _with_remedy(
        f"tritonclient-shim in {site} has files missing or changed: {shown}. Put them back",
        [],
        site,
    )


def hidden(site: str, found: list[str], ours: str) -> str:
    """NVIDIA's distribution in a folder before ours on the import path."""
    return as_lines(
        f"NVIDIA's retired 'tensorrtserver' distribution ({', '.join(found)}) is installed in "
        f"{site}; it hides tritonclient-shim in {ours}. Remove it",
        commands.remove_nvidias(site, found),
    )


def behind(site: str, found: list[str], ours: str) -> str:
    """NVIDIA's distribution in a folder after ours on the import path."""
    return as_lines(
        f"NVIDIA's retired 'tensorrtserver' distribution ({', '.join(found)}) is installed in "
        f"{site}, unused as long as tritonclient-shim in {ours} comes first. Remove it",
        commands.remove_nvidias(site, found),
    )


def foreign(path: str, ours: str) -> str:
    """A module or package of the user's own that is called ``tensorrtserver``."""
    ending = ".py" if path.endswith(".py") else ""
    return as_lines(
        f"{path} is imported as 'tensorrtserver', in place of tritonclient-shim's in {ours}. "
        "Give it another name, here and where it is imported",
        commands.rename(path, f"tensorrtserver_renamed{ending}"),
    )


def as_lines(text: str, lines: list[str]) -> str:
    """The text, then each command on a line of its own."""
    if not lines:
        return text
    shown = "\n".join(f"    {line}" for line in dict.fromkeys(lines))
    return f"{text}:\n{shown}"


def _with_remedy(text: str, first: list[str], site: str) -> str:
    place = origin(site)
    return as_lines(text + _about(place, site), [*first, *commands.reinstall(site, place)])


def _about(place: Origin, site: str) -> str:
    """What the user must know of the origin before the commands can work."""
    if place.gone:
        return (
            f" (it came from {place.path}, which is no longer there: restore that first, or write "
            "the path of another wheel or checkout of tritonclient-shim in its place)"
        )
    if place.indexed:
        return " (with the same --index-url or --find-links, if it was installed with one)"
    if not place.arguments:
        return (
            " (from where that folder came: it is a copy of the sources that pip did not install)"
        )
    return ""
