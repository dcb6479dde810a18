"""The tools a request offers: what each is for, and arguments that fit it.

What a tool does is told by its name and its arguments: `read` with a path reads,
`list` and `glob` list, `grep` and `search` search, `write` writes.
"""

import re
from dataclasses import dataclass
from typing import Any

from fanout.simulator import meaning
from fanout.simulator.filling import Filler
from fanout.simulator.knowledge import Knowledge
from fanout.simulator.tokens import characters

_ROLES = (
    ("write", {"write", "save"}),
    ("read", {"read", "view", "cat", "open"}),
    ("search", {"grep", "search"}),
    ("list", {"list", "glob", "ls", "tree", "find"}),
)
_PATH = {"path", "file", "filename", "filepath"}
_FREE = {"content", "text", "body", "data", "note", "notes", "query", "message"}
_SIZED = {"tokens", "size", "length", "amount"}
WHOLE_FILE = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """One offered tool."""

    name: str
    description: str
    schema: dict[str, Any]

    @property
    def properties(self) -> dict[str, Any]:
        """The arguments' schemas by name."""
        found = self.schema.get("properties")
        return found if isinstance(found, dict) else {}

    @property
    def role(self) -> str:
        """read, list, search, write, or nothing of these."""
        spoken = meaning.words(self.name)
        for role, names in _ROLES:
            if spoken & names and (role != "read" or self.path_argument):
                return role
        return ""

    @property
    def path_argument(self) -> str | None:
        """The argument that names a file."""
        names = (name for name in self.properties if meaning.words(name) & _PATH)
        return next(names, None)

    def argument(self, *names: str) -> str | None:
        """The first of these arguments that the tool has."""
        return next((name for name in names if name in self.properties), None)

    def reading(self, path: str, first: int, last: int) -> dict[str, Any]:
        """Arguments to read lines `first` to `last`; `WHOLE_FILE` is to the end."""
        assert self.path_argument is not None
        wanted: dict[str, Any] = {self.path_argument: path}
        whole = first <= 1 and last == WHOLE_FILE
        if whole:
            return wanted
        span = self.argument("view_range", "line_range", "range", "lines")
        if span is not None:
            return wanted | {span: [first, last]}
        start = self.argument("start_line", "first_line", "line_start", "start")
        end = self.argument("end_line", "last_line", "line_end", "end")
        if start is not None:
            tail = {end: last} if end is not None and last != WHOLE_FILE else {}
            return wanted | {start: first} | tail
        offset, limit = self.argument("offset"), self.argument("limit")
        if offset is not None:
            count = last - first + 1
            tail = {limit: count} if limit is not None and count > 0 else {}
            return wanted | {offset: first} | tail
        return wanted

    def first_line(self, arguments: dict[str, Any]) -> int:
        """The line a read call with these arguments began at."""
        for name in (
            "view_range", "line_range", "range", "lines", "start_line", "first_line",
            "line_start", "start", "offset",
        ):  # fmt: skip
            value = arguments.get(name)
            if isinstance(value, list) and value:
                value = value[0]
            if isinstance(value, int) and not isinstance(value, bool):
                return max(1, value)
        return 1

    def listing(self, folder: str) -> dict[str, Any]:
        """Arguments to list what is below a folder; `.` is the root."""
        if (pattern := self.argument("pattern", "glob")) is not None:
            return {pattern: "**/*" if folder == "." else f"{folder}/**/*"}
        place = self.path_argument or self.argument("directory", "folder", "dir")
        return {} if place is None else {place: folder}

    def any_arguments(self, known: Knowledge, size: int) -> dict[str, Any]:
        """Arguments that fit the schema; free text is padded to `size` tokens."""
        filled = Filler(self.schema).fill(known) if self.properties else {}
        if not isinstance(filled, dict):
            return {}
        required = set(self.schema.get("required") or [])
        kept = {
            name: value
            for name, value in filled.items()
            if name in required or name in self._sized_names()
        }
        return self._padded(kept, filled, size) if size > 0 else kept

    def _sized_names(self) -> set[str]:
        return {name for name in self.properties if meaning.words(name) & _SIZED}

    def _padded(
        self, kept: dict[str, Any], filled: dict[str, Any], size: int
    ) -> dict[str, Any]:
        for name in self._sized_names():
            if isinstance(filled[name], int):
                kept[name] = size
        free = [
            name
            for name, value in filled.items()
            if isinstance(value, str) and meaning.words(name) & _FREE
        ]
        for name in free[:1]:
            kept[name] = padded(str(filled[name]), size)
        return kept


def offered(body: dict[str, Any]) -> list[Tool]:
    """The tools of a request that a client runs itself."""
    return [
        Tool(
            name=str(tool.get("name")),
            description=str(tool.get("description", "")),
            schema=tool.get("input_schema") or {},
        )
        for tool in body.get("tools") or []
    ]


def padded(text: str, size: int) -> str:
    """The text, at least `size` tokens long, with lines that say what they are."""
    lines: list[str] = []
    missing = characters(size) - len(text.encode("utf-8", "surrogatepass"))
    count = 0
    while missing > 0:
        count += 1
        line = f"\n(padding of the simulated answer, line {count})"
        lines.append(line[:missing] if missing < len(line) else line)
        missing -= len(line)
    return text + "".join(lines)


def mentions(tool: Tool, request: str) -> bool:
    """Whether a prompt tells to use a writing tool."""
    if re.search(rf"\b{re.escape(tool.name)}\b", request) and "_" in tool.name:
        return True
    quoted = rf"`{re.escape(tool.name)}`|\b{re.escape(tool.name)}\s+tool\b"
    target = r"\b(?:write|save)\b[^.\n]{0,60}\b(?:to|into|in)\s+[`\"']?[\w./-]+\.\w+"
    return re.search(f"{quoted}|{target}", request, re.IGNORECASE) is not None


def target_path(request: str) -> str:
    """The file a prompt wants written; `report.md` if it names none."""
    named = re.search(
        r"\b(?:write|save)\b[^.\n]{0,60}?\b(?:to|into|in)\s+[`\"']?([\w./-]+\.\w+)",
        request,
        re.IGNORECASE,
    )
    return named[1] if named else "report.md"
