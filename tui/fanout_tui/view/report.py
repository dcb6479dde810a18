"""Completeness on the screen: what was delivered, what was not, and why not."""

from dataclasses import dataclass, replace

from fanout.decide.money.saying import budget_said
from fanout.words.model import MissingKind, Row, RowId, Status
from fanout.words.snapshot import Snapshot
from fanout_tui.text import (
    cut_start,
    dollars,
    left,
    one_line,
    plural,
    right,
    tokens,
    wrap,
)
from fanout_tui.view.look import Look
from fanout_tui.view.spans import Line, Span, fit

MEANINGS = {
    Status.DONE: "output there, whole and valid",
    Status.RUNNING: "being worked on",
    Status.THROTTLED: "waiting for the service, comes back by itself",
    Status.QUEUED: "waiting for its turn",
    Status.MISSING: "ended without its output: {missing} an error, {absent} nothing",
}
FILES = ("report.json", "report.md", "report.csv", "report.html")
"""What `w` has written into the run's folder."""
NOTHING = "there is nothing to open here"
EXAMPLES = 3
CAUSES_MAX = 12


@dataclass(frozen=True, slots=True)
class CauseGroup:
    """Rows that are missing for one reason."""

    kind: MissingKind | None
    reason: str
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class ReportLine:
    """A line, and what `enter` on it leads to."""

    line: Line
    opens: RowId | str | None = None
    """A row, or a filter that lists several; None: nothing."""


def by_cause(snapshot: Snapshot) -> list[CauseGroup]:
    """The missing rows, the largest group first."""
    groups: dict[tuple[MissingKind | None, str], list[Row]] = {}
    for row in snapshot.rows.values():
        if row.status is Status.MISSING:
            kind = row.end.kind if row.end else None
            reason = one_line(row.end.reason) if row.end else ""
            groups.setdefault((kind, reason), []).append(row)
    ordered = sorted(groups.items(), key=lambda item: -len(item[1]))
    return [CauseGroup(kind, reason, tuple(rows)) for (kind, reason), rows in ordered]


def report_lines(look: Look) -> tuple[ReportLine, ...]:
    """The whole report screen below the top lines."""
    snapshot = look.snapshot
    lines: list[Line | ReportLine] = [
        (),
        _share(look),
        (),
        *(_status(look, status) for status in MEANINGS),
        (),
        *_phases(look),
        *_causes(look),
        *_spent(look),
        *_budgets(look),
        (),
    ]
    if snapshot.end and snapshot.end.finish:
        lines += _long("finish", snapshot.end.finish, look.width, "command")
    lines += _long("folder", snapshot.run.folder, look.width)
    for text in wrap(f"w writes {', '.join(FILES)} there", look.width - 3):
        lines.append((Span(f"  {text}", "dim"),))
    whole = (one if isinstance(one, ReportLine) else ReportLine(one) for one in lines)
    return tuple(
        replace(one, line=fit(one.line, look.width, look.glyphs.more)) for one in whole
    )


def _budgets(look: Look) -> list[Line]:
    """Each budget with what was spent of it, and how it came to be what it is."""
    views = {"": look.snapshot.budget, **look.snapshot.phase_budgets}
    lines: list[Line] = []
    for phase, view in views.items():
        if said := budget_said(view):
            whose = f" of {one_line(phase)}" if phase else ""
            texts = wrap(f"budget{whose}: {said}", look.width - 3)
            lines += [(Span(f"  {text}"),) for text in texts]
    return lines


def _long(label: str, text: str, cells: int, style: str = "") -> list[Line]:
    """What is to be copied: whole, on as many lines as it takes."""
    first, *rest = wrap(one_line(text), cells - 12)
    head = Span(f"  {label:<9}", "dim")
    return [(head, Span(first, style)), *((Span(" " * 11 + r, style),) for r in rest)]


def _share(look: Look) -> Line:
    counts = look.snapshot.counts
    # Rounded down: 99.999 % is not all.
    share = counts.done * 10_000 // max(1, counts.expected) / 100
    ended = counts.done + counts.missing
    open_rows = counts.expected - ended
    text = f"{counts.done} of {counts.expected} done = {share:.2f}%"
    if not counts.expected:
        text = "no row was asked for" if look.over else "no row yet"
    tail = f"{open_rows} not ended yet" if open_rows else "every row has ended"
    return (Span("  Completeness  ", "title"), Span(f"{text}   "), Span(tail, "dim"))


def _status(look: Look, status: Status) -> Line:
    count = look.snapshot.counts.of(status)
    style = status.value if count else "dim"
    return (
        Span(f"  {look.glyphs.status(status)} ", style),
        Span(left(status.value, 10), style),
        Span(right(str(count), 7) + "   "),
        Span(
            MEANINGS[status].format(
                missing=look.glyphs.missing, absent=look.glyphs.absent
            ),
            "dim",
        ),
    )


def _phases(look: Look) -> list[Line]:
    """One line a phase, when there are several."""
    tallies: dict[str, list[int]] = {}
    for row in look.snapshot.rows.values():
        tally = tallies.setdefault(row.id.phase, [0, 0, 0])
        tally[0] += 1
        tally[1] += row.status is Status.DONE
        tally[2] += row.status is Status.MISSING
    if len(tallies) <= 1:
        return []
    lines: list[Line] = [(Span("  Phases", "title"),)]
    for phase, (expected, done, missing) in tallies.items():
        text = f"{done} of {expected} done"
        if missing:
            text += f", {missing} missing"
        lines.append((Span("    " + left(one_line(phase), 22)), Span(" " + text)))
    return [*lines, ()]


def _causes(look: Look) -> list[Line | ReportLine]:
    groups = by_cause(look.snapshot)
    if not groups:
        text = "  Nothing is missing" + ("" if look.over else " so far")
        return [(Span(text, "dim"),), ()]
    lines: list[Line | ReportLine] = [(Span("  Missing, by cause", "title"),)]
    for group in groups[:CAUSES_MAX]:
        lines += _cause(look, group)
    if len(groups) > CAUSES_MAX:
        rest = plural(len(groups) - CAUSES_MAX, "more cause")
        text = f"    and {rest}: enter lists all that is missing"
        lines.append(ReportLine((Span(text),), opens=Status.MISSING.value))
    return [*lines, ()]


def _cause(look: Look, group: CauseGroup) -> list[Line | ReportLine]:
    """The cause, then some of its rows, each of which can be opened."""
    first = group.rows[0]
    kind = group.kind.value if group.kind else "unknown"
    style = "missing" if look.glyphs.of(first) == look.glyphs.missing else "absent"
    lines: list[Line | ReportLine] = [
        (
            Span(f"  {look.glyphs.of(first)} ", style),
            Span(f"{len(group.rows):>4} x {kind}", style),
            Span(f": {group.reason}" if group.reason != kind else ""),
        )
    ]
    several = len({row.id.phase for row in look.snapshot.rows.values()}) > 1
    for row in group.rows[:EXAMPLES]:
        name = one_line(str(row.id) if several else row.id.key)
        name = cut_start(name, look.width - 12, look.glyphs.more)
        lines.append(ReportLine((Span(f"           {name}", "dim"),), opens=row.id))
    if (rest := len(group.rows) - EXAMPLES) > 0:
        text = f"           and {rest} more: enter lists them"
        words = " ".join(f"why:{word}" for word in kind.split())
        only = f"{Status.MISSING.value} {words}"
        lines.append(ReportLine((Span(text, "dim"),), opens=only))
    return lines


def _spent(look: Look) -> list[Line]:
    """Tokens by what they were for; the four classes apart."""
    totals = look.snapshot.totals
    head = f"  {'Tokens':<10}{'in':>9}{'cache wr':>10}{'cache rd':>10}{'out':>9}"
    lines: list[Line] = [(Span(head, "title"),)]
    for name, usage in (
        ("useful", totals.useful),
        ("wasted", totals.wasted),
        ("in doubt", totals.in_doubt),
        ("overhead", totals.overhead),
    ):
        figures = (
            f"{tokens(usage.input_tokens):>9}"
            f"{tokens(usage.cache_creation_input_tokens):>10}"
            f"{tokens(usage.cache_read_input_tokens):>10}"
            f"{tokens(usage.output_tokens):>9}"
        )
        lines.append((Span(f"  {name:<10}", "dim"), Span(figures)))
    text = (
        f"  throttled: 429 x {totals.refusals_429}, 529 x {totals.refusals_529}"
        f"   reused: {totals.reused}   cost: {dollars(totals.dollars)}"
    )
    return [*lines, (Span(text),)]
