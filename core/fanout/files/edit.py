"""The operations that change files: `write` and `edit` under a root.

One at a time within the process: an edit is a read and a write, and of two
agents editing one file both changes must be in it.
"""

import threading
from typing import Any

from fanout.files.read import text_argument
from fanout.files.safefile import MAX_FILE_BYTES, as_text, read_whole, replace
from fanout.files.safepath import Refused, Root
from fanout.words.tools import ToolResult

_one_writer = threading.Lock()


def write(root: Root, arguments: dict[str, Any]) -> ToolResult:
    """Write a whole file and make its folders."""
    names = root.file_names(text_argument(arguments, "file_path"))
    data = _encoded(text_argument(arguments, "content"))
    with _one_writer, root.opened(names[:-1], make=True) as folder:
        digest = replace(names[-1], folder, data)
    return ToolResult(
        content=f"wrote {len(data):,} bytes to {'/'.join(names)}",
        files_written={root.absolute(names): digest},
    )


def edit(root: Root, arguments: dict[str, Any]) -> ToolResult:
    """Replace a text that occurs in a file."""
    names = root.file_names(text_argument(arguments, "file_path"))
    old = text_argument(arguments, "old_string")
    new = text_argument(arguments, "new_string")
    if not old:
        raise Refused("`old_string` must not be empty; `write` creates files")
    with _one_writer, root.opened(names[:-1]) as folder:
        before = read_whole(names[-1], folder)
        text = as_text(before.data, names[-1])
        if _has_returns(text):
            # `read` shows lines without their ends; keep the file's own.
            old, new = _with_returns(old), _with_returns(new)
        count = text.count(old)
        _check(count, every=bool(arguments.get("replace_all")))
        digest = replace(names[-1], folder, _encoded(text.replace(old, new)))
    path = root.absolute(names)
    return ToolResult(
        content=f"edited {'/'.join(names)} ({count} replaced)",
        files_read={path: before.sha256},
        files_written={path: digest},
    )


def _has_returns(text: str) -> bool:
    return 0 < text.count("\n") == text.count("\r\n")


def _with_returns(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\n", "\r\n")


def _check(count: int, *, every: bool) -> None:
    if count == 0:
        raise Refused("`old_string` does not occur in the file")
    if count > 1 and not every:
        raise Refused(
            f"`old_string` occurs {count} times; make it longer, "
            "or set `replace_all` to true"
        )


def _encoded(text: str) -> bytes:
    try:
        data = text.encode()
    except UnicodeEncodeError:
        raise Refused("the text is not valid Unicode") from None
    if len(data) > MAX_FILE_BYTES:
        raise Refused(f"{len(data):,} bytes are more than {MAX_FILE_BYTES:,}")
    return data
