"""What must hold of every simulated run, by the numbers that the design gives it.

| | what holds | where it is checked |
|---|---|---|
| I1 | no journaled call is sent again, no tools run twice | `Life._watch`, `nothing_again` |
| I2 | each expected partition has one final row | `one_end_each` |
| I3 | done: a fitting answer to this question, on disk as journaled | `outputs_hold`, `done_is_done`, `reused_is_the_same` |
| I4 | each send has an intent of its own on disk | `Life._watch`, `nothing_again` |
| I5 | the account's limits hold, across kills | `limits_hold` |
| I6 | what was acknowledged survives | `nothing_acknowledged_is_lost`, `Life` |
| I7 | the account's books lie between the report's bounds | `books_agree` |
| I8 | the books never pass the budget | `budget_holds` |
| I9 | nothing is sent before `retry-after` | `Life._watch` |
| I10 | a healthy service ends every row | the loop's `Deadlock`, `all_done` |
| I11 | a resumed request holds what was really said | `Memory`, `Life._watch` |
| I12 | no work is paid for twice | `paid_once`, `patient` |
| I13 | one writer | `tests/core/disk/test_run_folders.py` |
| I14 | recovering twice gives what recovering once gives | `recovers_alike` |
| I15 | a seed always tells the same story | `test_a_seed_tells_one_story` |
| I16 | nothing is admitted while paused, nothing sent after a stop | `closed_is_closed` |
| I17 | secrets are nowhere | `tests/e2e` |
| I18 | what a question about a budget holds waits, and is something | `Life._watch_waits` |
"""

from collections.abc import Iterator
from pathlib import Path

from core.engine.simulated import Life, began_anew, left_by, reuse_of
from fanout.decide.fold.run_state import RunState
from fanout.disk.reading import Folded, fold
from fanout.files.outputs import digest
from fanout.words.events import (
    CallAdmitted,
    CallAnswered,
    Record,
    RowDone,
    RowRequeued,
    RunPaused,
    RunResumed,
    StopAsked,
    ToolsRan,
)
from fanout.words.model import NO_USAGE, MissingKind, Row, RowId, Status

PROBES_MAX, PROBES_PER_SECOND = 20, 0.25
"""Requests that may meet a service which is away: at once, and as time goes on."""
OWN_REFUSALS_MAX = 4
"""Refusals that a life may cause itself, beside one for each change of the limits."""


def of_a_life(life: Life, records: list[Record]) -> Iterator[str]:
    """What holds after a life, killed or not, of what the disk has of it."""
    state = left_by(records)
    yield from life.facts.wrong
    yield from nothing_acknowledged_is_lost(life, state, records)
    yield from books_agree(life, state, records)
    yield from nothing_again(records)
    yield from done_is_done(records)
    yield from reused_is_the_same(life, records)
    yield from limits_hold(life)
    yield from patient(life)


def of_an_end(life: Life, records: list[Record]) -> Iterator[str]:
    """What holds at the end of a life that was not killed."""
    try:
        life.check()
    except AssertionError as error:
        yield f"I2: replayed from its journal, the run is another one: {error!r}"
    mine = [r for r in records if r.life == life.life]
    yield from one_end_each(life, mine)
    yield from requests_answered(life)
    yield from cancelled_is_cancelled(life, mine)
    yield from closed_is_closed(mine)


def one_end_each(life: Life, records: list[Record]) -> Iterator[str]:
    seen: dict[RowId, list[str]] = {}
    for record in records:
        row_id = getattr(record.event, "row", None)
        if row_id is not None:
            seen.setdefault(row_id, []).append(type(record.event).__name__)
    for row in life.state.rows.values():
        yield from _one_end(life, row, seen.get(row.id, []))
    counts = life.state.counts
    if counts.done + counts.missing != counts.expected:
        yield f"I2: {counts} do not add up"
    yield from stale_rows_are_missing(life)
    if life.steady and life.state.stop is None:
        known = life.state.rows
        yield from (f"I2: {r} is not listed" for r in life.wanted() if r not in known)


def _one_end(life: Life, row: Row, seen: list[str]) -> Iterator[str]:
    if row.status not in {Status.DONE, Status.MISSING}:
        yield f"I2: {row.id} has not ended: {row.status}"
    ends = seen.count("RowDone") + seen.count("RowMissing")
    again = seen.count("RowRequeued") + 1
    stale = _is_stale(row)
    if row.life == life.life and not again <= ends <= again + stale:
        yield f"I2: {row.id} ended {ends} times: {seen}"
    told = life.facts.told.get(row.id)
    if told is None or life.core.trouble or stale:
        return
    if told.ends != told.reopened + 1 or told.done > 1:
        yield f"I2: {row.id} was told {told}"


def stale_rows_are_missing(life: Life) -> Iterator[str]:
    """A row made without something that is there now cannot be done."""
    desk = life.engine.desks.stale
    for hole, made in desk._lineage._made_without.items():
        filled = life.state.rows.get(hole)
        for row in made:
            known = life.state.rows.get(row)
            if known is None or filled is None or known.life != life.life:
                continue
            if filled.status is Status.DONE and known.status is Status.DONE:
                yield f"I2: {row} is done, made without {hole}, which is done"


def all_done(life: Life) -> Iterator[str]:
    """A fair service, nobody meddles: whatever can be done is done."""
    for row in life.state.rows.values():
        upstream = row.end is not None and row.end.kind is MissingKind.UPSTREAM
        if row.status is not Status.DONE and not upstream:
            why = row.end.reason if row.end is not None else row.status
            yield f"I10: {row.id} is not done: {why}"


def requests_answered(life: Life) -> Iterator[str]:
    """A script that was not stopped gets an answer to whatever it asked."""
    script = life.state.script_end
    if life.state.stop or script is None or script.outcome != "returned":
        return
    facts = life.facts
    for number, asked in facts.asked.items():
        if not asked <= facts.replies[number] <= 1:
            yield f"I10: request {number}: {facts.replies[number]} replies"


def cancelled_is_cancelled(life: Life, records: list[Record]) -> Iterator[str]:
    """A row that was cancelled ends before anything more is begun for it."""
    for seq, row in life.facts.cancelled:
        later = [r.event for r in records if r.seq > seq]
        mine = [type(e).__name__ for e in later if getattr(e, "row", None) == row]
        kinds = ("RowMissing", "RowDone", "CallAdmitted", "ToolsRan")
        first = next((name for name in mine if name in kinds), "nothing")
        if not first.startswith("Row"):
            yield f"I16: {row} was cancelled, and then came {first}"


def closed_is_closed(records: list[Record]) -> Iterator[str]:
    closed = ""
    for record in records:
        match record.event:
            case RunPaused():
                closed = closed or "paused"
            case RunResumed():
                closed = "" if closed == "paused" else closed
            case StopAsked():
                closed = "stopped"
            case CallAdmitted() if closed:
                yield f"I16: {record.event.row} was admitted while {closed}"


def nothing_again(records: list[Record]) -> Iterator[str]:
    """Calls have numbers of their own; tools run once for what they were asked."""
    events = [record.event for record in records]
    calls = [event.call for event in events if isinstance(event, CallAdmitted)]
    if len(set(calls)) < len(calls):
        yield "I4: two calls have the same number"
    ran = [event for event in events if isinstance(event, ToolsRan)]
    uses = [result["tool_use_id"] for event in ran for result in event.results]
    if len(set(uses)) < len(uses):
        yield "I1: tools ran again for the same answer"
    newest: dict[RowId, object] = {}
    for event in events:
        match event:
            case ToolsRan() | CallAnswered():
                newest[event.row] = event
            case RowRequeued(fresh=True):
                if isinstance(newest.get(event.row), ToolsRan):
                    yield f"I1: {event.row} was reopened, and lost its turns"


def done_is_done(records: list[Record]) -> Iterator[str]:
    """Only whole answers that fit make a row done."""
    last: dict[RowId, str] = {}
    for record in records:
        event = record.event
        if isinstance(event, CallAnswered):
            last[event.row] = event.stop_reason or ""
        if not isinstance(event, RowDone) or event.row.phase == "talk":
            continue
        if event.reused_from is None and last.get(event.row) != "end_turn":
            yield f"I3: {event.row} is done with {last.get(event.row)}"
        number = int(event.row.key[1:]) if event.row.phase == "main" else 0
        if number % 2 and not (isinstance(event.value, dict) and "n" in event.value):
            yield f"I3: {event.row} is done with {event.value}, which does not fit"
        if not event.value:
            yield f"I3: {event.row} is done with nothing"


def reused_is_the_same(life: Life, records: list[Record]) -> Iterator[str]:
    """What is taken over was an answer to what is asked now."""
    for record in records:
        event = record.event
        if record.life != life.life or not isinstance(event, RowDone):
            continue
        question = life.questions.get(event.row)
        if question is None or event.reused_from is None:
            continue
        books = life.service.books
        mine = (e.body for e in books if e.answered and e.row == event.row)
        if not any(question in body for body in mine):
            yield f"I3: {event.row} was taken over from another question"


def outputs_hold(
    records: list[Record], out: Path, lost: dict[str, int]
) -> Iterator[str]:
    """What the journal calls done is on disk, as it says.

    `lost` tells which files somebody took away, and after which life.
    """
    state = left_by(records)
    newest = {r.event.row: r for r in records if isinstance(r.event, RowDone)}
    for row, record in newest.items():
        event, known = record.event, state.rows.get(row)
        assert isinstance(event, RowDone)
        if known is None or known.status is not Status.DONE:
            continue  # somebody works on it again
        if event.output is None or record.life <= lost.get(event.output, 0):
            continue
        if digest(str(out / event.output)) != event.sha256:
            yield f"I3: {row} is done, and its output is not what it was"


def nothing_acknowledged_is_lost(
    life: Life, state: RunState, records: list[Record]
) -> Iterator[str]:
    last = records[-1].seq if records else 0
    if last < life.facts.committed:
        yield f"I6: {life.facts.committed} records were confirmed, {last} are there"
    values = {r.event.row: r.event.value for r in records if _is_done(r)}
    for row, told in life.facts.told.items():
        known = state.rows.get(row)
        if told.value is None or (known is not None and _is_stale(known)):
            continue
        if known is None or known.status is not Status.DONE:
            yield f"I6: {row} was told as done, and is not"
        elif values.get(row) != told.value:
            yield f"I6: {row} was told {told.value}, and is {values.get(row)}"


def _is_done(record: Record) -> bool:
    return isinstance(record.event, RowDone)


def _is_stale(row: Row) -> bool:
    return row.end is not None and row.end.kind is MissingKind.STALE


def books_agree(life: Life, state: RunState, records: list[Record]) -> Iterator[str]:
    """The account's books lie between what is known and what is in doubt."""
    books = life.service.books
    charged = sum(entry.usage.total for entry in books)
    totals = state.totals
    known = totals.useful.total + totals.wasted.total
    most = known + totals.in_doubt.total + _missed(life)
    if not known <= charged <= most:
        yield f"I7: charged {charged}, known {known}, at most {most}"
    whole = sum(entry.usage.total for entry in books if entry.answered)
    if totals.useful.total > whole:
        yield f"I7: {totals.useful.total} count as useful, answers took {whole}"
    answers = sum(
        (r.event.usage for r in records if isinstance(r.event, CallAnswered)), NO_USAGE
    )
    if known < answers.total:
        yield f"I7: answers took {answers.total}, and only {known} are known"


def _missed(life: Life, phase: str = "") -> int:
    """Tokens by which calls were larger than the most that was expected of them."""
    return sum(
        max(0, entry.usage.total - entry.need.worst.total)
        for entry in life.service.books
        if entry.need is not None and phase in {"", entry.row.phase}
    )


def budget_holds(life: Life, budget: int) -> Iterator[str]:
    charged = sum(entry.usage.total for entry in life.service.books)
    if charged > budget + _missed(life):
        yield f"I8: charged {charged}, with a budget of {budget}"


def budgets_hold(life: Life, records: list[Record]) -> Iterator[str]:
    """The run's and each phase's, as somebody has set them last."""
    for phase, budget in left_by(records).budgets.items():
        books = [e for e in life.service.books if phase in {"", e.row.phase}]
        charged = sum(entry.usage.total for entry in books)
        most = budget.tokens
        if most is not None and charged > most + _missed(life, phase):
            yield f"I8: {phase or 'the run'} charged {charged}, its budget is {most}"


def limits_hold(life: Life) -> Iterator[str]:
    """The account's own buckets refuse next to nothing of what is sent."""
    begun = life.epoch
    refused = sum(e.own and e.at >= begun for e in life.service.books)
    if refused > OWN_REFUSALS_MAX + life.facts.limit_changes:
        yield f"I5: {refused} requests went over the account's limits"


def patient(life: Life) -> Iterator[str]:
    """A service that is away is asked now and then, not all the time."""
    outage = life.service.outage
    seconds = outage.end - outage.start
    if outage.sent > PROBES_MAX + PROBES_PER_SECOND * seconds:
        yield f"I12: {outage.sent} requests met {seconds:.0f} s of outage"


def paid_once(life: Life, records: list[Record]) -> Iterator[str]:
    """Without kills and people, each turn is paid for once."""
    if any(isinstance(r.event, RowRequeued) for r in records) or began_anew(records):
        return
    bodies = [
        entry.body
        for entry in life.service.books
        if entry.answered and entry.row.phase != "talk"
    ]
    if len(bodies) > 1.10 * len(set(bodies)):
        yield f"I12: {len(bodies)} answers were paid for {len(set(bodies))} turns"


def recovers_alike(
    folded: Folded, before: list[Record], after: list[Record], run: Path, out: Path
) -> Iterator[str]:
    """Reading twice gives the same; a life that did nothing takes nothing away."""
    sampled = len(after) % 3 == 0
    if sampled and vars(folded.state) != vars(fold(run).state):
        yield "I14: reading the journal twice gives two runs"
    fresh = after[len(before) :]
    if before != after[: len(before)]:
        yield "I14: what was read before is not there any more"
    if any(_spends(record) for record in fresh) or began_anew(fresh):
        return
    had, has = _offers(before, out), _offers(after, out)
    for key, turns in had.items():
        if has.get(key, -1) < turns:
            yield f"I14: {key} offered {turns} turns, and now {has.get(key, -1)}"


def _spends(record: Record) -> bool:
    event = record.event
    stale = getattr(event, "kind", None) is MissingKind.STALE
    return stale or isinstance(event, CallAdmitted | RowRequeued)


DONE = 1_000


def _offers(records: list[Record], out: Path) -> dict[tuple[str, RowId], int]:
    """Turns that a next life can go on from, by content and row; many when done."""
    reuse = reuse_of(records)
    offers: dict[tuple[str, RowId], int] = {}
    for mark, partials in reuse._partials.items():
        for partial in partials:
            key = (mark, partial.row)
            offers[key] = max(partial.turns, offers.get(key, 0))
    for mark, results in reuse._results.items():
        for result in results:
            offers[mark, result.row] = DONE
    return offers
