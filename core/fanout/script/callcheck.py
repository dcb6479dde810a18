"""Calls of fanout's functions that cannot work, found in a script without running it.

Only what is sure counts: the name is one that the script imports from `fanout` and
binds nowhere else, and the call spreads nothing (`*`, `**`) where that would matter.
"""

import ast
import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from inspect import Parameter
from typing import Any

import fanout
from fanout.public import HOMES
from fanout.words.near import meant

PACKAGE = "fanout"
GIVEN = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)


@dataclass(frozen=True, slots=True)
class Mistake:
    """A call that would raise."""

    line: int
    text: str
    hint: str


def mistakes(tree: ast.Module) -> list[Mistake]:
    """Return what would raise in calls of fanout's functions, by line."""
    names = _Names(tree)
    found = [
        mistake
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        for mistake in _of_call(node, names)
    ]
    return sorted(found, key=lambda one: one.line)


class _Names:
    """Which names surely mean the package, and which its functions."""

    def __init__(self, tree: ast.Module) -> None:
        self._imported: dict[str, str] = {}
        """Local name to the function's; empty for the package itself."""
        self._bound: set[str] = set()
        for node in ast.walk(tree):
            match node:
                case ast.Import():
                    self._import(node)
                case ast.ImportFrom():
                    self._import_from(node)
                case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
                    self._bound.add(name)
                case ast.arg(arg=name):
                    self._bound.add(name)
                case ast.alias():
                    pass
                case _:
                    self._bind_text(node)

    def called(self, node: ast.expr) -> str:
        """Return the public name that an expression surely is; else nothing."""
        match node:
            case ast.Name(id=name) if name not in self._bound:
                return self._imported.get(name, "")
            case ast.Attribute(value=ast.Name(id=name), attr=attribute):
                if name not in self._bound and self._imported.get(name) == "":
                    return attribute
        return ""

    def _import(self, node: ast.Import) -> None:
        for one in node.names:
            first = one.name.partition(".")[0]
            if one.name == PACKAGE:
                self._take(one.asname or PACKAGE, "")
            elif one.asname or first != PACKAGE:
                self._bound.add(one.asname or first)

    def _import_from(self, node: ast.ImportFrom) -> None:
        for one in node.names:
            if node.module == PACKAGE and not node.level:
                self._take(one.asname or one.name, one.name)
            else:
                self._bound.add(one.asname or one.name)

    def _take(self, local: str, name: str) -> None:
        if self._imported.setdefault(local, name) != name:
            self._bound.add(local)

    def _bind_text(self, node: ast.AST) -> None:
        """Functions, classes, handlers and patterns bind by a plain text."""
        for name in (getattr(node, "name", None), getattr(node, "rest", None)):
            if isinstance(name, str):
                self._bound.add(name)


def _of_call(node: ast.Call, names: _Names) -> Iterator[Mistake]:
    name = names.called(node.func)
    if name and name not in HOMES:
        if not hasattr(fanout, name):
            hint = meant(name, HOMES) or "help(fanout) lists what there is"
            yield Mistake(node.lineno, f"fanout has no `{name}`", hint)
        return
    if not name or not name.islower() or not callable(known := getattr(fanout, name)):
        return
    for text, hint in _unfit(node, inspect.signature(known).parameters):
        yield Mistake(node.lineno, f"{name}() {text}", hint)


def _unfit(node: ast.Call, takes: Any) -> Iterator[tuple[str, str]]:
    """Say what of a call does not go with the parameters."""
    keywords = [one.arg for one in node.keywords if one.arg is not None]
    spread = len(keywords) < len(node.keywords)
    starred = any(isinstance(one, ast.Starred) for one in node.args)
    kinds = {parameter.kind for parameter in takes.values()}
    known = [name for name, one in takes.items() if one.kind is not one.VAR_POSITIONAL]
    for word in keywords:
        if word not in takes and Parameter.VAR_KEYWORD not in kinds:
            hint = meant(word, known) or f"it takes {', '.join(known)}"
            yield f"takes no `{word}`", hint
    by_place = [name for name, one in takes.items() if one.kind in GIVEN]
    if starred:
        return
    count = len(node.args)
    if count > len(by_place) and Parameter.VAR_POSITIONAL not in kinds:
        rest = [name for name in known if name not in by_place]
        text = f"takes {len(by_place)} without a name, and has {count}"
        yield text, f"write the name, for instance {(rest or ['…'])[0]}=…"
    elif not spread:
        yield from _lacking(takes, {*keywords, *by_place[:count]})


def _lacking(takes: Any, there: set[str]) -> Iterator[tuple[str, str]]:
    for name, one in takes.items():
        has_to = one.default is one.empty and one.kind is not one.VAR_POSITIONAL
        if has_to and name not in there:
            example = "key=part.key" if name == "key" else f"{name}=…"
            yield f"needs `{name}`", f"add {example}"
