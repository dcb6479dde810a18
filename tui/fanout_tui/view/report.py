"""Completeness on the screen: what was delivered, what was not, and why not."""

from dataclasses import dataclass

from fanout.words.model import MissingKind, Row, Status
from fanout.words.snapshot import Snapshot
from fanout_tui.text import dollars, left, one_line, plural, right, tokens
from fanout_tui.view.look import Look
from fanout_tui.view.spans import Line, Span, fit

MEANINGS = {
    Status.DONE: "output there, whole and valid",
    Status.RUNNING: "being worked on",
    Status.THROTTLED: "waiting for the service, comes back by itself",
    Status.QUEUED: "waiting for its turn",
    Status.MISSING: "ended without its output: {missing} an error, {absent} nothing",
}
EXAMPLES = 3
CAUSES_MAX = 12


@dataclass(frozen=True, slots=True)
class CauseGroup:
    """Rows that are missing for one reason."""

    kind: MissingKind | None
    reason: str
    rows: tuple[Row, ...]


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


def report_lines(look: Look) -> tuple[Line, ...]:
    """The whole report screen below the top lines."""
    snapshot = look.snapshot
    lines: list[Line] = [
        (),
        _share(look),
        (),
        *(_status(look, status) for status in MEANINGS),
        (),
        *_phases(look),
        *_causes(look),
        *_spent(look),
        (),
    ]
    if snapshot.end and snapshot.end.finish:
        finish = Span(one_line(snapshot.end.finish), "command")
        lines.append((Span("  finish   ", "dim"), finish))
    folder = one_line(snapshot.run.folder)
    lines.append((Span("  folder   ", "dim"), Span(folder)))
    lines.append((Span("  w writes `report.json` and `report.md` there", "dim"),))
    return tuple(fit(line, look.width, look.glyphs.more) for line in lines)


def _share(look: Look) -> Line:
    counts = look.snapshot.counts
    # Rounded down: 99.999 % is not all.
    share = counts.done * 10_000 // max(1, counts.expected) / 100
    ended = counts.done + counts.missing
    open_rows = counts.expected - ended
    text = f"{counts.done} of {counts.expected} done = {share:.2f}%"
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
    if len(tallies) == 1:
        return []
    lines: list[Line] = [(Span("  Phases", "title"),)]
    for phase, (expected, done, missing) in tallies.items():
        text = f"{done} of {expected} done"
        if missing:
            text += f", {missing} missing"
        lines.append((Span("    " + left(one_line(phase), 22)), Span(" " + text)))
    return [*lines, ()]


def _causes(look: Look) -> list[Line]:
    groups = by_cause(look.snapshot)
    if not groups:
        return [(Span("  Nothing is missing so far", "dim"),), ()]
    lines: list[Line] = [(Span("  Missing, by cause", "title"),)]
    for group in groups[:CAUSES_MAX]:
        first = group.rows[0]
        kind = group.kind.value if group.kind else "unknown"
        style = "missing" if look.glyphs.of(first) == look.glyphs.missing else "absent"
        names = ", ".join(one_line(row.id.key) for row in group.rows[:EXAMPLES])
        rest = len(group.rows) - EXAMPLES
        if rest > 0:
            names += f" and {rest} more"
        lines.append(
            (
                Span(f"  {look.glyphs.of(first)} ", style),
                Span(f"{len(group.rows):>4} x {kind}", style),
                Span(f": {group.reason}" if group.reason != kind else ""),
            )
        )
        lines.append((Span(f"           {names}", "dim"),))
    if len(groups) > CAUSES_MAX:
        lines.append(
            (Span(f"    and {plural(len(groups) - CAUSES_MAX, 'more cause')}"),)
        )
    return [*lines, ()]


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
