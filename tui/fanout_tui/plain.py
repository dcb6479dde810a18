"""Plain output: one line per notable event, a status line every ten seconds.

For pipes, CI, `TERM=dumb`, and for when the screen is gone. No escapes, no
cursor movement, and never an exception because of an encoding or a closed pipe:
the run matters more than what is said about it.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from fanout.decide.forecast.say import minutes, span
from fanout.words.model import Row, RowId, Status
from fanout.words.snapshot import Snapshot
from fanout_tui.text import (
    clock_time,
    dollars,
    one_line,
    plural,
    short_time,
    tokens,
)
from fanout_tui.view.changes import Change, changes
from fanout_tui.view.forecast import tightest
from fanout_tui.view.glyphs import UNICODE
from fanout_tui.view.look import Look
from fanout_tui.view.reason import doing
from fanout_tui.view.sentence import sentence
from fanout_tui.view.top import endpoint_text

STATUS_EVERY_S = 10.0
ALIKE_MAX = 3
"""More rows than this with one event at once are told in one line."""


def encodable(text: str, encoding: str | None) -> str:
    """`text` with what `encoding` cannot say replaced."""
    name = encoding or "utf-8"
    return text.encode(name, "replace").decode(name, "replace")


class PlainOutput:
    """Says what changed since it was last shown a snapshot."""

    def __init__(
        self,
        write: Callable[[str], None],
        clock: Callable[[], float],
    ) -> None:
        self._write = write
        self._clock = clock
        self._seen: Snapshot | None = None
        self._status_at = 0.0
        self._broken = False

    def update(self, snapshot: Snapshot) -> None:
        """Say what is new; about five times a second."""
        news = list(changes(self._seen, snapshot))
        self._seen = snapshot
        for at, text in _lines(news, snapshot):
            self._say(text, at)
        now = self._clock()
        if not self._status_at:
            self._status_at = now + STATUS_EVERY_S
        elif now >= self._status_at and snapshot.end is None:
            self._status_at = now + STATUS_EVERY_S
            self._say(status_text(snapshot))
            self._say(sentence(self._look(snapshot)))

    def close(self, snapshot: Snapshot) -> None:
        """Say what is left to say."""
        self.update(snapshot)
        self._say(status_text(snapshot), snapshot.end.at if snapshot.end else None)

    def every_wait(self, snapshot: Snapshot) -> None:
        """Say what each row that has not ended is doing (SIGUSR1)."""
        look = self._look(snapshot)
        for row in snapshot.rows.values():
            if row.status in {Status.RUNNING, Status.THROTTLED}:
                self._say(
                    f"{row.status.value} {_name(row.id)}: {doing(look, row).text}"
                )
        self._say(status_text(snapshot))
        self._say(sentence(look))

    def _look(self, snapshot: Snapshot) -> Look:
        return Look(snapshot, self._clock(), 200, 50, UNICODE)

    def _say(self, text: str, at: float | None = None) -> None:
        """One line with the time it has in the run; None: it is said of now."""
        if self._broken:
            return
        now = self._clock()
        started = self._seen.run.started_at if self._seen else now
        line = f"[{clock_time((now if at is None else at) - started):>6}] {text}"
        try:
            self._write(line)
        except UnicodeError:
            self._write(line.encode("ascii", "replace").decode("ascii"))
        except OSError:
            self._broken = True


def _name(row: RowId) -> str:
    return one_line(str(row))


def status_text(snapshot: Snapshot) -> str:
    """All counts, what it has cost, how full the limits are, what is left."""
    counts = snapshot.counts
    parts = [f"{status.value} {counts.of(status)}" for status in _STATUS_ORDER]
    totals = snapshot.totals
    used = tokens((totals.useful + totals.wasted).total)
    text = f"{', '.join(parts)} of {counts.expected}"
    text += f"  {used} tokens, {dollars(totals.dollars)} so far"
    pool = tightest(snapshot.pools)
    if pool is not None:
        for bucket in pool.buckets:
            if bucket.limit:
                share = bucket.spent * 100 // bucket.limit
                text += f"  {bucket.dimension.value} {share}%"
    ceiling = snapshot.ceiling
    whose = "auto" if ceiling.user is None else "manual"
    left = snapshot.left
    if left is not None and left.rows and snapshot.end is None:
        text += f"  {span(left.tokens.total, 'tokens')} left"
        if left.seconds is not None:
            text += f", {minutes(left.seconds.expected)}"
    return f"{text}  in flight {ceiling.in_flight}/{ceiling.limit} {whose}"


_STATUS_ORDER = (
    Status.DONE,
    Status.RUNNING,
    Status.THROTTLED,
    Status.QUEUED,
    Status.MISSING,
)


def _lines(news: Sequence[Change], snapshot: Snapshot) -> list[tuple[float, str]]:
    """The notable ones as lines in the order of their times, many alike as one."""
    lines: list[tuple[float, str]] = []
    last: list[tuple[float, str]] = []
    alike: dict[tuple[str, str], list[Change]] = {}
    for change in news:
        if change.event in {"throttled", "missing", "requeued"}:
            same = str(change.data.get("cause") or change.data.get("kind") or "")
            alike.setdefault((change.event, same), []).append(change)
        elif text := _text(change, snapshot):
            place = last if change.event in {"state", "end"} else lines
            # What an earlier life left comes after this one's first line.
            place.append((max(change.at, snapshot.run.started_at), text))
    for group in alike.values():
        if len(group) > ALIKE_MAX:
            lines.append((max(change.at for change in group), _many(group)))
        else:
            lines += [(change.at, _row_text(change)) for change in group]
    return sorted(lines, key=lambda line: line[0]) + last


def _text(change: Change, snapshot: Snapshot) -> str:
    """A line about the run; empty where there is nothing to say."""
    say = _SAY.get(change.event)
    return say(change.data, snapshot) if say is not None else ""


def _run(data: Mapping[str, Any], snapshot: Snapshot) -> str:
    life = f", life {data['life']}" if data["life"] > 1 else ""
    place = f"{endpoint_text(snapshot)}, kept in {one_line(data['folder'])}"
    return f"run {one_line(data['run'])}{life}: {place}"


def _note(data: Mapping[str, Any]) -> str:
    about = f"{one_line(data['row'])}: " if "row" in data else ""
    return about + one_line(data["text"])


def _limits(data: Mapping[str, Any], _: Snapshot) -> str:
    known = [f"{tokens(n)} {name}" for name, n in data["limits"].items() if n]
    return f"limits of {one_line(data['pool'])} per minute: {', '.join(known)}"


def _ceiling(data: Mapping[str, Any], _: Snapshot) -> str:
    user = data["ceiling"]
    return "ceiling back to auto" if user is None else f"ceiling {user}"


def _end(data: Mapping[str, Any], _: Snapshot) -> str:
    code = data["exit_code"]
    said = "no exit code" if code is None else f"exit code {code}"
    return f"ended: {one_line(data['reason'])}, {said}"


STATES = {
    "paused": "paused: nothing new is sent, what flies goes on",
    "draining": "stopping: what flies finishes, nothing new is sent; "
    "ctrl-c again stops at once",
    "stopping": "stopping at once",
    "crashed": "the engine stopped; everything finished is on disk",
    "killed": "nobody works on the run any more; everything finished is on disk",
}

_SAY: dict[str, Callable[[Mapping[str, Any], Snapshot], str]] = {
    "run": _run,
    "phase": lambda data, _: f"phase {one_line(data['phase'])}",
    "note": lambda data, _: _note(data),
    "limits": _limits,
    "ceiling": _ceiling,
    "state": lambda data, _: STATES.get(data["state"], ""),
    "end": _end,
}


def _row_text(change: Change) -> str:
    row = change.row
    assert row is not None
    name = _name(row.id)
    match change.event:
        case "throttled":
            return f"throttled {name}: {_cause(change)}"
        case "missing":
            return f"MISSING {name}: {_missing(row)}"
        case _:
            return f"requeued {name}"


def _cause(change: Change) -> str:
    """Which limit, and for how long."""
    data = change.data
    text = str(data["cause"] or "refused")
    if data["detail"]:
        text += f", {one_line(data['detail'])}"
    if data["until"] is not None:
        text += f", retry in {short_time(data['until'] - change.at + 0.999)}"
    return text


def _missing(row: Row) -> str:
    if row.end is None or row.end.kind is None:
        return "no reason known"
    reason = one_line(row.end.reason)
    return f"{row.end.kind.value}: {reason}" if reason else row.end.kind.value


def _many(group: Sequence[Change]) -> str:
    first = group[0]
    assert first.row is not None
    names = ", ".join(_name(change.row.id) for change in group[:2] if change.row)
    rows = plural(len(group), "row")
    word = "MISSING" if first.event == "missing" else first.event
    what = ""
    if first.event == "throttled":
        what = f": {_cause(first)}"
    elif first.event == "missing":
        what = f": {_missing(first.row)}"
    return f"{word} {rows}{what} ({names} and {len(group) - 2} more)"
