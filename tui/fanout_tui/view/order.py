"""Which rows are listed, and in which order.

The order by attention puts first what a person may have to act on. Re-ordering
ten thousand rows costs milliseconds, so it is done once a second from scratch;
what needs care is that the list holds still under the cursor.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from fanout.words.model import Row, RowId, Status
from fanout_tui.keytable import STATUSES

ATTENTION = (
    Status.THROTTLED,
    Status.RUNNING,
    Status.MISSING,
    Status.QUEUED,
    Status.DONE,
)
AFTERWARDS = (
    Status.MISSING,
    Status.THROTTLED,
    Status.RUNNING,
    Status.QUEUED,
    Status.DONE,
)
"""Once a run is over, what is missing comes first."""

BY_KEY = tuple(Status(word) for word in STATUSES)
"""The statuses behind the keys 1 to 5."""


Reason = Callable[[Row], str]
"""What a row is said to wait for, or what became of it."""


class Sort(StrEnum):
    """What the table is sorted by."""

    ATTENTION = "attention"
    PARTITION = "partition"
    TRIES = "tries"
    TOKENS_IN = "tokens in"
    TOKENS_OUT = "tokens out"
    TIME = "time"
    AGE = "age"

    @property
    def after(self) -> "Sort":
        """The next one, around."""
        every = list(Sort)
        return every[(every.index(self) + 1) % len(every)]


@dataclass(frozen=True, slots=True)
class Listing:
    """What the user asked to see."""

    sort: Sort = Sort.ATTENTION
    reverse: bool = False
    filter: str = ""
    statuses: frozenset[Status] = frozenset()
    """Empty: all."""

    def toggled(self, status: Status) -> frozenset[Status]:
        """The statuses shown after a press of one status's key."""
        if status in self.statuses:
            return self.statuses - {status}
        grown = self.statuses | {status}
        return frozenset() if len(grown) == len(Status) else grown

    @property
    def narrowed(self) -> bool:
        """Not all rows are listed."""
        return bool(self.filter or self.statuses)

    @property
    def undone_by(self) -> str:
        """The keys that list all rows again."""
        return "esc" if self.filter else "esc or 0"


def listed(
    rows: Mapping[RowId, Row],
    listing: Listing,
    now: float,
    *,
    over: bool,
    line: Iterable[RowId] = (),
    reason: Reason | None = None,
) -> list[RowId]:
    """The rows that fit, in order; `line` is the order of admission.

    `reason` is what a row is said to wait for, where that is more than it knows.
    """
    chosen: Iterable[Row] = rows.values()
    if listing.statuses:
        chosen = [row for row in chosen if row.status in listing.statuses]
    if listing.filter:
        fits = matcher(listing.filter, reason)
        chosen = [row for row in chosen if fits(row)]
    if listing.sort is Sort.ATTENTION:
        ordered = _by_attention(chosen, AFTERWARDS if over else ATTENTION, line)
    else:
        ordered = _sorted(chosen, listing.sort, now)
    ids = [row.id for row in ordered]
    if listing.reverse:
        ids.reverse()
    return ids


def _by_attention(
    rows: Iterable[Row], order: Sequence[Status], line: Iterable[RowId]
) -> list[Row]:
    shelves: dict[Status, list[Row]] = {status: [] for status in order}
    for row in rows:
        shelves[row.status].append(row)
    places = {row: place for place, row in enumerate(line)}
    last = len(places)
    shelves[Status.QUEUED].sort(key=lambda row: places.get(row.id, last))
    # In line they go before the others, and the first of them is the next to go.
    shelves[Status.THROTTLED].sort(
        key=lambda row: (places.get(row.id, last), _until(row))
    )
    shelves[Status.RUNNING].sort(key=lambda row: row.started_at or row.since)
    return [row for shelf in shelves.values() for row in shelf]


def _until(row: Row) -> float:
    return row.wait.until if row.wait and row.wait.until is not None else row.since


def _sorted(rows: Iterable[Row], sort: Sort, now: float) -> list[Row]:
    """By a column, the largest figure first; equal ones as they were expected."""
    if sort is Sort.PARTITION:
        return sorted(rows, key=lambda row: row.id)
    figures: dict[Sort, Callable[[Row], float]] = {
        Sort.TRIES: tries,
        Sort.TOKENS_IN: lambda row: row.tally.useful.charged_input,
        Sort.TOKENS_OUT: lambda row: row.tally.useful.output_tokens,
        Sort.TIME: lambda row: _took(row, now),
        Sort.AGE: lambda row: now - row.since,
    }
    figure = figures[sort]
    return sorted(rows, key=lambda row: (-figure(row), row.order))


def tries(row: Row) -> int:
    """Attempts at calls that needed more than one; 0 while all went at once."""
    again = row.tally.attempts - row.tally.turns - int(row.flight is not None)
    return again + 1 if again > 0 else 0


def _took(row: Row, now: float) -> float:
    if row.started_at is None:
        return -1.0
    over = row.status in {Status.DONE, Status.MISSING}
    return (row.since if over else now) - row.started_at


def matcher(text: str, reason: Reason | None = None) -> Callable[[Row], bool]:
    """A test for rows: words that must all fit, `!word` must not.

    A word is found in `phase/key`, the status and the reason; `try>1`, `phase:x`,
    `why:x` look in one place.
    """
    why = reason or reason_words
    # A word said twice is asked for once, and a reason is made once a row.
    tests = [_word(word) for word in dict.fromkeys(text.casefold().split())]

    def fits(row: Row) -> bool:
        said = _Said(row, why)
        return all(test(said) for test in tests)

    return fits


class _Said:
    """What a row can be found by; made when a word asks for it."""

    def __init__(self, row: Row, why: Reason) -> None:
        self.row = row
        self._why = why

    @cached_property
    def reason(self) -> str:
        return self._why(self.row).casefold()

    @cached_property
    def name(self) -> str:
        return str(self.row.id).casefold()


def _word(word: str) -> Callable[[_Said], bool]:
    if word.startswith("!") and len(word) > 1:
        inner = _word(word[1:])
        return lambda said: not inner(said)
    if word.startswith("try>") and word[4:].isdecimal():
        least = int(word[4:])
        return lambda said: tries(said.row) > least
    if word.startswith("phase:"):
        return lambda said: word[6:] in said.row.id.phase.casefold()
    if word.startswith("why:"):
        return lambda said: word[4:] in said.reason
    return lambda said: (
        word in said.name or word == said.row.status.value or word in said.reason
    )


def reason_words(row: Row) -> str:
    """The words that say why a row stands where it stands."""
    if row.end is not None:
        kind = row.end.kind.value if row.end.kind else ""
        return f"{kind} {row.end.reason}"
    return f"{row.wait.cause.value} {row.wait.detail}" if row.wait else ""


def held_in_place(order: list[RowId], row: RowId, index: int) -> list[RowId]:
    """`order` with `row` at `index`, so that it does not move under the cursor."""
    try:
        found = order.index(row)
    except ValueError:
        return order
    if found != index:
        del order[found]
        order.insert(min(index, len(order)), row)
    return order
