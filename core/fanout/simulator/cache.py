"""Prompt caching: who pays for a shared prefix, and from when on it is free.

A request is a chain of blocks (tools, then system, then messages); the hash of a
block covers all before it, so one hash names a prefix. Prefixes are written at
breakpoints only, are looked for up to 20 blocks back from one, and become
readable when the *writer's answer begins*: requests sent before that all pay.
A lifetime runs from the start of the request that wrote or last read.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

LOOKBACK_BLOCKS = 20
LIFETIMES = {"5m": 300.0, "1h": 3600.0}
"""Seconds by `ttl`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """One block of a request, in prompt order."""

    content: str
    """What makes it equal to another."""
    tokens: int
    ttl: str | None = None
    """`5m` or `1h` where a breakpoint is set."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    """The input tokens of a request by what they cost."""

    uncached: int
    read: int
    written: dict[str, int]
    """Tokens written by `ttl`."""
    writes: tuple[tuple[str, float], ...]
    """Prefix and lifetime of what becomes readable when the answer begins."""
    reads: tuple[str, ...]
    """Prefixes whose lifetime starts anew."""

    @property
    def created(self) -> int:
        """Tokens written, of both lifetimes."""
        return sum(self.written.values())

    @property
    def charged(self) -> int:
        """What the input limit counts: all but the reads."""
        return self.uncached + self.created


@dataclass(slots=True)
class _Entry:
    expires_at: float
    lifetime: float


class PromptCache:
    """The prefixes that are readable now."""

    def __init__(self) -> None:
        self._entries: dict[str, _Entry] = {}

    def split(
        self, scope: str, blocks: Sequence[Block], minimum: int, now: float
    ) -> Split:
        """What a request starting at `now` reads, writes and pays in full."""
        prefixes, totals = _chain(scope, blocks)
        points = [
            at
            for at, block in enumerate(blocks)
            if block.ttl is not None and totals[at] >= minimum
        ]
        total = totals[-1] if totals else 0
        if not points:
            return Split(uncached=total, read=0, written={}, writes=(), reads=())
        hit = self._longest_hit(prefixes, points, now)
        read = 0 if hit is None else totals[hit]
        written: dict[str, int] = {}
        writes: list[tuple[str, float]] = []
        done = read
        for point in points:
            ttl = blocks[point].ttl or "5m"
            if totals[point] > done:
                written[ttl] = written.get(ttl, 0) + totals[point] - done
                writes.append((prefixes[point], LIFETIMES[ttl]))
                done = totals[point]
        return Split(
            uncached=total - done,
            read=read,
            written=written,
            writes=tuple(writes),
            reads=() if hit is None else (prefixes[hit],),
        )

    def _longest_hit(
        self, prefixes: Sequence[str], points: Sequence[int], now: float
    ) -> int | None:
        best: int | None = None
        for point in reversed(points):
            for at in range(point, max(-1, point - LOOKBACK_BLOCKS), -1):
                if best is not None and at <= best:
                    break
                entry = self._entries.get(prefixes[at])
                if entry is not None and entry.expires_at > now:
                    best = at
                    break
        return best

    def touch(self, split: Split, started_at: float) -> None:
        """Let the lifetime of what a request reads start anew at its start."""
        for prefix in split.reads:
            entry = self._entries.get(prefix)
            if entry is not None:
                entry.expires_at = started_at + entry.lifetime

    def publish(self, split: Split, started_at: float) -> None:
        """Make what a request writes readable: its answer has begun."""
        for prefix, lifetime in split.writes:
            self._entries[prefix] = _Entry(started_at + lifetime, lifetime)


def _chain(scope: str, blocks: Sequence[Block]) -> tuple[list[str], list[int]]:
    digest = hashlib.blake2b(scope.encode(), digest_size=16)
    prefixes: list[str] = []
    totals: list[int] = []
    total = 0
    for block in blocks:
        digest.update(block.content.encode("utf-8", "surrogatepass"))
        digest.update(b"\x1e")
        total += block.tokens
        prefixes.append(digest.hexdigest())
        totals.append(total)
    return prefixes, totals
