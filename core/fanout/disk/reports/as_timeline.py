"""The timeline of a report: who ran when, who was throttled when, and the limits.

One drawing in the page itself. It loads nothing and runs nothing; pointing at a
stretch shows what it is.
"""

import html
from collections.abc import Iterator, Sequence
from pathlib import Path

from fanout.decide.fold.lifecycle import IllegalEvent
from fanout.decide.fold.state import RunState, apply
from fanout.decide.timeline import Clockwork, Reading, Stretch, Timeline
from fanout.disk.reading import read
from fanout.words.clean import clean
from fanout.words.counted import of_them, plural
from fanout.words.model import RowId, Status

STYLE = """
svg.t { width: 100%; min-width: 44rem; height: auto; font: 11px system-ui, sans-serif; }
svg.t text { fill: #444; } svg.t line { stroke: #ddd; }
svg.t .life { stroke: #888; stroke-dasharray: 3 3; }
svg.t .queued { fill: #d9d9d9; } svg.t .running { fill: #56b4e9; }
svg.t .throttled { fill: #e69f00; } svg.t .done { fill: #b7e1d0; }
svg.t .missing { fill: #d55e00; } svg.t .spent { fill: #56b4e9; }
svg.t .limit { fill: none; stroke: #d55e00; stroke-width: 1.5; }
@media (prefers-color-scheme: dark) {
  svg.t text { fill: #bbb; } svg.t line { stroke: #3a3a3a; }
  svg.t .queued { fill: #4a4a4a; } svg.t .done { fill: #2f6b55; }
}
"""
LANES_MAX = 300
NAMED_MAX = 80
"""With more lanes than this they are thin, and named only when pointed at."""
WIDTH = 1_000.0
LEFT = 190.0
CHART = 54.0
ROOM = 40.0
"""For the time at the right end."""
FINEST = 0.4
"""Stretches narrower than this are drawn with the one before."""
_TICKS = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 14_400)
_TICKS_MOST = 9
_SHORT = {"input tokens": "input", "output tokens": "output"}


def timeline_of(run_folder: Path) -> Timeline:
    """Return a run's timeline from its journal; empty where there is none."""
    state, clockwork = RunState(), Clockwork()
    if (run_folder / "journal").is_dir():
        for record in read(run_folder):
            try:
                apply(state, record)
            except IllegalEvent:
                continue
            clockwork.take(record, state)
    return clockwork.finish()


def timeline_html(timeline: Timeline) -> str:
    """Return the section of the page, or nothing where nothing took time."""
    if not timeline.rows or timeline.length <= 0:
        return ""
    drawing = _Drawing(timeline)
    shown, lanes = len(drawing.lanes), len(timeline.rows)
    count = plural(shown, "row")
    left_out = (
        f"<p>{of_them(shown, lanes, 'row')} are drawn: the missing and the longest "
        "throttled, then every so many of the others.</p>"
        if shown < lanes
        else ""
    )
    return (
        f"<h2>Timeline</h2>\n{left_out}"
        f'<div class="wide"><svg class="t" viewBox="0 0 {WIDTH:g} {drawing.height:g}"'
        f' role="img" aria-label="timeline of {count}">\n'
        + "\n".join(drawing.parts())
        + "\n</svg></div>"
    )


class _Drawing:
    """Where everything goes."""

    def __init__(self, timeline: Timeline) -> None:
        self._timeline = timeline
        self._scale = (WIDTH - LEFT - 10) / timeline.length
        self.lanes = _chosen(timeline)
        self._named = len(self.lanes) <= NAMED_MAX
        self._lane = 13.0 if self._named else 4.0
        self._charts = [
            (name, readings)
            for name, readings in timeline.readings.items()
            if any(reading.spent for reading in readings)
        ]
        self._top = 24.0 + CHART * len(self._charts)
        self.height = self._top + 22 + self._lane * len(self.lanes)

    def parts(self) -> Iterator[str]:
        yield from self._legend()
        for number, ((pool, limit), readings) in enumerate(self._charts):
            yield from self._chart(24 + CHART * number, pool, limit, readings)
        yield from self._axis()
        for number, row in enumerate(self.lanes):
            yield from self._row(self._top + 20 + self._lane * number, row)
        for at in self._timeline.lives[1:]:
            x = self._x(at)
            yield (
                f'<line class="life" x1="{x:.1f}" x2="{x:.1f}" y1="24" '
                f'y2="{self.height:.1f}"><title>resumed</title></line>'
            )

    def _x(self, at: float) -> float:
        return LEFT + at * self._scale

    def _legend(self) -> Iterator[str]:
        for number, status in enumerate(Status):
            x = LEFT + 95 * number
            yield _rect(status.value, x, 4, 10, 10)
            yield f'<text x="{x + 14:g}" y="13">{status.value}</text>'

    def _axis(self) -> Iterator[str]:
        step = next(
            (t for t in _TICKS if self._timeline.length / t <= _TICKS_MOST),
            self._timeline.length / _TICKS_MOST,
        )
        for number in range(int(self._timeline.length / step) + 1):
            at = number * step
            x = self._x(at)
            place = f'x="{x + 2:.1f}" y="{self._top + 12:.1f}"'
            if x > WIDTH - ROOM:
                place = f'x="{x - 2:.1f}" y="{self._top + 12:.1f}" text-anchor="end"'
            yield (
                f'<line x1="{x:.1f}" x2="{x:.1f}" y1="24" y2="{self.height:.1f}"/>'
                f"<text {place}>{_clock(at)}</text>"
            )

    def _chart(
        self, y: float, pool: str, limit: str, readings: Sequence[Reading]
    ) -> Iterator[str]:
        """The trailing minute's spend as an area, the limit as a line."""
        top = max(max(r.spent, r.limit or 0) for r in readings) or 1
        room, base = CHART - 12, y + CHART - 6

        def place(reading: Reading, figure: int) -> str:
            return f"{self._x(reading.at):.1f},{base - room * figure / top:.1f}"

        area = [place(reading, reading.spent) for reading in readings]
        first, last = self._x(readings[0].at), self._x(readings[-1].at)
        points = f"{first:.1f},{base:.1f} {' '.join(area)} {last:.1f},{base:.1f}"
        named = f"{_SHORT.get(limit, limit)}/min, {pool}"
        peak = max(reading.spent for reading in readings)
        title = f"<title>{_text(named)}: up to {peak:,}</title>"
        yield f'<polygon class="spent" points="{points}">{title}</polygon>'
        known = [place(r, r.limit) for r in readings if r.limit is not None]
        if known:
            yield f'<polyline class="limit" points="{" ".join(known)}"/>'
        figures = f"{peak:,} of {_limit(readings)}"
        said = (f"{_SHORT.get(limit, limit)}/min", pool, figures)
        for line, told in enumerate(said):
            where = f'x="2" y="{y + 16 + 14 * line:.1f}"'
            yield f"<text {where}>{_text(_cut(told))}</text>"

    def _row(self, y: float, row: RowId) -> Iterator[str]:
        name = str(row)
        if self._named:
            yield f'<text x="2" y="{y + 10:.1f}">{_text(_cut(name))}</text>'
        height = self._lane - (2 if self._named else 0.5)
        for stretch in _merged(self._timeline.rows[row], FINEST / self._scale):
            x = self._x(stretch.start)
            width = max(FINEST, (stretch.end - stretch.start) * self._scale)
            said = (
                f"{_text(name)}: {stretch.status.value} {_clock(stretch.start)} to "
                f"{_clock(stretch.end)}"
            )
            yield _rect(stretch.status.value, x, y, width, height, said)


def _chosen(timeline: Timeline) -> list[RowId]:
    """All rows, or of very many those that say most."""
    rows = list(timeline.rows)
    if len(rows) <= LANES_MAX:
        return rows

    def weight(row: RowId) -> tuple[bool, float]:
        held = timeline.rows[row]
        throttled = sum(s.end - s.start for s in held if s.status is Status.THROTTLED)
        return held[-1].status is Status.MISSING, throttled

    telling = sorted(rows, key=weight, reverse=True)[: LANES_MAX // 2]
    chosen = set(telling)
    others = [row for row in rows if row not in chosen]
    step = len(others) / (LANES_MAX - len(chosen))
    chosen.update(others[int(n * step)] for n in range(LANES_MAX - len(chosen)))
    return [row for row in rows if row in chosen]


def _merged(stretches: Sequence[Stretch], finest: float) -> list[Stretch]:
    """Draw what is too narrow to be seen with what was before it."""
    merged: list[Stretch] = []
    for stretch in stretches:
        narrow = stretch.end - stretch.start < finest
        if merged and narrow and stretch.status is not Status.THROTTLED:
            merged[-1] = Stretch(merged[-1].status, merged[-1].start, stretch.end)
        else:
            merged.append(stretch)
    return merged


def _rect(  # noqa: PLR0917  a rectangle has as many
    kind: str, x: float, y: float, width: float, height: float, title: str = ""
) -> str:
    """Return one; `title` is escaped already."""
    place = f'x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}"'
    if not title:
        return f'<rect class="{kind}" {place}/>'
    return f'<rect class="{kind}" {place}><title>{title}</title></rect>'


def _limit(readings: Sequence[Reading]) -> str:
    known = [reading.limit for reading in readings if reading.limit is not None]
    return f"{known[-1]:,}" if known else "an unknown limit"


def _cut(name: str) -> str:
    most = 28
    return name if len(name) <= most else "…" + name[-most + 1 :]


def _clock(seconds: float) -> str:
    whole = int(seconds)
    hours, rest = divmod(whole, 3_600)
    minutes, left = divmod(rest, 60)
    return f"{hours}:{minutes:02}:{left:02}" if hours else f"{minutes}:{left:02}"


def _text(value: str) -> str:
    return html.escape(clean(value), quote=True)
