"""What a report says of budgets, of the run's and of its phases'."""

from collections.abc import Iterator

from fanout.decide.money.saying import budget_said
from fanout.disk.reports.report import Report


def budgets_said(report: Report) -> Iterator[tuple[str, str]]:
    """Yield each budget's phase, empty for the run, and what there is to say of it."""
    views = [("", report.budget), *((one.name, one.budget) for one in report.phases)]
    for phase, view in views:
        if said := budget_said(view):
            yield phase, said
