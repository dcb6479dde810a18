"""The report's rows as CSV, one line each; safe to open in a spreadsheet.

A cell that a spreadsheet would take for a formula begins with an apostrophe, and
so does what would begin a cell for a program that splits at semicolons. Control
and direction characters are shown as pictures. For exact text, use the JSON.
"""

import csv
import io
import re

from fanout.disk.reports.report import Report, ReportRow
from fanout.words.clean import clean, shortened

TOKENS = (
    "input_tokens",
    "output_tokens",
    "cache_read_input_tokens",
    "cache_creation_input_tokens",
)
COLUMNS = (
    "phase",
    "key",
    "status",
    "kind",
    "reason",
    "attempts",
    "turns",
    "output",
    "model",
    "reused_from",
    "throttled_429",
    "throttled_529",
    *TOKENS,
    *(f"in_doubt_{name}" for name in TOKENS),
    "in_doubt_dollars",
    "again",
    "dollars",
)

CELL_MAX = 4_000
"""Characters of a cell, before pictures; spreadsheets end at 32,767."""

_FORMULA = re.compile(
    r"""^(?=[\s"']*[=+\-@\uff1d\uff0b\uff0d\uff20])|^(?=[\u2400-\u2421])"""
)
_SPLIT_FORMULA = re.compile(r"""(;[\s"']*)(?=[=+\-@\uff1d\uff0b\uff0d\uff20])""")


def report_csv(report: Report) -> str:
    """Return the rows as RFC 4180 text."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow(COLUMNS)
    writer.writerows(_cells(partition) for partition in report.partitions)
    return text.getvalue()


def cell(text: str) -> str:
    """Return text that no spreadsheet takes for anything but text."""
    shown = _SPLIT_FORMULA.sub(r"\1'", clean(shortened(text, CELL_MAX)))
    return f"'{shown}" if _FORMULA.match(shown) else shown


def _cells(one: ReportRow) -> list[str | int]:
    return [
        cell(one.phase),
        cell(one.key),
        one.status,
        one.kind or "",
        cell(one.reason),
        one.attempts,
        one.turns,
        cell(one.output or ""),
        cell(one.model or ""),
        cell(one.reused_from or ""),
        one.throttled_429,
        one.throttled_529,
        *one.usage.as_dict().values(),
        *one.in_doubt.as_dict().values(),
        _price(one.doubt_dollars),
        cell(one.again),
        _price(one.dollars),
    ]


def _price(amount: float | None) -> str:
    return "" if amount is None else f"{amount:.6f}"
