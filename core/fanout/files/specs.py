"""What a model is told about the file tools: names, words and schemas.

Names and arguments are those of the SDK's agent tools. `VERSION` counts into
fingerprints: a change in what a tool answers needs a new one, so that old
answers are not taken for answers of the new tool.
"""

from typing import Any

VERSION = "1"

_TEXT: dict[str, Any] = {"type": "string"}
_MAYBE_TEXT: dict[str, Any] = {
    "anyOf": [{"type": "string"}, {"type": "null"}],
    "default": None,
}


def _schema(required: list[str], **properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": required}


DESCRIPTIONS: dict[str, str] = {
    "read": (
        "Read a text file. Lines are numbered. At most 2,000 lines or 256 kB come "
        "at once; the last line then says how to go on. `view_range` is "
        "[first line, last line], from 1; -1 as the last line means to the end."
    ),
    "glob": (
        "List the files that a pattern names, sorted by path. `*` and `?` match "
        "within a name, `**` any number of folders, `{a,b}` alternatives. The "
        "pattern is relative to `path` if given. Hidden and dependency folders "
        "are listed only if the pattern or the path names them."
    ),
    "grep": (
        "Search files for a regular expression (Python syntax), line by line, and "
        "return `path:line:text`. `path` is the file or folder to search; all if "
        "it is not given. A search ends after 200 matches or 5 seconds."
    ),
    "write": (
        "Write a text file, whole, and create its folders as needed. An existing "
        "file is replaced."
    ),
    "edit": (
        "Replace text in a file. `old_string` must match exactly, without line "
        "numbers, and occur once unless `replace_all` is true."
    ),
    "write_output": (
        "Write the whole result of your task. Call it once, when it is complete; "
        "a second call replaces the first."
    ),
}

SCHEMAS: dict[str, dict[str, Any]] = {
    "read": _schema(
        ["file_path"],
        file_path=_TEXT,
        view_range={
            "anyOf": [
                {"type": "array", "items": {"type": "integer"}},
                {"type": "null"},
            ],
            "default": None,
        },
    ),
    "glob": _schema(["pattern"], pattern=_TEXT, path=_MAYBE_TEXT),
    "grep": _schema(["pattern"], pattern=_TEXT, path=_MAYBE_TEXT),
    "write": _schema(["file_path", "content"], file_path=_TEXT, content=_TEXT),
    "edit": _schema(
        ["file_path", "old_string", "new_string"],
        file_path=_TEXT,
        old_string=_TEXT,
        new_string=_TEXT,
        replace_all={
            "anyOf": [{"type": "boolean"}, {"type": "null"}],
            "default": None,
        },
    ),
    "write_output": _schema(["content"], content=_TEXT),
}
