"""The few characters that are drawn, in two alphabets.

None of them is an emoji or ambiguous in most terminals; `ASCII` is for those
where even these are drawn two cells wide or not at all.
"""

from dataclasses import dataclass, replace

from fanout.words.model import MissingKind, Row, Status

ERRORS = frozenset(
    {
        MissingKind.REJECTED,
        MissingKind.REFUSED,
        MissingKind.TRUNCATED,
        MissingKind.INVALID,
        MissingKind.TIMEOUT,
        MissingKind.ACCOUNT,
    }
)
"""Kinds of missing that are an error; the others are an absence."""


@dataclass(frozen=True, slots=True)
class Glyphs:
    """One alphabet."""

    ascii: bool = False
    running: str = "●"
    throttled: str = "◐"
    queued: str = "○"
    missing: str = "✗"
    absent: str = "?"
    done: str = "✓"
    full: str = "█"
    flying: str = "▒"
    rest: str = "░"
    spent: str = "━"
    held: str = "╍"
    free: str = "─"
    forecast: str = "┿"
    tight: str = "◀"
    arrow: str = "→"
    alert: str = "▲"
    down: str = "▾"
    up: str = "▴"
    cursor: str = "▌"
    mark: str = "*"
    more: str = "…"
    dash: str = "—"
    rule: str = "─"
    wall: str = "│"
    go: str = "▶"
    pause: str = "‖"
    stop: str = "■"
    idle: str = "·"
    spark: str = "▁▂▃▄▅▆▇█"

    def of(self, row: Row) -> str:
        """The symbol of a row."""
        if row.status is Status.MISSING:
            kind = row.end.kind if row.end else None
            return self.missing if kind in ERRORS else self.absent
        return self.status(row.status)

    def status(self, status: Status) -> str:
        """The symbol of a status."""
        return str(getattr(self, status.value))


UNICODE = Glyphs()
ASCII = replace(
    UNICODE,
    ascii=True,
    running=">",
    throttled="~",
    queued=".",
    missing="x",
    done="+",
    full="#",
    flying=">",
    rest=".",
    spent="#",
    held="=",
    free=".",
    forecast="|",
    tight="<",
    arrow="->",
    alert="!",
    down="v",
    up="^",
    cursor=">",
    more="~",
    dash="-",
    rule="-",
    wall="|",
    go=">",
    pause="=",
    stop="#",
    idle="-",
    spark="_.-=+*%#",
)
