r"""Files into partitions whose boundaries stay where they are.

Filling partitions one after the other would move every later boundary when one
early file grows, and all that work would be redone. So boundaries hang on
names, not on what was packed before:

    a folder that fits            is one partition
    a folder that does not fit    its entries are halved by the next bit of the
                                  hash of their paths, until each half fits
    a half with one entry         the entry's own contents are halved in turn
    a file that does not fit      its slices are one partition each, cut at places
                                  that hang on what stands there (`cutting`)

A half exists only because what holds it is too large. So when a file that fits
is added or grows, the one partition that holds it stays or falls into several;
when it shrinks or goes, several become one at most; every other partition keeps
its key and its content. The price is room: partitions are about half full, as
the leaves of any tree that splits in two.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from fanout.decide.parts import tokens

_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")
_MAX_KEY = 100
_HASH_BITS = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A file, or a run of lines of one, by name and digest; not its content."""

    path: str
    """Relative to the partition's root, with `/`."""
    start_line: int
    """From 1."""
    end_line: int
    """The last line that belongs to it."""
    whole: bool
    """Whether it is all of the file."""
    bytes: int
    tokens: int
    """Estimated; see `fanout.decide.parts.tokens`."""
    digest: str
    """SHA-256 hex digest of the piece's bytes."""
    offset: int = 0
    """Bytes of the file before it."""
    name: str = ""
    """What it begins with, in a few words; of a part of a file."""
    records: bool = False
    """Whether it holds records, whose lines say nothing: an answer about code names
    lines and is another one when they move, an answer about records is not."""

    def place(self) -> str:
        """Return where it stands, as far as an answer may depend on it."""
        lines = "" if self.records else f"\0{self.start_line}\0{self.end_line}"
        return f"{self.path}{lines}\0{self.digest}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Partition:
    """Files that one agent gets; content is read when it is needed."""

    key: str
    """Derived from paths; unique among its siblings, safe as a file name."""
    root: str
    """Absolute path of the folder that the pieces' paths start from."""
    pieces: tuple[Piece, ...]
    """Sorted by path and line; empty when `text` holds the content."""
    tokens: int
    """Estimated, of the content alone."""
    digest: str
    """Of all pieces: places and content; the root's place is not in it."""
    items: tuple[Any, ...] = ()
    """Of a ready-made list: the items themselves, as they were given."""
    text: str = ""
    """Of a ready-made list: the items as a prompt shows them."""


@dataclass(frozen=True, slots=True)
class _Leaf:
    label: str
    pieces: tuple[Piece, ...]


@dataclass(frozen=True, slots=True)
class _Node:
    """Entries of one folder whose paths' hashes start with `bits`."""

    folder: str
    bits: str
    files: tuple[tuple[Piece, ...], ...]
    """Each file as its pieces."""


def pack(pieces: Iterable[Piece], *, root: str, max_tokens: int) -> list[Partition]:
    """Return partitions of at most `max_tokens` that hold every piece once.

    Pieces of one file are each a partition; so is a piece that is too large.
    """
    files: dict[str, list[Piece]] = {}
    for piece in pieces:
        files.setdefault(piece.path, []).append(piece)
    if not files:
        return []
    whole = _Node("", "", tuple(tuple(held) for held in files.values()))
    leaves = sorted(
        _leaves(whole, max_tokens),
        key=lambda leaf: [(piece.path, piece.start_line) for piece in leaf.pieces],
    )
    return [
        of_pieces(key, root, leaf.pieces)
        for key, leaf in zip(
            keys_of([leaf.label for leaf in leaves]), leaves, strict=True
        )
    ]


def _leaves(whole: _Node, max_tokens: int) -> Iterator[_Leaf]:
    waiting = [whole]
    while waiting:
        node = waiting.pop()
        if _tokens(node) <= max_tokens:
            yield _Leaf(_label(node), _sorted(node))
        elif len(node.files) == 1:
            yield from _slices(node.files[0])
        elif len(entries := _entries(node)) == 1:
            waiting.append(_Node(entries.pop(), "", node.files))
        else:
            waiting += _halves(node)


def _tokens(node: _Node) -> int:
    return sum(piece.tokens for file in node.files for piece in file)


def _sorted(node: _Node) -> tuple[Piece, ...]:
    every = [piece for file in node.files for piece in file]
    return tuple(sorted(every, key=lambda piece: (piece.path, piece.start_line)))


def _slices(file: Sequence[Piece]) -> Iterator[_Leaf]:
    if len(file) == 1:
        yield _Leaf(file[0].path, (file[0],))
        return
    labels = numbered(f"{piece.path}-{piece.name or 'part'}" for piece in file)
    for label, piece in zip(labels, file, strict=True):
        yield _Leaf(label, (piece,))


def numbered(labels: Iterable[str]) -> Iterator[str]:
    """Yield the labels, and a number with each that was there before."""
    times: Counter[str] = Counter()
    for label in labels:
        times[label] += 1
        yield label if times[label] == 1 else f"{label}-{times[label]}"


def _entry(path: str, folder: str) -> str:
    """Return the file or the folder directly in `folder` that holds `path`."""
    start = len(folder) + 1 if folder else 0
    end = path.find("/", start)
    return path if end < 0 else path[:end]


def _entries(node: _Node) -> set[str]:
    return {_entry(file[0].path, node.folder) for file in node.files}


def _halves(node: _Node) -> list[_Node]:
    """Split by the next bit of the entries' hashes; an empty half is left out."""
    at = len(node.bits)
    assert at < _HASH_BITS, "two paths with one hash"
    sides: dict[str, list[tuple[Piece, ...]]] = {"0": [], "1": []}
    for file in node.files:
        sides[_bit(_entry(file[0].path, node.folder), at)].append(file)
    return [
        _Node(node.folder, node.bits + bit, tuple(files))
        for bit, files in sides.items()
        if files
    ]


def _bit(entry: str, at: int) -> str:
    hashed = hashlib.sha256(entry.encode(errors="surrogateescape")).digest()
    return str(hashed[at // 8] >> (7 - at % 8) & 1)


def _label(node: _Node) -> str:
    """Name a leaf: its one entry, else its folder and the bits."""
    entries = _entries(node)
    if len(entries) == 1:
        return entries.pop()
    return "/".join(part for part in (node.folder or "all", node.bits) if part)


def keys_of(labels: Sequence[str]) -> list[str]:
    """Turn labels into unique names; those that would clash get a hash each."""
    plain = [_UNSAFE.sub("-", label.replace("/", "-")) for label in labels]
    plain = [name.strip("-.") for name in plain]
    # Folded: some disks hold `A` and `a` to be one name.
    times = Counter(name.casefold() for name in plain)
    return [
        name
        if name and times[name.casefold()] == 1 and len(name) <= _MAX_KEY
        else f"{name[:_MAX_KEY]}-{_short_hash(label)}".lstrip("-")
        for name, label in zip(plain, labels, strict=True)
    ]


def _short_hash(label: str) -> str:
    return hashlib.sha256(label.encode(errors="surrogateescape")).hexdigest()[:8]


def of_pieces(key: str, root: str, pieces: tuple[Piece, ...]) -> Partition:
    """Return the partition of these pieces, with its sum and its digest."""
    lines = [f"estimate {tokens.VERSION}"]
    lines += [piece.place() for piece in pieces]
    digest = hashlib.sha256("\n".join(lines).encode(errors="surrogateescape"))
    return Partition(
        key=key,
        root=root,
        pieces=pieces,
        tokens=sum(piece.tokens for piece in pieces),
        digest=digest.hexdigest(),
    )
