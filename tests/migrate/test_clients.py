"""One client for what several contexts did, and the place where it is closed."""

from __future__ import annotations

import pytest

from tests.migrate.sources_migrated import STAR, body, migrated

HEALTH = "h = ServerHealthContext(url, ProtocolType.GRPC)\n"
STATUS = "s = ServerStatusContext(url, ProtocolType.GRPC)\n"
INFER = 'i = InferContext(url, ProtocolType.GRPC, "m")\n'
MADE = "client = grpcclient.InferenceServerClient(url)\n"
TWO = f"{HEALTH}print(h.is_live())\n{INFER}i.run(a, b)\n"


def clients(source: str, to: str = "") -> int:
    """How many clients the migrated source makes."""
    return body(source, to).count("client.InferenceServerClient(")


def told(source: str) -> dict[int, str]:
    """Line → what the report says of the context that is made there."""
    ids = ("TS020", "TS025", "TS050")
    uses = migrated(source).uses
    return {row.line: outcome.what for row, outcome in uses if row.entry.id in ids}


def indented(text: str) -> str:
    """The body of a function."""
    return "".join(f"    {line}\n" for line in text.splitlines())


def test_one_client() -> None:
    """Contexts of one url, protocol and function become one client, which is closed at the end."""
    source = f"{HEALTH}print(h.is_live())\n# asked later\n{STATUS}s.get_server_status()\n{INFER}"
    assert body(f"{source}r = i.run(a, b)\nprint(r)\n") == (
        f"{MADE}print(client.is_server_live())\n# asked later\nclient.get_server_metadata()\n"
        'r = run_model(client, "m", a, b)\nclient.close()\nprint(r)\n'
    )
    assert told(STAR + TWO) == {2: "grpc client", 4: "the client of line 2"}


def test_comment_of_a_context_that_is_gone() -> None:
    """A comment on nothing but a context goes with it; one on more stays, as do blank lines."""
    source = f"{HEALTH}h.is_live()\n\n# Make it.\n{INFER}\n# Use it.\ni.run(a, b)\n"
    assert "is_server_live()\n\n# Use it.\nrun_model" in body(source)


@pytest.mark.parametrize(
    "source",
    [
        TWO.replace("i =", "url = other\ni ="),
        TWO.replace("GRPC", "HTTP", 1),
        TWO.replace('"m")', '"m", verbose=True)'),
        f"{TWO}h.close()\n",
        f"{TWO}del h\n",
        f"{TWO}Thread(target=f, args=(h,)).start()\n",
        f"def f():\n{indented(TWO)}def g():\n    global url\n    url = 1\n",
        f"if x:\n    {HEALTH}    h.is_live()\nelse:\n    {INFER}    i.run(a, b)\n",
        f"def f():\n    {HEALTH}    h.is_live()\ndef g():\n    {INFER}    i.run(a, b)\n",
    ],
    ids=["url bound", "protocol", "verbose", "closed", "deleted", "handed on"]
    + ["url bound by another function", "branches", "functions"],
)
def test_clients_that_stay_apart(source: str) -> None:
    """Where one client cannot be shown to do for another, each context has its own."""
    assert clients(source) == 2


def test_each_stream_has_its_client() -> None:
    """A client has one stream, and one count of its requests."""
    made = "{0} = InferContext(url, 1, '{0}', streaming=True)\n{0}.async_run(cb, x, y)\n"
    assert clients(made.format("a") + made.format("b") + "q.get()\n") == 2


def test_arguments_are_the_same_in_a_branch() -> None:
    """A client that is there in any case does for one that a branch makes."""
    run = indented(indented(f"{INFER}i.run(n, b)\n"))
    source = f"{HEALTH}h.is_live()\nfor n in names:\n    if n:\n{run}"
    assert body(source) == (
        f"{MADE}client.is_server_live()\nfor n in names:\n    if n:\n"
        '        run_model(client, "m", n, b)\nclient.close()\n'
    )


def test_function_closes_its_client() -> None:
    """A function closes its client in any case: a ``with`` statement does."""
    assert body(f"def f():\n{indented(INFER)}    # now\n    return i.run(a, b)\n") == (
        "def f():\n    with grpcclient.InferenceServerClient(url) as i:\n"
        '        # now\n        return run_model(i, "m", a, b)\n'
    )


def test_functions_that_are_called_with_a_client() -> None:
    """A client is followed into the functions of the file, to where their name for it changes."""
    source = (
        "def f(c):\n    s = c.get_server_status()\n    c = s.model_status[n]\n    return c.config\n"
        f"{STATUS}f(s)\n{INFER}i.run(a, b)\n"
    )
    assert body(source).endswith(f'{MADE}f(client)\nrun_model(client, "m", a, b)\nclient.close()\n')


@pytest.mark.parametrize(
    "source",
    [
        f"def f():\n{indented(INFER)}    return i\nf().run(a, b)\n",
        "class A:\n    def __init__(self):\n        self.i = InferContext(u, 1, 'm')\n"
        "    def f(self):\n        self.i.run(a, b)\n",
        f"{INFER}def f():\n    i.run(a, b)\nf()\n",
        f"{INFER}Thread(target=f, args=(i,)).start()\n",
        f"for n in x:\n{indented(INFER)}i.run(a, b)\n",
        f"{INFER}i.async_run(callback, a, b)\n",
    ],
    ids=["returned", "attribute", "module", "thread", "loop", "callback"],
)
def test_client_that_nothing_closes(source: str) -> None:
    """Where the end of a client's use is not known, the report says so, and the file is left."""
    assert ".close()" not in body(source)
    assert any("nothing closes it" in what for what in told(STAR + source).values())


@pytest.mark.parametrize(
    "source",
    [f"{INFER}i.run(a, b)\ni.close()\n", f"print({INFER[4:-1]}.run(a, b))\n"],
    ids=["closed", "not kept"],
)
def test_client_that_need_not_be_closed(source: str) -> None:
    """Of a client that the program closes, or does not keep, nothing is said."""
    assert set(told(STAR + source).values()) == {"grpc client"}
    assert body(source).count("close()") == source.count("close()")


def test_script_closes_at_its_end() -> None:
    """Where functions use a client of a script, and where callbacks do, its last line closes it."""
    start = f"if __name__ == '__main__':\n{indented(INFER)}"
    source = f"def f():\n    i.run(a, b)\n{start}    f()\n    print(1)\n"
    assert body(source).endswith("    f()\n    print(1)\n    i.close()\n")
    source = f"{start}    i.async_run(callback, a, b)\n    q.get()\n"
    assert body(source).endswith("    q.get()\n    i.close()\n")
