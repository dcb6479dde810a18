"""What a walk over a project leaves out: dependencies, caches, what git ignores.

`.gitignore` files are honoured as git does it: each rules over its own folder,
the deepest with a verdict wins, and those above the root count up to the folder
that holds `.git`. Their syntax is `pathspec`'s business: it has more corners
than anyone remembers.
"""

from pathlib import Path
from typing import TYPE_CHECKING

from fanout.files.safefile import read_whole
from fanout.files.safepath import Refused, Root

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

SKIPPED_FOLDERS = frozenset(
    {"node_modules", "__pycache__", "bower_components", "site-packages"}
)
_MAX_IGNORE_BYTES = 1024 * 1024


def skipped_folder(path: str, asked_for: frozenset[str]) -> str | None:
    """Why a folder is not entered by default; None if it is or was asked for."""
    name = path.rsplit("/", 1)[-1]
    if name in asked_for:
        return None
    if name.startswith("."):
        return "a hidden folder; name it in the pattern to have it"
    if name in SKIPPED_FOLDERS:
        return "dependencies or a cache; name it in the pattern to have it"
    return None


class Ignores:
    """The `.gitignore` files that rule over a root, each read once."""

    def __init__(self, root: Root) -> None:
        self._root = root
        self._specs: dict[str, GitIgnoreSpec | None] = {}
        above = _above(Path(root.path))
        # Who names a folder that git ignores as the root wants its files.
        own = any(_ignores_folder(prefix, spec) for prefix, spec in above)
        self._above = [] if own else above

    def reason(self, path: str, *, folder: bool) -> str | None:
        """Why git would ignore this path; its parents are not asked again."""
        ending = "/" if folder else ""
        names = path.split("/")
        for depth in range(len(names) - 1, -1, -1):
            holder = "/".join(names[:depth])
            below = "/".join(names[depth:]) + ending
            verdict = self._verdict(self._spec(holder), below)
            if verdict is not None:
                return f"ignored by `{holder or '.'}/.gitignore`" if verdict else None
        for prefix, spec in self._above:
            verdict = self._verdict(spec, prefix + path + ending)
            if verdict is not None:
                return "ignored by a `.gitignore` above" if verdict else None
        return None

    @staticmethod
    def _verdict(spec: "GitIgnoreSpec | None", path: str) -> bool | None:
        return None if spec is None else spec.check_file(path).include

    def _spec(self, holder: str) -> "GitIgnoreSpec | None":
        if holder not in self._specs:
            self._specs[holder] = self._load(holder)
        return self._specs[holder]

    def _load(self, holder: str) -> "GitIgnoreSpec | None":
        names = tuple(holder.split("/")) if holder else ()
        try:
            with self._root.opened(names) as opened:
                found = read_whole(".gitignore", opened, limit=_MAX_IGNORE_BYTES)
        except Refused:
            return None
        return _parsed(found.data.decode(errors="replace"))


def _above(root: Path) -> "list[tuple[str, GitIgnoreSpec]]":
    """Specs of the folders above, nearest first, with the way down from each."""
    specs: list[tuple[str, GitIgnoreSpec]] = []
    if (root / ".git").exists():
        return specs
    for folder in root.parents:
        prefix = root.relative_to(folder).as_posix() + "/"
        try:
            text = (folder / ".gitignore").read_text(errors="replace")
        except OSError:
            text = ""
        if text:
            specs.append((prefix, _parsed(text)))
        if (folder / ".git").exists():
            return specs
    return []


def _ignores_folder(path: str, spec: "GitIgnoreSpec") -> bool:
    """Whether the folder or one it lies in is ignored."""
    names = path.rstrip("/").split("/")
    ways = ("/".join(names[: depth + 1]) + "/" for depth in range(len(names)))
    return any(spec.check_file(way).include for way in ways)


def _parsed(text: str) -> "GitIgnoreSpec":
    """Parse what can be parsed; git, too, goes on after a bad line."""
    # Many a run never looks at a `.gitignore`, and waits for this otherwise.
    from pathspec import GitIgnoreSpec  # noqa: PLC0415

    try:
        return GitIgnoreSpec.from_lines(text.splitlines())
    except ValueError:
        good = [line for line in text.splitlines() if _is_good(line, GitIgnoreSpec)]
        return GitIgnoreSpec.from_lines(good)


def _is_good(line: str, kind: "type[GitIgnoreSpec]") -> bool:
    try:
        kind.from_lines([line])
    except ValueError:
        return False
    return True
