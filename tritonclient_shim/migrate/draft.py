"""A file that is being rewritten: its analysis, its outcomes, and what it needs."""

from __future__ import annotations

import ast
import re
from typing import Any, Callable, Collection, Iterable, Mapping

from tritonclient_shim.migrate.edits import Edits
from tritonclient_shim.migrate.emitted import import_text, is_written
from tritonclient_shim.migrate.flows import SHOWING, Flows
from tritonclient_shim.migrate.format import quote_of, shifted
from tritonclient_shim.migrate.handlers import Handlers
from tritonclient_shim.migrate.options import MigrateOptions, Refused, SiteOutcome, State
from tritonclient_shim.migrate.program import (
    Beside,
    Keeps,
    may_ask_for_classes,
    own_methods_of,
    starts_processes,
)
from tritonclient_shim.migrate.unsafe import UnsafeChange
from tritonclient_shim.scan.evaluator import Evaluator
from tritonclient_shim.scan.imports import API
from tritonclient_shim.scan.scopes import last_name
from tritonclient_shim.scan.sites import Site, arguments, sites
from tritonclient_shim.scan.sources import ParsedSource
from tritonclient_shim.scan.values import Value, element

#: Modules that run functions in threads.
_THREADED = re.compile(
    r"^\s*(from|import)\s+(threading|_thread|concurrent|multiprocessing|asyncio|socketserver|http"
    r"|flask|tornado|bottle|fastapi|starlette|django|falcon|grpc|wsgiref|xmlrpc|joblib|queue"
    r"|celery|dash|gradio|streamlit|twisted|cherrypy|pyramid|sanic|aiohttp|uvicorn|gunicorn)\b",
    re.M,
)
#: The module of v1's configurations. A status of v1 has these.
CONFIGS = f"{API}.model_config_pb2"
#: The import that replaces an import of this module.
_CONFIGS_IMPORT = "from tritonclient.grpc import model_config_pb2"
ERROR = f"{API}.InferenceServerException"
_ERROR_NAME = "InferenceServerException"
_ERROR_IDS = frozenset(("server_id", "request_id"))
#: Functions that make text of their arguments.
_TEXT = frozenset(("str", "repr", "format"))
#: What names an option of a request, or a method that returns one.
_REQUEST_OPTIONS = re.compile(r"flags|corr_id|correlation|FLAG_|priority|timeout|get_last|get_stat")
#: Inputs, outputs and a batch size.
_PLAIN_ARGUMENTS = 3
_EFFECTS = (ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom)
#: Functions that return another value at each call.
_TAKING = frozenset(
    ("next", "pop", "popleft", "popitem", "read", "readline", "input", "get_nowait", "__next__")
)
#: Functions that make text or numbers of their arguments, or compare them; attributes of enums.
_SHOWING = SHOWING | frozenset(("str", "repr", "int", "format", "min", "max", "name", "value"))


class Draft:
    """A file, and the decisions of the rules so far."""

    def __init__(
        self, source: ParsedSource, text: str, options: MigrateOptions, beside: Beside
    ) -> None:
        self.source, self.options, self.beside = source, options, beside
        self.evaluator = Evaluator(source, beside.taken, beside.classes)
        self.sites: list[Site] = sites(self.evaluator)
        self.flows = Flows(source.tree, self.evaluator, beside.taken)
        handlers = Handlers(source.tree, self.flows)
        self.is_caught, self.is_tried = handlers.may_catch, handlers.may_notice
        self.edits = edits = Edits(text, self.flows.parents)
        self.text, self.new, self.change = edits.text, edits.new, edits.change
        self.text_before = text
        # facts
        self.has_classes = self.has("TS063") or beside.has_classes  # in outputs of requests
        #: the program may ask for classes, or name a format that is not known
        self.may_ask_for_classes = (
            self.has_classes or beside.may_ask_for_classes or may_ask_for_classes(text)
        )
        #: modules may run functions in threads, or other files of the program do
        self.has_threads = bool(_THREADED.search(text)) or beside.linked
        #: other processes may get objects, or inherit them
        self.has_processes = beside.has_processes or starts_processes(text)
        #: contexts are asked for their last request, or how long requests took
        self.asks = beside.asks or self.has("TS057", "TS059", "TS060", "TS061")
        #: of classes of the program that do not derive from v1's
        self.own_methods = beside.own_methods | own_methods_of(self.evaluator.scopes)
        #: the program reads server or request ids of errors, which only v1 has
        self.errors_stay = beside.errors_stay or self._asks_errors()
        #: contexts of other files may stay, and take the protocols of this file
        self.protocols_stay = Keeps.CONTEXTS in beside.kept or (
            beside.linked and not options.allows(UnsafeChange.PROTOCOL_NAME)
        )
        read = {node.id for node in self.flows.parents if isinstance(node, ast.Name)}
        #: also what a star import of the program binds
        self._names = self.evaluator.scopes.names | read | beside.names
        # decisions
        self.outcomes: dict[ast.AST | None, SiteOutcome] = {}  # by the node or call of a site
        self._imports: dict[str, str] = {}  # a name that the file needs → its import
        self.assignments: dict[str, str] = {}  # a name that the module binds → the statement
        self.helpers: set[str] = set()  # names of functions that the file needs
        self.calls_infer = False  # a request becomes a call of a helper, and so do all others
        #: formats outside of calls stay for requests that stay
        self.formats_stay = Keeps.REQUESTS in beside.kept or (
            beside.linked and not options.allows(UnsafeChange.FORMAT_NUMBER)
        )
        #: contexts for requests stay that other code makes or gets
        self.keeps_handed = True
        self.modules: set[str] = set()  # grpc, http: the clients in use
        self.connects = False  # a protocol is chosen at run time
        self.sends_headers = False  # a client gets headers of the file
        self.shares_clients = self.has_threads  # several threads may use one
        self.kept = {ERROR} if self.errors_stay else set()  # names and modules of v1 that stay

    def has(self, *ids: str) -> bool:
        """True if the file has a use with one of these ids."""
        return any(site.id in ids for site in self.sites)

    def _asks_errors(self) -> bool:
        """True if the file asks errors for their ids, unless it is alone and only prints these."""
        calls = [x for x in self.evaluator.scopes.calls if not x.args]
        calls = [x for x in calls if last_name(x.func) in _ERROR_IDS]
        if self.beside.linked or not self.options.allows(UnsafeChange.PRINTED_IDS):
            return bool(calls)
        replaced = {site.call for site in self.sites if site.id in ("TS016", "TS017")}
        return not all(call in replaced and self.is_printed(call) for call in calls)

    # --- outcomes

    def todo(self, node: ast.AST, what: str, comment: bool = True) -> None:
        """Record that a site is left to the author, unless it has an outcome already."""
        self.outcomes.setdefault(node, SiteOutcome(State.TODO, what, comment))

    def refuse(self, node: ast.AST, refused: Refused) -> None:
        """Record why a site is left, with a comment unless an option rewrites it."""
        self.todo(refused.node or node, str(refused), not refused.by_option)

    def outcome(self, site: Site) -> SiteOutcome | None:
        """Return the outcome of a site; None if no rule has decided."""
        return self.outcomes.get(site.node) or self.outcomes.get(site.call)

    # --- expressions

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
        parent = self.flows.parents[node]
        if isinstance(parent, ast.Call):
            is_argument = node is not parent.func
            if is_argument and last_name(parent.func) in SHOWING:
                return True
            return is_argument and last_name(parent.func) in _TEXT and self.is_printed(parent)
        if isinstance(parent, ast.BinOp):
            has_text = _is_text(parent.left) or _is_text(parent.right)
            return has_text and self.is_printed(parent)
        # a tuple follows %
        return isinstance(parent, ast.Tuple) and self.is_printed(parent)

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

    # --- changes

    def write(self, node: ast.AST, form: str, *parts: ast.AST | str) -> None:
        """Replace a node by a text.

        In the form, ``{0}`` stands for the first part, an expression with its changes. ``{name}``
        stands for a function of the helpers, and ``{old}`` for the node with its changes.
        """
        names = {*re.findall(r"{([A-Za-z]\w*)}", form)} - {"old"}
        self.helpers.update(names)

        def text(old: str) -> str:
            texts = []
            for number, part in enumerate(parts):
                place = re.escape(f"{{{number}}}")
                is_argument = re.search(rf"(\(|, |^){place}(\)|,|$)", form)
                new = self.new if is_argument else self.primary
                texts.append(part if isinstance(part, str) else new(part))
            if "{old}." in form and not self._is_primary(node):
                old = f"({old})"
            called = {name: self.called(name) for name in names}
            head = form.partition("{old}")[0].format(*texts, **called)
            old = shifted(old, self.edits.column(self.edits.span(node)[0]), len(head))
            return form.format(*texts, old=old, **called)

        self.change(node, text)

    def quoted(self, text: str) -> str:
        """Return a simple text as a literal with the quotes of the file."""
        quote = quote_of(self.text_before)
        return f"{quote}{text}{quote}"

    def flag(self, name: str) -> str:
        """Return the constant for the start or end of a sequence."""
        self.helpers.add(f"FLAG_SEQUENCE_{name}")
        return self.called(f"FLAG_SEQUENCE_{name}")

    def called(self, name: str) -> str:
        """Return the name of a helper or a new variable. Add ``_`` where the file has the name."""
        if is_written(name, self.facts, self.text_before):
            return name
        while name in self._names:
            name += "_"
        return name

    def imported(self, line: str) -> str:
        """Return the name that an import binds, and have the file import it.

        It is another name where the file has something else of this name.
        """
        statement: Any = ast.parse(line).body[0]
        alias = statement.names[0]
        name: str = alias.asname or alias.name
        if not self._has_import(name, line):
            while name in self._names:
                name += "_"
        if name != alias.name:
            line = import_text(statement, [ast.alias(alias.name, name)])
        self._imports[name] = line
        return name

    def imports_of(self, names: Collection[str]) -> set[str]:
        """Return the imports of these names that the file needs."""
        return {line for name, line in self._imports.items() if name in names}

    @property
    def facts(self) -> frozenset[str]:
        """Return what is certain of the file, by which the helpers are chosen."""
        facts = set()
        protocols = self.modules | self.beside.protocols
        if len(protocols) == 1:
            facts.add(f"over_{next(iter(protocols))}")
        if self.connects:
            facts.add("over_both")
        if not self.may_ask_for_classes:
            facts.add("without_classes")
        if not self.sends_headers:
            facts.add("without_headers")
        if not self.shares_clients:
            facts.add("without_threads")
        if self._has_plain_requests():
            facts.add("plain_requests")
        return frozenset(facts)

    def _has_plain_requests(self) -> bool:
        """True if no request has options but its batch size, and no context is asked for one."""
        if self.beside.linked or self.asks or _REQUEST_OPTIONS.search(self.text_before):
            return False
        for call in self.evaluator.scopes.calls:
            has_more = len(call.args) > _PLAIN_ARGUMENTS
            has_more |= any(isinstance(part, ast.Starred) for part in call.args)
            has_more |= any(keyword.arg is None for keyword in call.keywords)
            if has_more and last_name(call.func).startswith(("run", "async_run")):
                return False
        return True

    def _has_import(self, name: str, line: str) -> bool:
        """True if a name is only that of an import, or of the v1 name that it replaces."""
        if name == _ERROR_NAME and self.errors_stay:
            return False
        scopes = self.evaluator.scopes
        bindings = [x for scope in scopes.of_node.values() for x in scope.bindings.get(name, ())]
        if any(not self._is_import(binding.node, name, line) for binding in bindings):
            return False
        nodes = (x for x in self.flows.parents if isinstance(x, ast.Name) and x.id == name)
        return bool(bindings) or all(map(self.evaluator.is_provided, nodes))

    def _is_import(self, node: ast.AST, name: str, line: str) -> bool:
        """True for a name of an import, or of what it replaces: v1's exception or a module."""
        if not isinstance(node, ast.alias):
            return False
        symbol = self.evaluator.imports.symbols[node]
        if symbol == ERROR and name == _ERROR_NAME:
            return True
        if symbol == CONFIGS and line == _CONFIGS_IMPORT and CONFIGS not in self.kept:
            return True
        statement: Any = self.flows.parents[node]
        return import_text(statement, [node]) == line

    def primary(self, node: ast.AST) -> str:
        """Return the new text of an expression, in brackets if no attribute could follow."""
        return self.new(node) if self._is_primary(node) else f"({self.new(node)})"

    def _is_primary(self, node: ast.AST) -> bool:
        """True for an expression that an attribute or operator can follow."""
        is_text = isinstance(node, ast.Constant) and isinstance(node.value, str)
        return is_text or isinstance(node, (ast.Name, ast.Attribute, ast.Call, ast.Subscript))


def _is_text(node: ast.AST) -> bool:
    """True for a literal text, or a call that makes text."""
    if isinstance(node, ast.Call):
        return last_name(node.func) in _TEXT
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def call_arguments(names: tuple[str, ...], call: ast.Call) -> Mapping[str, ast.expr]:
    """Return the expression for each parameter; raise Refused if ``*`` or ``**`` hide any."""
    given = {keyword.arg for keyword in call.keywords}
    if None in given or any(isinstance(argument, ast.Starred) for argument in call.args):
        raise Refused("name the arguments: some are in a list or dict made elsewhere")
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
