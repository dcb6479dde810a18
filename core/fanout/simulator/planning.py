"""Which tools to call next: list, then read what is asked for, then write.

Calls are decided from the conversation alone, so the same conversation always
goes on in the same way. An empty plan means it is time to answer.
"""

import json
import os.path
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from fanout.simulator import sources, toolbox
from fanout.simulator.directives import Directive
from fanout.simulator.mind import Mind
from fanout.simulator.toolbox import WHOLE_FILE, Tool

PARALLEL_MAX = 4
FILE_TOOLS = frozenset({"read", "glob", "grep", "write", "edit", "write_output"})
"""Called as the prompt asks for it, and not just to have been called."""
TURNS_MAX = 60
"""After so many turns the model answers with what it has."""

_SEARCHES = {
    "files": r"open\(|remove\(|unlink\(|rmtree\(|chmod\(|mktemp\(|extractall\(",
    "running": r"eval\(|exec\(|shell=True|subprocess\.|os\.system",
    "errors": r"except",
    "data": r"pickle\.|yaml\.load",
    "marks": "T[O]DO|F[I]XME",
}


Output = Callable[[], str]
"""Makes what a writing tool would get; not called unless it is needed."""


@dataclass(frozen=True, slots=True)
class Wish:
    """A tool call to make."""

    tool: Tool
    arguments: dict[str, Any]


def plan(
    mind: Mind, directive: Directive, output: Output, *, tries: bool = False
) -> list[Wish]:
    """The calls of the next turn; with `tries`, of strangers' tools as well."""
    if not mind.tools or mind.tool_turns >= TURNS_MAX:
        return []
    if mind.forced or mind.choice == "any":
        return _forced(mind, directive, output)
    if mind.tool_turns < directive.turns:
        return _ordered(mind, directive)
    if directive.turns:
        return _write(mind, output)
    natural = _list(mind) or _read(mind) or _search(mind) or _write(mind, output)
    return natural or (_tried(mind) if tries else [])


def _tried(mind: Mind) -> list[Wish]:
    """Each tool that is nobody's idea of a file tool, once in a conversation."""
    used = {use.name for use in mind.uses}
    fresh = [tool for tool in mind.tools if tool.name not in used | FILE_TOOLS]
    return [
        Wish(tool, tool.any_arguments(mind.knowledge, 0))
        for tool in fresh[: PARALLEL_MAX if mind.parallel else 1]
    ]


def _forced(mind: Mind, directive: Directive, output: Output) -> list[Wish]:
    named = [tool for tool in mind.tools if tool.name == mind.forced]
    natural = [] if named else _list(mind) or _read(mind) or _write(mind, output)
    if natural:
        return natural
    tool = (named or mind.tools)[0]
    if tool.role == "write":
        return [_writing(mind, tool, output)]
    return [Wish(tool, tool.any_arguments(mind.knowledge, directive.tool_tokens))]


def _ordered(mind: Mind, directive: Directive) -> list[Wish]:
    count = min(directive.parallel, PARALLEL_MAX) if mind.parallel else 1
    return [_some_call(mind, directive, at) for at in range(max(1, count))]


def _some_call(mind: Mind, directive: Directive, at: int) -> Wish:
    harmless = [tool for tool in mind.tools if tool.role != "write"] or mind.tools
    turn = mind.tool_turns + at
    reader = mind.tool("read")
    if reader is not None and mind.wanted:
        span = mind.wanted[turn % len(mind.wanted)]
        return Wish(reader, reader.reading(span.path, span.first, span.last))
    lister = mind.tool("list")
    if lister is not None:
        return Wish(lister, lister.listing("."))
    tool = harmless[turn % len(harmless)]
    return Wish(tool, tool.any_arguments(mind.knowledge, directive.tool_tokens))


def _list(mind: Mind) -> list[Wish]:
    lister, reader = mind.tool("list"), mind.tool("read")
    if lister is None or reader is None or mind.earlier is not None:
        return []
    if any(use.name == lister.name for use in mind.uses):
        return []
    if not mind.wanted and (mind.sources or not mind.asks_about_files):
        return []
    return [Wish(lister, lister.listing(_common_folder(mind)))]


def _common_folder(mind: Mind) -> str:
    folders = [os.path.dirname(span.path) for span in mind.wanted]  # noqa: PTH120
    if not folders or not all(folders):
        return "."
    return os.path.commonpath(folders) or "."


def _read(mind: Mind) -> list[Wish]:
    reader = mind.tool("read")
    if reader is None:
        return []
    wishes: list[Wish] = []
    for span in mind.wanted:
        first = _next_line(mind, reader, span)
        if first is not None:
            wishes.append(Wish(reader, reader.reading(span.path, first, span.last)))
    fresh = [wish for at, wish in enumerate(wishes) if wish not in wishes[:at]]
    return fresh[: PARALLEL_MAX if mind.parallel else 1]


def _next_line(mind: Mind, reader: Tool, span: sources.Span) -> int | None:
    """Where reading a span has to begin or to go on; None if it is read."""
    begun = {reader.first_line(use.arguments): use for use in mind.reads_of(span.path)}
    if not _can_choose_lines(reader):
        return None if begun else span.first
    at = span.first
    while at in begun:
        told = sources.reading(begun[at].result, at).go_on_at
        if told is None or (told <= at and not begun[at].failed):
            return None
        if span.last != WHOLE_FILE and told > span.last:
            return None
        if told == at:
            return None
        at = told
    return at


def _can_choose_lines(reader: Tool) -> bool:
    return len(reader.reading("", 2, 3)) > 1


def _search(mind: Mind) -> list[Wish]:
    searcher = mind.tool("search")
    if searcher is None or mind.tool("read") or mind.sources or mind.earlier:
        return []
    if any(use.name == searcher.name for use in mind.uses):
        return []
    pattern = searcher.argument("pattern", "query", "regex", "text")
    if pattern is None or not mind.asks_about_files:
        return []
    wanted = "|".join(_SEARCHES[topic] for topic in sorted(mind.topics))
    return [Wish(searcher, {pattern: wanted})]


def _write(mind: Mind, output: Output) -> list[Wish]:
    for tool in mind.tools:
        if tool.role != "write" or not toolbox.mentions(tool, mind.request):
            continue
        if not any(use.name == tool.name and not use.failed for use in mind.uses):
            tried = sum(use.name == tool.name for use in mind.uses)
            return [_writing(mind, tool, output)] if tried < PARALLEL_MAX else []
    return []


def _writing(mind: Mind, tool: Tool, output: Output) -> Wish:
    arguments = tool.any_arguments(mind.knowledge, 0)
    content = tool.argument("content", "text", "body", "data", "output")
    if content is not None:
        is_text = tool.properties[content].get("type", "string") == "string"
        arguments[content] = output() if is_text else _parsed(output())
    if tool.path_argument is not None:
        arguments[tool.path_argument] = toolbox.target_path(mind.request)
    return Wish(tool, arguments)


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text
