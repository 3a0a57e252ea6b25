"""A file that is being rewritten: its analysis, its outcomes, and what it needs."""

from __future__ import annotations

import ast
import re
from functools import cached_property
from string import Formatter
from typing import Any, Callable, Iterator

from tritonclient_shim.migrate.evaluator import Evaluator
from tritonclient_shim.migrate.imports import API
from tritonclient_shim.migrate.scopes import last_name
from tritonclient_shim.migrate.sites import Site, sites
from tritonclient_shim.migrate.sources import ParsedSource
from tritonclient_shim.migrate.values import Value, element
from tritonclient_shim.rewrite.edits import Change, Edits
from tritonclient_shim.rewrite.emitted import MODULE
from tritonclient_shim.rewrite.flows import Flows
from tritonclient_shim.rewrite.neighbours import Neighbours
from tritonclient_shim.rewrite.options import MigrateOptions, Refused, SiteOutcome, State

#: Modules that run functions in threads.
_THREADED = re.compile(
    r"^\s*(from|import)\s+(threading|concurrent|multiprocessing|asyncio|socketserver|http|flask"
    r"|tornado|bottle|fastapi|django|falcon|grpc)\b",
    re.M,
)
#: Functions whose result handles errors in a ``with`` statement.
_CATCHING = frozenset({"assertRaises", "assertRaisesRegex", "assertRaisesRegexp", "suppress"})
#: The module of v1's configurations. A status of v1 has these.
CONFIGS = f"{API}.model_config_pb2"
_NAMED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
#: Functions that make text or numbers of their arguments, or compare them.
_SHOWING = frozenset(
    ("str", "repr", "int", "print", "format", "min", "max")
    + ("debug", "info", "warning", "warn", "error", "exception", "critical", "log")
)


class Draft:
    """A file, and the decisions of the rules so far."""

    def __init__(
        self,
        source: ParsedSource,
        text: str,
        options: MigrateOptions,
        beside: Neighbours,
    ) -> None:
        self.source, self.options = source, options
        self.beside = beside
        self.evaluator = Evaluator(source)
        self.sites: list[Site] = sites(self.evaluator)
        self.flows = Flows(source.tree, self.evaluator, beside.taken)
        self.edits = Edits(text, self.flows.parents)
        self.outcomes: dict[ast.AST, SiteOutcome] = {}  # by the node or call of a site
        self.imports: set[str] = set()  # lines that the file needs
        self.helpers: set[str] = set()  # names of functions that the file needs
        self.contexts_stay = False  # some contexts do, with their constants outside of calls
        self.modules: set[str] = set()  # grpc, http: the clients in use
        self.kept: set[str] = set()  # modules of v1 that stay
        defined = {name for statement in source.tree.body for name in _emitted(statement)}
        scopes = self.evaluator.scopes.of_node.values()
        self._names = {name for scope in scopes for name in scope.bindings} - defined

    @cached_property
    def errors_stay(self) -> bool:
        """True if the program reads server or request ids of errors. Only v1 has them."""
        called = (last_name(x.func) for x in self.evaluator.scopes.calls if not x.args)
        return self.beside.asks_errors or not {"server_id", "request_id"}.isdisjoint(called)

    @property
    def model_class(self) -> str:
        """Return the class of objects that know their model."""
        asks = self.beside.asks or self.has("TS060", "TS061")
        return "AskedModel" if asks else "InferModel"

    @cached_property
    def has_threads(self) -> bool:
        """True if the file imports a module that runs its functions in threads."""
        return bool(_THREADED.search("\n".join(self.source.lines)))

    def has(self, *ids: str) -> bool:
        """True if the file has a use with one of these ids."""
        return any(site.id in ids for site in self.sites)

    @cached_property
    def has_classes(self) -> bool:
        """True if the outputs of the file's requests may be classes."""
        return self.has("TS063") or self.beside.has_classes

    # --- outcomes

    def todo(self, node: ast.AST, what: str, comment: bool = True) -> None:
        """Record that a site is left to the author, unless it has an outcome already."""
        self.outcomes.setdefault(node, SiteOutcome(State.TODO, what, comment))

    def refuse(self, node: ast.AST, refused: Refused) -> None:
        """Record why a site is left, with a comment unless an option rewrites it."""
        self.todo(refused.node or node, str(refused), not refused.by_option)

    def outcome(self, site: Site) -> SiteOutcome | None:
        """Return the outcome of a site; None if no rule has decided."""
        for node in (site.node, site.call):
            if node is not None and node in self.outcomes:
                return self.outcomes[node]
        return None

    # --- expressions

    def text(self, node: ast.AST) -> str:
        """Return the text of an expression."""
        return self.edits.text(node)

    def constant(self, node: ast.expr | None) -> object:
        """Return the literal that an expression or its only assignment is; else Ellipsis."""
        if node is None:
            return None
        if isinstance(node, ast.Name):
            bindings = self.evaluator.scopes.bindings(node)
            value = bindings[0].node if len(bindings) == 1 else None
            if not isinstance(value, ast.expr) or bindings[0].steps:
                return ...
            node = value
        try:
            literal: object = ast.literal_eval(node)
        except (ValueError, TypeError, SyntaxError):
            return ...
        return literal

    def asks_for(self, *fields: str) -> bool:
        """True if the file calls ``HasField`` for one of these fields, or for one it computes."""
        calls = (x for x in self.evaluator.scopes.calls if last_name(x.func) == "HasField")
        return any(self.constant(x.args[0]) in (*fields, ...) for x in calls if x.args)

    def is_tried(self, node: ast.AST) -> bool:
        """True if a ``try`` has handlers for a node, or for a call of its function or class.

        ``with self.assertRaises(…)`` counts, too.
        """
        nodes = list(ast.walk(self.source.tree))
        tries: list[Any] = [part for part in nodes if _catches(part)]
        around = set(self.flows.around(node))
        callers = {part.name for part in around if isinstance(part, _NAMED)}
        definitions = [(part.name, _names(part)) for part in nodes if isinstance(part, _NAMED)]
        for _ in definitions:  # functions that call functions
            callers.update(name for name, names in definitions if names & callers)
        return any(part in around or _names(*part.body) & callers for part in tries)

    @cached_property
    def attributes(self) -> set[str]:
        """Return the names of all attributes in the file."""
        return {getattr(node, "attr", "") for node in ast.walk(self.source.tree)}

    def shows(self, test: Callable[[Value], bool]) -> bool:
        """True if the file makes text of a value, compares its size, or reads its name."""
        for node, parent in self.flows.parents.items():
            if isinstance(node, ast.expr) and _shows(node, parent):
                values = self.evaluator.of(node)
                if any(map(test, values | element(values))):
                    return True
        return False

    def around_result(self, node: ast.expr) -> list[ast.AST]:
        """Return the parent of an expression, or of each read of the variable with its value."""
        parents = self.flows.parents
        target = getattr(parents[node], "targets", [None])[0]
        if not isinstance(target, ast.Name):
            return [parents[node]]
        names = (part for part in ast.walk(self.source.tree) if isinstance(part, ast.Name))
        loads = (name for name in names if name.id == target.id and isinstance(name.ctx, ast.Load))
        bindings = {load: self.evaluator.scopes.bindings(load) for load in loads}
        return [parents[load] for load in bindings if node in [x.node for x in bindings[load]]]

    # --- changes

    def write(self, node: ast.AST, form: str, *parts: ast.AST | str) -> None:
        """Replace a node by a text.

        In the form, ``{0}`` stands for the first part, an expression with its changes. ``{name}``
        stands for a function of the helpers, and ``{old}`` for the node with its changes.
        """
        fields = {field for _, field, *_ in Formatter().parse(form) if field}
        names = {field for field in fields if field != "old" and not field.isdigit()}
        self.need(*names)

        def text(old: str) -> str:
            texts = []
            for number, part in enumerate(parts):
                new = self.primary if f"{{{number}}}." in form else self.new
                texts.append(part if isinstance(part, str) else new(part))
            return form.format(*texts, old=old, **{name: self.called(name) for name in names})

        self.edits.change(node, text)

    def change(self, node: ast.AST, change: Change) -> None:
        """Replace a node by what a function returns for its text."""
        self.edits.change(node, change)

    def new(self, node: ast.AST) -> str:
        """Return the text of an expression with its changes. Only a change can call this."""
        return self.edits.new(node)

    def called(self, helper: str) -> str:
        """Return the name of a helper in the file. Add ``_`` if the file uses the name."""
        return f"{helper}_" if helper in self._names else helper

    def primary(self, node: ast.AST) -> str:
        """Return the new text of an expression, in brackets if no attribute could follow."""
        is_primary = isinstance(node, (ast.Name, ast.Attribute, ast.Call, ast.Subscript))
        is_primary |= isinstance(node, ast.Constant) and isinstance(node.value, str)
        return self.new(node) if is_primary else f"({self.new(node)})"

    def need(self, *helpers: str) -> None:
        """Add helpers to those that the file imports."""
        self.helpers.update(helpers)


def _names(*nodes: ast.AST) -> set[str]:
    """Return all names and attributes in some nodes."""
    parts = [part for node in nodes for part in ast.walk(node)]
    return {str(getattr(part, "attr", getattr(part, "id", ""))) for part in parts}


def _catches(node: ast.AST) -> bool:
    """True for a statement that handles the errors of its body."""
    if isinstance(node, ast.With):
        calls = [getattr(item.context_expr, "func", node) for item in node.items]
        return any(last_name(call) in _CATCHING for call in calls)
    return isinstance(node, ast.Try) and bool(node.handlers)


def _shows(node: ast.expr, parent: ast.AST) -> bool:
    if isinstance(parent, ast.Call) and node in parent.args:
        return last_name(parent.func) in _SHOWING
    if isinstance(parent, ast.Attribute):
        return parent.attr in ("name", "value")
    return isinstance(parent, ast.FormattedValue) or (
        isinstance(parent, ast.BinOp) and isinstance(parent.op, ast.Mod)
    )


def _emitted(statement: ast.stmt) -> Iterator[str]:
    """Yield the names that a statement imports from the module of helpers."""
    if isinstance(statement, ast.ImportFrom) and statement.module == MODULE:
        yield from (name.asname or name.name for name in statement.names)
