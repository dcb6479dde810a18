"""The report as Markdown: the holes first, by cause, and how to finish.

Text of strangers stands in code spans, which know no links, images, HTML or
emphasis. A span's fence is longer than any run of backticks inside it, and pipes
are escaped so that a table keeps its columns.
"""

import re
from collections.abc import Iterable, Sequence

from fanout.disk.reports.as_json import iso
from fanout.disk.reports.budgeted import budgets_said
from fanout.disk.reports.report import Report, ReportRow
from fanout.words.clean import clean
from fanout.words.model import Usage

REASON_MAX = 300
"""Characters of a reason; the JSON has it whole."""
DOUBT = (
    "Calls that were in flight at a cut, a stop or a kill. The account may have "
    "charged nothing for them, and at most this:"
)

_PIPES = re.compile(r"(\\*)\|")


def report_md(report: Report) -> str:
    """Return the report as Markdown with tables."""
    simulated = " (simulated)" if report.simulated else ""
    parts = [
        f"# {span(report.name)}: {report.verdict}{simulated}",
        # Its figures and words are the product's own.
        report.standing,
        *([f"Because: {span(report.because)}"] if report.because else []),
        *_finish(report),
        *_missing(report.missing),
        *_doubtful(report.doubtful),
        "## Phases",
        _table(
            ("phase", "expected", "done", "missing", "open"),
            (
                (
                    span(p.name),
                    c.expected,
                    c.done,
                    c.missing,
                    c.expected - c.done - c.missing,
                )
                for p in report.phases
                for c in (p.counts,)
            ),
        ),
        "## Tokens",
        _tokens(report),
        report.cost,
        *_budgets(report),
        report.throttles,
        *([report.expected_of] if report.expected_of else []),
        *([span(report.ran_again)] if report.ran_again else []),
        "## Partitions",
        _partitions(report.partitions),
        *_notes(report.notes),
        _origin(report),
    ]
    return "\n\n".join(parts) + "\n"


def span(text: str, limit: int = REASON_MAX) -> str:
    """Return text as a code span that fits into a table; nothing for nothing."""
    shown = clean(text)
    if not shown.strip():
        return ""
    if len(shown) > limit:
        shown = shown[: limit - 1] + "…"
    runs = {len(run) for run in re.findall(r"`+", shown)}
    fence = "`" * next(n for n in range(1, len(runs) + 2) if n not in runs)
    pad = " " if shown[0] in "` " or shown[-1] in "` " else ""
    # An even number of backslashes before a pipe would not escape it.
    shown = _PIPES.sub(lambda m: m[1] + "\\" * (1 + len(m[1]) % 2) + "|", shown)
    return f"{fence}{pad}{shown}{pad}{fence}"


def _origin(report: Report) -> str:
    return (
        f"Run {span(report.run)}, life {report.life}, of {span(report.script)} on "
        f"{span(report.endpoint)}. Generated {iso(report.generated_at)}."
    )


def _finish(report: Report) -> list[str]:
    if not report.finish:
        return []
    return ["To finish it:", f"    {clean(report.finish)}"]


def _missing(holes: Sequence[ReportRow]) -> list[str]:
    if not holes:
        return []
    by_kind: dict[str, list[ReportRow]] = {}
    for hole in holes:
        by_kind.setdefault(hole.kind or "unknown", []).append(hole)
    parts = [f"## Missing: {len(holes):,}"]
    for kind, some in sorted(by_kind.items(), key=lambda item: -len(item[1])):
        parts.append(f"### {kind}: {len(some):,}")
        parts.append(
            _table(
                ("phase", "key", "reason", "attempts"),
                (
                    (span(p.phase), span(p.key), span(p.reason), p.attempts)
                    for p in some
                ),
            )
        )
    return parts


def _doubtful(rows: Sequence[ReportRow]) -> list[str]:
    """What calls that were cut or killed may have cost, row by row."""
    if not rows:
        return []
    return [
        f"## In doubt: {len(rows):,}",
        DOUBT,
        _table(
            ("phase", "key", "input, at most", "output, at most", "dollars, at most"),
            (
                (
                    span(p.phase),
                    span(p.key),
                    p.in_doubt.charged_input + p.in_doubt.cache_read_input_tokens,
                    p.in_doubt.output_tokens,
                    price(p.doubt_dollars),
                )
                for p in rows
            ),
        ),
    ]


def price(amount: float | None) -> str:
    """Return dollars as they stand in a table."""
    return "unknown" if amount is None else f"{amount:,.4f}"


def _tokens(report: Report) -> str:
    totals = report.totals
    rows: Iterable[tuple[str, Usage]] = (
        ("useful", totals.useful),
        ("wasted", totals.wasted),
        ("in doubt, at most", totals.in_doubt),
        ("overhead", totals.overhead),
    )
    return _table(
        ("", "input", "output", "cache read", "cache written"),
        ((name, *usage.as_dict().values()) for name, usage in rows),
    )


def _budgets(report: Report) -> Iterable[str]:
    for phase, told in budgets_said(report):
        whose = f" of {span(phase)}" if phase else ""
        yield f"Budget{whose}: {told}"


def _partitions(partitions: Iterable[ReportRow]) -> str:
    return _table(
        ("phase", "key", "status", "output or reason", "attempts", "tokens"),
        (
            (
                span(p.phase),
                span(p.key),
                p.status if p.kind is None else f"{p.status}: {p.kind}",
                span(p.output or p.reason),
                p.attempts,
                p.usage.total,
            )
            for p in partitions
        ),
    )


def _notes(notes: Sequence[str]) -> list[str]:
    return ["## To be noted", "\n".join(f"- {span(n)}" for n in notes)] if notes else []


def _table(head: Sequence[str], rows: Iterable[Sequence[str | int]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
    for row in rows:
        cells = (f"{c:,}" if isinstance(c, int) else c for c in row)
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)
