"""Rows of an invented audit: forty-odd modules, at any stage of it.

Every figure is a function of the row's number, so a scene is the same on every
machine and in every process.
"""

from dataclasses import replace

from fanout.decide.money.pricing import BUILT_IN, dollars
from fanout.words.model import (
    Cause,
    End,
    Flight,
    MissingKind,
    Need,
    Row,
    RowId,
    RowSpec,
    Status,
    Tally,
    Usage,
    Wait,
)
from fanout.words.snapshot import Live

START = 1_800_000_000.0
NOW = START + 259.0
"""4:19 into the run."""

MODEL = "claude-sonnet-5"
POOL = MODEL

_PLACES = ("auth", "billing", "search", "api/routes", "ui/forms", "jobs")
_NAMES = ("users", "orders", "invoice", "export", "login", "sync", "cart", "search")
_TOOLS = (
    "read_file src/auth/session.py",
    "grep 'open(' in src/api",
    "list_files src/jobs",
    "read_file src/billing/ledger.py",
)


def key(number: int) -> str:
    """The key of the n-th row."""
    place = _PLACES[number % len(_PLACES)]
    name = _NAMES[(number * 5 + number // 7) % len(_NAMES)]
    return f"src/{place}/{name}_{number:03d}"


def row(number: int, status: Status) -> Row:
    """The n-th row, in a status."""
    began = NOW - 12.0 - (number * 7) % 60
    base = Row(
        id=RowId("audit", key(number)),
        order=number,
        status=status,
        since=NOW - (number * 3) % 25,
        spec=_spec(number),
    )
    match status:
        case Status.QUEUED:
            return _queued(base, number)
        case Status.RUNNING:
            need = Need(2_000 + number * 37, 800, 8_192)
            flight = Flight(call=number + 40, turn=2, need=need, at=began)
            tally = _tally(number, turns=1 + number % 3, sent=1)
            return replace(base, started_at=began, tally=tally, flight=flight)
        case Status.THROTTLED:
            wait = Wait(Cause.LIMIT, NOW + 1 + number % 7, "input tokens")
            tally = replace(_tally(number, turns=2, sent=1), refusals_429=1)
            return replace(base, started_at=began, tally=tally, wait=wait)
        case Status.DONE:
            return _done(base, number)
        case Status.MISSING:
            return missing(base, MissingKind.NO_OUTPUT, "the agent ended without it")


def missing(base: Row, kind: MissingKind, reason: str) -> Row:
    """A row that ended without its output."""
    return replace(
        base,
        status=Status.MISSING,
        started_at=base.since - 41.0,
        tally=_tally(base.order, turns=3),
        end=End(kind=kind, reason=reason),
    )


def _spec(number: int) -> RowSpec:
    return RowSpec(
        kind="agent",
        model=MODEL,
        pool=POOL,
        fingerprint=f"{number:064x}",
        output=f"findings/{key(number)}.json",
        schema=True,
        max_tokens=8_192,
        max_turns=50,
        estimate=18_000 + number * 311,
    )


def _queued(base: Row, number: int) -> Row:
    wait = Wait(Cause.INPUT, NOW + 1 + number % 9, f"needs {20 + number % 30}k")
    return replace(base, since=START + 1, wait=wait)


def _done(base: Row, number: int) -> Row:
    ended = START + 20.0 + (number * 11) % 230
    path = f"findings/{key(number)}.json"
    return replace(
        base,
        since=ended,
        started_at=ended - 20.0 - number % 17,
        tally=_tally(number, turns=3),
        end=End(output=path, sha256="0" * 64, size=1_200 + number * 13),
    )


def _tally(number: int, turns: int, sent: int = 0) -> Tally:
    """`sent` attempts were made that have brought no turn (yet)."""
    useful = Usage(
        input_tokens=4_000 + (number * 2_711) % 31_000,
        output_tokens=300 + (number * 613) % 5_900,
        cache_read_input_tokens=18_000 * turns,
        cache_creation_input_tokens=(number * 97) % 2_000,
    )
    again = int(number % 7 == 0)
    return Tally(
        turns=turns,
        attempts=turns + sent + again,
        useful=useful,
        dollars=dollars(MODEL, useful, BUILT_IN),
    )


def live(number: int) -> Live:
    """What a running row is doing."""
    active = NOW - (number * 2) % 9
    match number % 4:
        case 0:
            return Live(
                cause=Cause.STREAMING, output_tokens=90 + number * 7, active_at=active
            )
        case 1:
            note = _TOOLS[number % len(_TOOLS)]
            return Live(cause=Cause.TOOLS, note=note, active_at=active)
        case 2:
            return Live(cause=Cause.SENT, active_at=active)
        case _:
            if number % 7 == 0:
                return Live(cause=Cause.STREAMING, active_at=NOW - 34.0)
            return Live(cause=Cause.CHECKING, active_at=active)
