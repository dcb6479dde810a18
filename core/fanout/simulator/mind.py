"""What the model has seen so far: prompt, tools, its own calls and their results."""

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from fanout.simulator import audit, directives, results, sources
from fanout.simulator.call import Call, result_text
from fanout.simulator.knowledge import Knowledge
from fanout.simulator.sources import Line, Span
from fanout.simulator.toolbox import WHOLE_FILE, Tool, offered

_NAMED_FILE = re.compile(
    r"(?<![\w/.-])((?:[\w-]+/)*[\w-]+\.(?:py|pyi|md|txt|rst|toml|cfg|ini|json|ya?ml|"
    r"js|ts|tsx|jsx|go|rs|java|c|h|cpp|rb|sh|sql|csv|html|css))\b"
)
_HIT = re.compile(r"^([^:\n]+):(\d+):(.*)$", re.MULTILINE)
_ABOUT_FILES = re.compile(
    r"\b(?:files?|modules?|folder|director(?:y|ies)|repo\w*|source|code)\b",
    re.IGNORECASE,
)
_LISTED_MAX = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """One tool call the model made, and what came back."""

    name: str
    arguments: dict[str, Any]
    result: str
    failed: bool


class Mind:
    """A conversation, understood."""

    def __init__(self, call: Call) -> None:
        self._call = call
        choice = call.body.get("tool_choice") or {}
        self.choice = str(choice.get("type", "auto"))
        self.forced = str(choice.get("name", "")) if self.choice == "tool" else ""
        self.parallel = not choice.get("disable_parallel_tool_use", False)
        self.tools = [] if self.choice == "none" else offered(call.body)

    def tool(self, role: str) -> Tool | None:
        """The first offered tool of a role."""
        return next((tool for tool in self.tools if tool.role == role), None)

    @cached_property
    def request(self) -> str:
        """What was asked, without files and directives."""
        said = "\n\n".join([self._call.system, *self._call.user_texts])
        return directives.strip(sources.without_inlined(said)).strip()

    @cached_property
    def uses(self) -> list[Use]:
        """Every call so far, in order."""
        brought: dict[str, tuple[str, bool]] = {}
        for _, blocks in self._call.messages:
            for block in blocks:
                if block.get("type") == "tool_result":
                    told = result_text(block), bool(block.get("is_error"))
                    brought[str(block.get("tool_use_id"))] = told
        made: list[Use] = []
        for block in self._said("tool_use"):
            text, failed = brought.get(str(block.get("id")), ("", True))
            arguments = block.get("input")
            made.append(
                Use(
                    name=str(block.get("name")),
                    arguments=arguments if isinstance(arguments, dict) else {},
                    result=text,
                    failed=failed,
                )
            )
        return made

    def _said(self, kind: str) -> list[dict[str, Any]]:
        return [
            block
            for role, blocks in self._call.messages
            if role == "assistant"
            for block in blocks
            if block.get("type") == kind
        ]

    @cached_property
    def tool_turns(self) -> int:
        """Answers so far that called tools."""
        return sum(
            role == "assistant" and any(one.get("type") == "tool_use" for one in blocks)
            for role, blocks in self._call.messages
        )

    @cached_property
    def final_answers(self) -> int:
        """Answers so far that called none."""
        said = sum(role == "assistant" for role, _ in self._call.messages)
        return said - self.tool_turns

    @cached_property
    def earlier(self) -> results.Earlier | None:
        """Results of earlier agents in the prompt."""
        return None if self._inlined else results.earlier(self.request)

    @cached_property
    def _inlined(self) -> dict[str, tuple[Line, ...]]:
        return sources.inlined("\n".join(self._call.user_texts))

    @cached_property
    def wanted(self) -> tuple[Span, ...]:
        """What is to be read: the manifest, else files named or listed."""
        if self.earlier is not None:
            return ()
        named = sources.manifest("\n".join(self._call.user_texts))
        if named:
            return named
        if self._inlined:
            return ()
        paths = dict.fromkeys(_NAMED_FILE.findall(self.request))
        if not paths and self.asks_about_files:
            paths = dict.fromkeys(self._listed())
        return tuple(
            Span(path=path, first=1, last=WHOLE_FILE)
            for path in list(paths)[:_LISTED_MAX]
        )

    @property
    def asks_about_files(self) -> bool:
        """Whether a look at the files would help."""
        return _ABOUT_FILES.search(self.request) is not None

    def _listed(self) -> list[str]:
        lister = self.tool("list")
        return [
            name
            for use in self.uses
            if lister is not None and use.name == lister.name and not use.failed
            for name in _NAMED_FILE.findall(use.result)
        ]

    def reads_of(self, path: str) -> list[Use]:
        """The read calls made for a file."""
        reader = self.tool("read")
        if reader is None or reader.path_argument is None:
            return []
        return [
            use
            for use in self.uses
            if use.name == reader.name
            and use.arguments.get(reader.path_argument) == path
        ]

    @cached_property
    def sources(self) -> dict[str, tuple[Line, ...]]:
        """All lines seen, by file and in order; only those a manifest names."""
        seen = {
            path: {line.number: line for line in lines}
            for path, lines in self._inlined.items()
        }
        for path in dict.fromkeys(span.path for span in self.wanted):
            for line in self._read_lines(path):
                seen.setdefault(path, {})[line.number] = line
        for path, line in self._hits():
            seen.setdefault(path, {})[line.number] = line
        return {
            path: tuple(held[at] for at in sorted(held)) for path, held in seen.items()
        }

    def _read_lines(self, path: str) -> list[Line]:
        reader = self.tool("read")
        spans = [span for span in self.wanted if span.path == path]
        lines: list[Line] = []
        for use in self.reads_of(path):
            if reader is None or use.failed:
                continue
            start = reader.first_line(use.arguments)
            lines.extend(sources.reading(use.result, start).lines)
        return [line for line in lines if any(_holds(span, line) for span in spans)]

    def _hits(self) -> list[tuple[str, Line]]:
        searcher = self.tool("search")
        return [
            (match[1], Line(int(match[2]), match[3]))
            for use in self.uses
            if searcher is not None and use.name == searcher.name and not use.failed
            for match in _HIT.finditer(use.result)
        ]

    @cached_property
    def unread(self) -> tuple[str, ...]:
        """Files that were asked for in vain."""
        paths = dict.fromkeys(span.path for span in self.wanted)
        return tuple(
            path for path in paths if self.reads_of(path) and path not in self.sources
        )

    @cached_property
    def topics(self) -> frozenset[str]:
        """What the prompt asks about."""
        return audit.topics(self.request)

    @cached_property
    def knowledge(self) -> Knowledge:
        """What an answer can be made of."""
        found: tuple[audit.Finding, ...] = ()
        if self.earlier is not None:
            found = self.earlier.findings
        elif self.sources:
            found = audit.audit(self.sources, self.topics)
        return Knowledge(
            request=self.request,
            sources=self.sources,
            findings=found,
            unread=self.unread,
            earlier=self.earlier,
        )


def _holds(span: Span, line: Line) -> bool:
    ends = line.number if span.last == WHOLE_FILE else span.last
    return span.first <= line.number <= ends
