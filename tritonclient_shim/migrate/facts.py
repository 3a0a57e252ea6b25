"""What is known of a file before anything is planned. Nothing changes it afterwards."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Callable, Iterable, Mapping

from tritonclient_shim.migrate.beside import Beside
from tritonclient_shim.migrate.decisions import Keep, Refused
from tritonclient_shim.migrate.file_names import own_methods_of
from tritonclient_shim.migrate.flows import SHOWING, Flows
from tritonclient_shim.migrate.format import quote_of
from tritonclient_shim.migrate.handlers import Handlers
from tritonclient_shim.migrate.keeps import Keeps
from tritonclient_shim.migrate.layout import Layout
from tritonclient_shim.migrate.options import MigrateOptions
from tritonclient_shim.migrate.program_file import may_ask_for_classes, starts_processes
from tritonclient_shim.migrate.threads import may_have_threads
from tritonclient_shim.migrate.unsafe import UnsafeChange
from tritonclient_shim.scan.evaluator import Evaluator
from tritonclient_shim.scan.imports import API
from tritonclient_shim.scan.scopes import last_name
from tritonclient_shim.scan.sites import Site, arguments, sites
from tritonclient_shim.scan.sources import ParsedSource
from tritonclient_shim.scan.values import Value, element

#: The module of v1's configurations. A status of v1 has these.
CONFIGS = f"{API}.model_config_pb2"
ERROR = f"{API}.InferenceServerException"
_ERROR_IDS = frozenset(("server_id", "request_id"))
HIDDEN_ARGUMENTS = "name the arguments: some are in a list or dict made elsewhere"
#: Functions that make text of their arguments.
_TEXT = frozenset(("str", "repr", "format"))
_EFFECTS = (ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom)
#: Functions that return another value at each call.
_TAKING = frozenset(
    ("next", "pop", "popleft", "popitem", "read", "readline", "input", "get_nowait", "__next__")
)
#: Functions that make text or numbers of their arguments, or compare them; attributes of enums.
_SHOWING = SHOWING | frozenset(("str", "repr", "int", "format", "min", "max", "name", "value"))


@dataclass(frozen=True)
class FileFacts:
    """A file, what runs beside it, and what the command was given.

    ``has_classes``: outputs of requests have classes. ``may_ask_for_classes``: the program may ask
    for classes, or name a format that is not known. ``has_threads``: modules may run functions in
    threads, or other files of the program do. ``has_processes``: other processes may get objects,
    or inherit them. ``asks``: contexts are asked for their last request, or how long requests took.
    ``errors_stay``: the program reads server or request ids of errors, which only v1 has.
    ``names``: those that the file has, and those that star imports put into one module with them.
    ``own_methods``: those of the program's classes that do not derive from v1's.
    """

    source: ParsedSource
    full_text: str
    options: MigrateOptions
    beside: Beside
    evaluator: Evaluator
    sites: tuple[Site, ...]
    flows: Flows
    handlers: Handlers
    layout: Layout
    has_classes: bool
    may_ask_for_classes: bool
    has_threads: bool
    has_processes: bool
    asks: bool
    errors_stay: bool
    names: frozenset[str]
    own_methods: frozenset[str]

    @property
    def protocols_stay(self) -> bool:
        """True if contexts of other files may stay, and take the protocols of this file."""
        is_allowed = self.options.allows(UnsafeChange.PROTOCOL_NAME)
        return Keeps.CONTEXTS in self.beside.kept or (self.beside.linked and not is_allowed)

    @property
    def formats_stay(self) -> bool:
        """True if formats outside of calls may be for requests of other files that stay."""
        is_allowed = self.options.allows(UnsafeChange.FORMAT_NUMBER)
        return Keeps.REQUESTS in self.beside.kept or (self.beside.linked and not is_allowed)

    @property
    def catches_errors(self) -> bool:
        """True if the program may catch v1's exception."""
        return self.has("TS015") or self.beside.names_errors

    def has(self, *ids: str) -> bool:
        """True if the file has a use with one of these ids."""
        return _has(self.sites, *ids)

    # --- expressions

    def text(self, node: ast.AST) -> str:
        """Return the source of a node."""
        return self.layout.text(node)

    def constant(self, node: ast.AST | None) -> object:
        """Return the literal that an expression or its only assignment is; else Ellipsis."""
        if node is None:
            return None
        if isinstance(node, ast.Name):
            bindings = self.evaluator.scopes.bindings(node)
            if len(bindings) != 1 or bindings[0].steps:
                return ...
            node = bindings[0].node
        try:
            return ast.literal_eval(node)
        except (ValueError, TypeError, SyntaxError):
            return ...

    def asks_for(self, *fields: str) -> bool:
        """True if the file calls ``HasField`` for one of these fields, or for one it computes."""
        calls = (x for x in self.evaluator.scopes.calls if last_name(x.func) == "HasField")
        return any(self.constant(x.args[0]) in (*fields, ...) for x in calls if x.args)

    def shows(self, test: Callable[[Value], bool]) -> bool:
        """True if the file makes text of a value, calculates with it, or reads its name."""
        for node, parent in self.flows.parents.items():
            is_shown = last_name(getattr(parent, "func", parent)) in _SHOWING
            if is_shown or isinstance(parent, (ast.FormattedValue, ast.BinOp)):
                values = self.evaluator.of(node)
                if any(map(test, values | element(values))):
                    return True
        return False

    def parents_of(self, test: Callable[[Value], bool]) -> list[ast.AST]:
        """Return the parents of all expressions that can have a value."""
        pairs = self.flows.parents.items()
        return [parent for node, parent in pairs if any(map(test, self.evaluator.of(node)))]

    def is_dropped(self, node: ast.AST) -> bool:
        """True if nothing reads the value of an expression. A notebook shows the last of a cell."""
        parent = self.flows.parents[node]
        return isinstance(parent, ast.Expr) and parent not in self.source.shown()

    def is_printed(self, node: ast.AST) -> bool:
        """True if an expression, or its text, is only an argument of ``print`` or of a logger."""
        return _is_printed(node, self.flows)

    def is_caught(self, node: ast.AST) -> bool:
        """True if a statement or decorator may handle an error of a node."""
        return self.handlers.may_catch(node)

    def is_tried(self, node: ast.AST) -> bool:
        """True if a statement may handle an error of a node, or goes on after it."""
        return self.handlers.may_notice(node)

    def around_result(self, node: ast.AST) -> list[ast.AST]:
        """Return the parent of an expression, or of each read of the variable with its value."""
        return [self.flows.parents[read] for read in self.results(node)]

    def results(self, node: ast.AST) -> list[ast.AST]:
        """Return an expression, or each read of the variable with its value."""
        parents = self.flows.parents
        target = getattr(parents[node], "targets", [None])[0]
        if not isinstance(target, ast.Name):
            return [node]
        names = [x for x in parents if isinstance(x, ast.Name) and x.id == target.id]
        loads = [name for name in names if isinstance(name.ctx, ast.Load)]
        bindings = {load: self.evaluator.scopes.bindings(load) for load in loads}
        return [load for load in loads if node in [x.node for x in bindings[load]]]

    # --- new names and texts

    def reference(self, cause: Keep) -> str:
        """Return the reason of uses that stay with another one: its place, and its own reason."""
        place = self.source.place(getattr(cause.node, "lineno", 1))
        return f"stays because of {place}: {cause.reason}"

    def quoted(self, text: str) -> str:
        """Return a simple text as a literal with the quotes of the file."""
        quote = quote_of(self.full_text)
        return f"{quote}{text}{quote}"

    def free_name(self, name: str) -> str:
        """Return the name of a new variable. Add ``_`` where the file has the name."""
        while name in self.names:
            name += "_"
        return name


def facts_of(source: ParsedSource, text: str, options: MigrateOptions, beside: Beside) -> FileFacts:
    """Return what is known of a file. ``text``: the source that is rewritten."""
    evaluator = Evaluator(source, beside.taken, beside.classes)
    own_sites = tuple(sites(evaluator))
    flows = Flows(source.tree, evaluator, beside.taken)
    has_classes = _has(own_sites, "TS063") or beside.has_classes
    read = {node.id for node in flows.parents if isinstance(node, ast.Name)}
    asks_ids = _asks_errors(own_sites, evaluator, flows, beside, options)
    return FileFacts(
        source=source,
        full_text=text,
        options=options,
        beside=beside,
        evaluator=evaluator,
        sites=own_sites,
        flows=flows,
        handlers=Handlers(source.tree, flows),
        layout=Layout(text, flows.parents),
        has_classes=has_classes,
        may_ask_for_classes=has_classes or beside.may_ask_for_classes or may_ask_for_classes(text),
        has_threads=beside.linked or may_have_threads(source.tree) or _hands_on_run(own_sites),
        has_processes=beside.has_processes or starts_processes(text),
        asks=beside.asks or _has(own_sites, "TS057", "TS059", "TS060", "TS061"),
        errors_stay=beside.errors_stay or asks_ids,
        names=frozenset(_names_of(evaluator, own_sites) | read | beside.star_bindings.keys()),
        own_methods=frozenset(beside.own_methods | own_methods_of(evaluator.scopes)),
    )


def _names_of(evaluator: Evaluator, own_sites: Iterable[Site]) -> set[str]:
    """Return the names that new text may hide or find bound: those of all scopes.

    The names of a class are left out if no new text comes into its body: functions do not see them.
    """
    scopes = evaluator.scopes
    places = {scopes.places[node].scope for site in own_sites for node in (site.node, site.whole)}
    has_new_text = any(isinstance(scope.node, ast.ClassDef) for scope in places)
    seen = (
        scope
        for scope in scopes.of_node.values()
        if has_new_text or not isinstance(scope.node, ast.ClassDef)
    )
    return {name for scope in seen for name in scope.bindings}


def _has(own_sites: Iterable[Site], *ids: str) -> bool:
    """True if one of the uses has one of these ids."""
    return any(site.id in ids for site in own_sites)


def _hands_on_run(own_sites: Iterable[Site]) -> bool:
    """True if other code gets the method ``run`` of a context, and may call it in a thread."""
    return any(site.id == "TS051" and site.call is None for site in own_sites)


def _asks_errors(
    own_sites: Iterable[Site],
    evaluator: Evaluator,
    flows: Flows,
    beside: Beside,
    options: MigrateOptions,
) -> bool:
    """True if the file asks errors for their ids, unless it is alone and only prints these."""
    calls = [x for x in evaluator.scopes.calls if not x.args]
    calls = [x for x in calls if last_name(x.func) in _ERROR_IDS]
    if beside.linked or not options.allows(UnsafeChange.PRINTED_IDS):
        return bool(calls)
    replaced = {site.call for site in own_sites if site.id in ("TS016", "TS017")}
    return not all(call in replaced and _is_printed(call, flows) for call in calls)


def _is_printed(node: ast.AST, flows: Flows) -> bool:
    """True if an expression, or its text, is only an argument of ``print`` or of a logger."""
    parent = flows.parents[node]
    if isinstance(parent, ast.Call):
        is_argument = node is not parent.func
        if is_argument and last_name(parent.func) in SHOWING:
            return True
        return is_argument and last_name(parent.func) in _TEXT and _is_printed(parent, flows)
    if isinstance(parent, ast.BinOp):
        has_text = _is_text(parent.left) or _is_text(parent.right)
        return has_text and _is_printed(parent, flows)
    # a tuple follows %
    return isinstance(parent, ast.Tuple) and _is_printed(parent, flows)


def _is_text(node: ast.AST) -> bool:
    """True for a literal text, or a call that makes text."""
    if isinstance(node, ast.Call):
        return last_name(node.func) in _TEXT
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def hides_arguments(call: ast.Call) -> bool:
    """True if ``*`` or ``**`` hides arguments of a call."""
    has_star = any(isinstance(argument, ast.Starred) for argument in call.args)
    return has_star or any(keyword.arg is None for keyword in call.keywords)


def call_arguments(names: tuple[str, ...], call: ast.Call) -> Mapping[str, ast.expr]:
    """Return the expression for each parameter; raise Refused if ``*`` or ``**`` hide any."""
    if hides_arguments(call):
        raise Refused(HIDDEN_ARGUMENTS)
    given = {keyword.arg for keyword in call.keywords}
    if given - set(names) or len(call.args) > len(names):
        raise Refused(f"expected the arguments {', '.join(names)}")
    return arguments(names, call)


def refuse_effects(nodes: Iterable[ast.expr | None]) -> None:
    """Raise Refused if an argument has effects: it may move, or be dropped."""
    for node in nodes:
        parts = list(ast.walk(node)) if node is not None else []
        calls = [part.func for part in parts if isinstance(part, ast.Call)]
        has_effects = any(isinstance(part, _EFFECTS) for part in parts)
        if has_effects or not _TAKING.isdisjoint(map(last_name, calls)):
            raise Refused("give the argument to a variable first: it changes something")


def owner(call: ast.Call) -> ast.expr:
    """Return the object whose method a call calls."""
    assert isinstance(call.func, ast.Attribute)
    return call.func.value
