"""The report as one HTML file that loads nothing and runs nothing.

Everything is escaped, direction and control characters are pictures, and the
page's own policy forbids scripts and loads of any kind. Its one style sheet is
allowed by its digest.
"""

import base64
import hashlib
import html
from collections.abc import Iterable, Sequence
from pathlib import Path

from fanout.disk.reports.as_json import iso
from fanout.disk.reports.as_md import DOUBT, price
from fanout.disk.reports.as_timeline import STYLE as TIMELINE
from fanout.disk.reports.as_timeline import timeline_html, timeline_of
from fanout.disk.reports.budgeted import budgets_said
from fanout.disk.reports.report import Report, ReportRow
from fanout.words.clean import clean, shortened

TEXT_MAX = 4_000
"""Characters of one text; the JSON has it whole."""

STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 72rem;
  padding: 0 1rem; color: #1b1b1b; background: #fff; }
table { border-collapse: collapse; width: 100%; margin: 0.5rem 0 1.5rem; }
th, td { text-align: left; padding: 0.3rem 0.6rem; border-bottom: 1px solid #ddd;
  vertical-align: top; overflow-wrap: anywhere; }
th { overflow-wrap: normal; }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums;
  white-space: nowrap; }
.wide { overflow-x: auto; }
tr.missing td { background: #fdecea; }
code { font: 13px/1.4 ui-monospace, monospace; }
@media (prefers-color-scheme: dark) {
  :root { color-scheme: dark; }
  body { color: #e4e4e4; background: #16181a; }
  th, td { border-color: #3a3a3a; } tr.missing td { background: #47201c; }
}
"""
STYLE += TIMELINE
_DIGEST = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
POLICY = (
    f"default-src 'none'; style-src 'sha256-{_DIGEST}'; "
    "base-uri 'none'; form-action 'none'"
)


def report_html(report: Report) -> str:
    """Return the report as a page of its own.

    Its timeline comes from the journal in the report's folder, if that is there.
    """
    simulated = " (simulated)" if report.simulated else ""
    title = f"{report.name}: {report.verdict}{simulated}"
    finish = (
        f"<p>To finish it: <code>{text(report.finish)}</code></p>"
        if report.finish
        else ""
    )
    body = "\n".join(
        [
            f"<h1>{text(title)}</h1>",
            f"<p>{text(report.standing)}</p>",
            f"<p>Because: {text(report.because)}</p>" if report.because else "",
            finish,
            _missing(report.missing),
            _doubtful(report.doubtful),
            timeline_html(timeline_of(Path(report.folder))),
            "<h2>Phases</h2>",
            _phases(report),
            "<h2>Tokens</h2>",
            _tokens(report),
            "<h2>Partitions</h2>",
            _partitions(report.partitions),
            "".join(f"<p>To be noted: {text(note)}</p>" for note in report.notes),
            _origin(report),
        ]
    )
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        '<meta name="referrer" content="no-referrer">\n'
        f"<title>{text(title)}</title>\n<style>{STYLE}</style>\n</head>\n"
        f"<body>\n{body}\n</body>\n</html>\n"
    )


def text(value: str) -> str:
    """Return text that a browser shows and never acts on."""
    return html.escape(clean(shortened(value, TEXT_MAX)), quote=True)


def _origin(report: Report) -> str:
    return (
        f"<p>Run <code>{text(report.run)}</code>, life {report.life}, of "
        f"<code>{text(report.script)}</code> on "
        f"<code>{text(report.endpoint)}</code>. "
        f"Generated {iso(report.generated_at)}.</p>"
    )


def _missing(holes: Sequence[ReportRow]) -> str:
    if not holes:
        return ""
    rows = ((p.phase, p.key, p.kind or "", p.reason, p.attempts) for p in holes)
    head = ("phase", "key", "kind", "reason", "attempts")
    return f"<h2>Missing: {len(holes):,}</h2>\n" + _table(head, rows)


def _doubtful(rows: Sequence[ReportRow]) -> str:
    if not rows:
        return ""
    head = ("phase", "key", "input, at most", "output, at most", "dollars, at most")
    cells = (
        (
            p.phase,
            p.key,
            p.in_doubt.charged_input + p.in_doubt.cache_read_input_tokens,
            p.in_doubt.output_tokens,
            price(p.doubt_dollars),
        )
        for p in rows
    )
    return f"<h2>In doubt: {len(rows):,}</h2>\n<p>{DOUBT}</p>" + _table(head, cells)


def _phases(report: Report) -> str:
    counts = ((p.name, p.counts) for p in report.phases)
    return _table(
        ("phase", "expected", "done", "missing", "open"),
        (
            (name, c.expected, c.done, c.missing, c.expected - c.done - c.missing)
            for name, c in counts
        ),
    )


def _tokens(report: Report) -> str:
    totals = report.totals
    rows = (
        ("useful", totals.useful),
        ("wasted", totals.wasted),
        ("in doubt, at most", totals.in_doubt),
        ("overhead", totals.overhead),
    )
    table = _table(
        ("", "input", "output", "cache read", "cache written"),
        ((name, *usage.as_dict().values()) for name, usage in rows),
    )
    again = f"<p>{text(report.ran_again)}</p>" if report.ran_again else ""
    told = f"<p>{text(report.expected_of)}</p>" if report.expected_of else ""
    cost = f"<p>{text(report.cost)}</p>"
    for phase, budget in budgets_said(report):
        whose = f" of <bdi>{text(phase)}</bdi>" if phase else ""
        cost += f"<p>Budget{whose}: {text(budget)}</p>"
    return f"{table}{cost}<p>{text(report.throttles)}</p>{told}{again}"


def _partitions(partitions: Iterable[ReportRow]) -> str:
    return _table(
        ("phase", "key", "status", "output", "reason", "attempts", "tokens"),
        (
            (
                p.phase,
                p.key,
                p.status if p.kind is None else f"{p.status}: {p.kind}",
                p.output or "",
                p.reason,
                p.attempts,
                p.usage.total,
            )
            for p in partitions
        ),
    )


def _table(head: Sequence[str], rows: Iterable[Sequence[str | int]]) -> str:
    lines = [
        '<div class="wide"><table>',
        "<tr>" + "".join(f"<th>{name}</th>" for name in head) + "</tr>",
    ]
    for row in rows:
        is_hole = any(isinstance(c, str) and c.startswith("missing: ") for c in row)
        cells = "".join(_cell(c) for c in row)
        lines.append(
            f'<tr class="missing">{cells}</tr>' if is_hole else f"<tr>{cells}</tr>"
        )
    return "\n".join([*lines, "</table></div>"])


def _cell(value: str | int) -> str:
    if isinstance(value, int):
        return f'<td class="n">{value:,}</td>'
    return f"<td><bdi>{text(value)}</bdi></td>"
