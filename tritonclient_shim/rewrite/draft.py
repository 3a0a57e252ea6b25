"""A file that is being rewritten: its analysis, its outcomes, and what it needs."""

from __future__ import annotations

import ast
from functools import cached_property
from typing import Iterator, Sequence

from tritonclient_shim.migrate.evaluator import Evaluator
from tritonclient_shim.migrate.scopes import Kind
from tritonclient_shim.migrate.sites import Site, evaluated, sites
from tritonclient_shim.migrate.sources import ParsedSource
from tritonclient_shim.rewrite.edits import Change, Edits
from tritonclient_shim.rewrite.emitted import MODULE
from tritonclient_shim.rewrite.flows import Flows
from tritonclient_shim.rewrite.neighbours import Neighbours
from tritonclient_shim.rewrite.options import MigrateOptions, SiteOutcome, State

#: Modules that run functions in threads.
_THREADED = frozenset(
    ("threading", "concurrent", "multiprocessing", "asyncio", "socketserver", "http", "flask")
    + ("tornado", "bottle", "fastapi", "django", "falcon", "grpc")
)


class Draft:
    """A file, and the decisions of the rules so far."""

    def __init__(
        self,
        source: ParsedSource,
        cells: Sequence[str],
        options: MigrateOptions,
        beside: Neighbours,
    ) -> None:
        self.source, self.options = source, options
        self.beside = beside
        self.evaluator: Evaluator = evaluated(source)
        self.sites: list[Site] = sites(source, self.evaluator)
        self.flows = Flows(source.tree, self.evaluator)
        self.edits = Edits(cells, self.flows.parents)
        self.outcomes: dict[ast.AST, SiteOutcome] = {}  # by the node or call of a site
        self.imports: set[str] = set()  # lines that the file needs
        self.helpers: set[str] = set()  # names of functions that the file needs
        self.every_object = False  # all contexts become objects, and so the class of subclasses
        self.object_class = ""  # of contexts whose uses do not see their models
        self.modules: set[str] = set()  # grpc, http: the clients in use
        self.memory = True  # shared memory is rewritten
        self.keeps_shared_forms = False  # of outputs outside calls, for contexts that stay
        self.protocol_class = False  # the file gets the helper ProtocolType
        self._defined = {name for statement in source.tree.body for name in _emitted(statement)}
        scopes = self.evaluator.scopes.of_node.values()
        self._names = {name for scope in scopes for name in scope.bindings} - self._defined

    @cached_property
    def errors_stay(self) -> bool:
        """True if the file still reads server or request ids of errors. Only v1 had them."""
        readers = [site for site in self.sites if site.id in ("TS016", "TS017")]
        return any(site.call is None or not self.options.unsafe for site in readers)

    @cached_property
    def has_threads(self) -> bool:
        """True if the file imports a module that runs its functions in threads."""
        names = (alias.name for node in ast.walk(self.source.tree) for alias in _aliases(node))
        return not _THREADED.isdisjoint(name.partition(".")[0] for name in names)

    @cached_property
    def keeps_forms(self) -> bool:
        """True if outputs keep v1's forms: a use of CLASS is in no pair with its number."""
        uses = (site.node for site in self.sites if site.id == "TS063")
        pairs = ((node, self.flows.parents[node]) for node in uses)
        return self.options.unsafe and any(
            not (isinstance(pair, ast.Tuple) and pair.elts[0] is node) for node, pair in pairs
        )

    # --- outcomes

    def note(self, node: ast.AST, state: State, what: str) -> None:
        """Record the outcome of a site."""
        self.outcomes[node] = SiteOutcome(state, what)

    @staticmethod
    def state(unsafe: str) -> State:
        """Return UNSAFE if there is a reason, else SAFE."""
        return State.UNSAFE if unsafe else State.SAFE

    def todo(self, node: ast.AST, what: str, comment: bool = True) -> None:
        """Record that a site is left to the author, unless it has an outcome already."""
        self.outcomes.setdefault(node, SiteOutcome(State.TODO, what, comment))

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
            if len(bindings) != 1 or bindings[0].definition.kind is not Kind.VALUE:
                return ...
            value = bindings[0].definition.node
            if not isinstance(value, ast.expr) or bindings[0].definition.steps:
                return ...
            node = value
        try:
            literal: object = ast.literal_eval(node)
        except (ValueError, TypeError, SyntaxError):
            return ...
        return literal

    def tried(self, node: ast.AST) -> ast.Try | None:
        """Return the ``try`` with handlers around a node, within its function."""
        while node in self.flows.parents:
            parent = self.flows.parents[node]
            if isinstance(parent, ast.Try) and node in parent.body and parent.handlers:
                return parent
            if isinstance(parent, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
                return None
            node = parent
        return None

    def is_tried(self, node: ast.AST) -> bool:
        """True if the file may catch an error of a node: in a ``try``, or around its function."""
        if self.tried(node):
            return True
        frame = self.evaluator.scopes.places[node].scope.frame
        return not isinstance(frame.node, ast.Module) and any(
            isinstance(node, ast.Try) and node.handlers for node in ast.walk(self.source.tree)
        )

    def reads(self, name: ast.Name) -> list[ast.AST]:
        """Return the parent of each node that reads a variable of this name."""
        nodes = (node for node in ast.walk(self.source.tree) if isinstance(node, ast.Name))
        return [
            self.flows.parents[node]
            for node in nodes
            if node.id == name.id and isinstance(node.ctx, ast.Load)
        ]

    def around_result(self, node: ast.expr) -> list[ast.AST]:
        """Return the parent of an expression, or of each read of the variable with its value."""
        parent = self.flows.parents[node]
        if isinstance(parent, ast.Assign) and isinstance(parent.targets[0], ast.Name):
            return self.reads(parent.targets[0])
        return [parent]

    # --- changes

    def replace(self, node: ast.AST, text: str) -> None:
        """Replace an expression by a text."""
        self.edits.change(node, lambda old: text)

    def change(self, node: ast.AST, change: Change) -> None:
        """Replace a node by what a function returns for its text."""
        self.edits.change(node, change)

    def new(self, node: ast.AST) -> str:
        """Return the text of an expression with its changes. Only a change can call this."""
        return self.edits.new(node)

    def called(self, helper: str) -> str:
        """Return the name of a helper in the file. Add ``_`` if the file uses the name."""
        return f"{helper}_" if helper in self._names else helper

    def free(self, name: str) -> None:
        """Record that the file no longer binds a name, so that a helper can have it."""
        self._names.discard(name)

    def primary(self, node: ast.AST) -> str:
        """Return the new text of an expression, in brackets if no attribute could follow."""
        is_primary = isinstance(node, (ast.Name, ast.Attribute, ast.Call, ast.Subscript))
        is_primary |= isinstance(node, ast.Constant) and isinstance(node.value, str)
        return self.new(node) if is_primary else f"({self.new(node)})"

    def need(self, *helpers: str) -> None:
        """Add helpers to those that the file imports."""
        self.helpers.update(helpers)


def _emitted(statement: ast.stmt) -> Iterator[str]:
    """Yield the names that a statement imports from the module of helpers."""
    if isinstance(statement, ast.ImportFrom) and statement.module == MODULE:
        yield from (name.asname or name.name for name in statement.names)


def _aliases(node: ast.AST) -> Iterator[ast.alias]:
    if isinstance(node, ast.Import):
        yield from node.names
    elif isinstance(node, ast.ImportFrom) and not node.level:
        yield ast.alias(node.module or "", None)
