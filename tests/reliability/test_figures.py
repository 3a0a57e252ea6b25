"""The table of figures: a run changes the rows of the promises that it has tried."""

from __future__ import annotations

from tests.reliability.figures import BEGIN, END, PAGE, Figure, Figures, with_figures


def test_rows_are_merged_by_promise() -> None:
    """A run of one file leaves the figures of all other promises as they were."""
    first, second = Figures(), Figures()
    first.kept = [Figure("A", "a.py::t", 1000, "calls"), Figure("B", "b.py::t", 2, "calls")]
    second.kept = [Figure("B", "b.py::t", 3, "calls"), Figure("B", "b.py::u", 4, "contexts")]
    second.failed = {"b.py::u": 1}
    page = with_figures(f"x\n{BEGIN}\n{END}\ny\n", first.rows("then"))
    page = with_figures(page, second.rows("now"))
    assert page.splitlines() == [
        *("x", BEGIN, "| promise | test | tried | result | measured |", "|---|---|---|---|---|"),
        "| A | `a.py::t` | 1,000 calls | kept | then |",
        "| B | `b.py::t`, `b.py::u` | 3 calls, 4 contexts | 1 tests failed | now |",
        *(END, "y"),
    ]


def test_the_page_has_a_place() -> None:
    """docs/reliability.md takes the figures."""
    assert "| A |" in with_figures(PAGE.read_text("utf-8"), {"A": "| A |"})
