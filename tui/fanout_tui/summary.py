"""The end of a run in at most twelve lines, for stdout after the screen closed."""

from collections.abc import Sequence

from fanout.decide.forecast.compare import compared, outcome
from fanout.words.snapshot import Snapshot
from fanout_tui.plain import encodable
from fanout_tui.text import clock_time, cut_end, dollars, one_line, plural, tokens
from fanout_tui.view.look import moment
from fanout_tui.view.report import by_cause

LINES_MAX = 12
CAUSES_MAX = 4
LINE_CELLS = 160


def summary_lines(
    snapshot: Snapshot, reports: str | Sequence[object] = ()
) -> list[str]:
    """What was done, what is missing and why, what it cost, how to finish."""
    run, end, counts = snapshot.run, snapshot.end, snapshot.counts
    took = clock_time(moment(snapshot, snapshot.at) - run.started_at)
    mark = " (simulated)" if run.simulated else ""
    lines = [
        (
            f"fanout {one_line(run.name)}{mark}: "
            f"{counts.done} of {counts.expected} done, {counts.missing} missing, {took}"
        )
    ]
    if end is not None and end.reason:
        lines.append(f"  ended      {one_line(end.reason)}")
    lines += _missing(snapshot)
    lines += _spent(snapshot)
    written = [reports] if isinstance(reports, str) else map(str, reports)
    where = "  ".join(written) or run.folder
    lines.append(f"  report     {one_line(where)}")
    if end is not None:
        if end.finish:
            lines.append(f"  finish     {one_line(end.finish)}")
        code = "none" if end.exit_code is None else end.exit_code
        lines.append(f"  exit code  {code}")
    return lines[:LINES_MAX]


def _missing(snapshot: Snapshot) -> list[str]:
    groups = by_cause(snapshot)
    lines = []
    for group in groups[:CAUSES_MAX]:
        kind = group.kind.value if group.kind else "unknown"
        first = one_line(str(group.rows[0].id))
        names = (
            first if len(group.rows) == 1 else f"{first} and {len(group.rows) - 1} more"
        )
        reason = f": {group.reason}" if group.reason and group.reason != kind else ""
        text = f"  missing    {len(group.rows)} x {kind}{reason} ({names})"
        lines.append(cut_end(text, LINE_CELLS))
    rest = sum(len(group.rows) for group in groups[CAUSES_MAX:])
    if rest:
        lines[-1:] = [
            lines[-1],
            f"  missing    {plural(rest, 'row')} for other reasons",
        ]
    return lines


def _spent(snapshot: Snapshot) -> list[str]:
    totals = snapshot.totals
    text = (
        f"  tokens     {tokens(totals.useful.total)} useful, "
        f"{tokens(totals.wasted.total)} wasted"
    )
    if totals.in_doubt.total:
        text += f", {tokens(totals.in_doubt.total)} in doubt"
    if totals.reused:
        text += f", {plural(totals.reused, 'row')} reused"
    throttled = totals.refusals_429 + totals.refusals_529
    used = totals.useful + totals.wasted
    end = moment(snapshot, snapshot.at)
    told = outcome(compared(snapshot.foreseen, used, totals.dollars, end))
    return [
        f"{text}, {dollars(totals.dollars)}",
        *([f"  forecast   {told}"] if told else []),
        (
            f"  throttled  {plural(throttled, 'time')} "
            f"(429 x {totals.refusals_429}, 529 x {totals.refusals_529})"
        ),
    ]


def summary(
    snapshot: Snapshot,
    reports: str | Sequence[object] = (),
    encoding: str | None = None,
) -> str:
    """The lines as one text that a stream of this encoding can take.

    `reports` are the paths that were written; none: the run folder is named.
    """
    text = "\n".join(summary_lines(snapshot, reports))
    return encodable(text, encoding)
