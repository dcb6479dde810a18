"""What must hold of every simulated run, and whole stories told by their seed."""

from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from core.engine.simulated import Life
from core.engine.simulated_service import Service, Weather
from fanout.words.events import CallAdmitted, Record, RunPaused, RunResumed, StopAsked
from fanout.words.model import NO_USAGE, Status


def check(life: Life, records: list[Record]) -> list[str]:
    """What holds at the end of a life that was not killed; returns what does not."""
    life.check()
    mine = [r for r in records if r.life == life.life]
    return [
        *life.facts.wrong,
        *_rows(life, mine),
        *_requests(life),
        *_cancelled(life, mine),
        *_admissions(mine),
        *_books(life),
    ]


def _rows(life: Life, records: list[Record]) -> list[str]:
    wrong = []
    names = [(type(r.event).__name__, getattr(r.event, "row", None)) for r in records]
    for row in life.state.rows.values():
        if row.status not in {Status.DONE, Status.MISSING}:
            wrong.append(f"{row.id} has not ended: {row.status}")
        seen = [name for name, of in names if of == row.id]
        ends = seen.count("RowDone") + seen.count("RowMissing")
        if row.life == life.life and ends != seen.count("RowRequeued") + 1:
            wrong.append(f"{row.id} ended {ends} times: {seen}")
        told = life.facts.told.get(row.id)
        if told is None or life.core.trouble:
            continue
        if told.ends != told.reopened + 1 or told.done > 1:
            wrong.append(f"{row.id} was told {told}")
    if life.steady:
        known = life.state.rows
        wrong += [f"{r} is not in the report" for r in life.wanted() if r not in known]
    return wrong


def _requests(life: Life) -> list[str]:
    """A script that was not stopped gets an answer to whatever it asked."""
    script = life.state.script_end
    if life.state.stop or script is None or script.outcome != "returned":
        return []
    facts = life.facts
    return [
        f"request {number}: {facts.replies[number]} replies"
        for number, asked in facts.asked.items()
        if not asked <= facts.replies[number] <= 1
    ]


def _cancelled(life: Life, records: list[Record]) -> list[str]:
    """A row that was cancelled ends before anything more is begun for it."""
    wrong = []
    for seq, row in life.facts.cancelled:
        later = [r.event for r in records if r.seq > seq]
        mine = [type(e).__name__ for e in later if getattr(e, "row", None) == row]
        kinds = ("RowMissing", "RowDone", "CallAdmitted", "ToolsRan")
        first = next((name for name in mine if name in kinds), "nothing")
        if not first.startswith("Row"):
            wrong.append(f"{row} was cancelled, and then came {first}")
    return wrong


def _admissions(records: list[Record]) -> list[str]:
    closed, wrong = "", []
    for record in records:
        match record.event:
            case RunPaused():
                closed = closed or "paused"
            case RunResumed():
                closed = "" if closed == "paused" else closed
            case StopAsked():
                closed = "stopped"
            case CallAdmitted() if closed:
                wrong.append(f"{record.event.row} was admitted while {closed}")
    return wrong


def _books(life: Life) -> list[str]:
    """The account's books lie between what is known and what is in doubt."""
    charged = sum((entry.usage for entry in life.service.books), NO_USAGE)
    totals = life.state.totals
    known = totals.useful + totals.wasted
    most = known + totals.in_doubt
    if not (known.total <= charged.total <= most.total):
        return [f"charged {charged}, known {known}, with doubt {most}"]
    return []


def story(seed: int, weather: Weather, *, lives: int = 1) -> list[str]:
    """Run one seed; returns what went wrong."""
    random = Random(seed)
    service = Service(random, weather)
    records: list[Record] = []
    with TemporaryDirectory() as out:
        for number in range(1, lives):
            life = Life(service, Path(out), records=records, life=number)
            records = life.live(kill_at=random.random() * 60)
            if life.facts.wrong:
                return life.facts.wrong
        steady = lives > 1
        last = Life(service, Path(out), records=records, life=lives, steady=steady)
        records = last.live()
        return check(last, records)
