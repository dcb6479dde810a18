"""The report as JSON: the contract that other programs read.

`report.schema.json` beside this file describes it. Fields may be added; the ones
that are there stay. The text is pure ASCII, so that printing it can do nothing to
a terminal, and loses nothing.
"""

import json
from datetime import UTC, datetime
from typing import Any

from fanout.disk.jsonline import to_json
from fanout.disk.reports.report import PhaseSummary, Report, ReportRow
from fanout.words.budgets import Budget, BudgetView

FORMAT = 1


def report_json(report: Report) -> str:
    """Return the report as indented JSON."""
    # Row by row: what is done in one go keeps everybody else waiting meanwhile.
    whole = {
        name: list(map(_plain, value)) if isinstance(value, list) else _plain(value)
        for name, value in as_dict(report).items()
    }
    return json.dumps(whole, indent=2, ensure_ascii=True) + "\n"


def _plain(value: Any) -> Any:
    """The value as JSON has it: no enums, no text that is none."""
    return json.loads(to_json(value))


def as_dict(report: Report) -> dict[str, Any]:
    """Return the report's fields by their names in the contract."""
    counts, totals = report.counts, report.totals
    return {
        "format": FORMAT,
        "run": report.run,
        "name": report.name,
        "state": report.state,
        "complete": report.complete,
        "expected": counts.expected,
        "done": counts.done,
        "missing": counts.missing,
        "queued": counts.queued,
        "running": counts.running,
        "throttled_now": counts.throttled,
        "exit_code": report.exit_code,
        "accepted": report.accepted,
        "simulated": report.simulated,
        "reason": report.reason,
        "finish": report.finish,
        "script": report.script,
        "arguments": list(report.arguments),
        "endpoint": report.endpoint,
        "model": report.model,
        "life": report.life,
        "folder": report.folder,
        "outputs": report.outputs,
        "started_at": iso(report.started_at),
        "generated_at": iso(report.generated_at),
        "usage": {
            "useful": totals.useful.as_dict(),
            "wasted": totals.wasted.as_dict(),
            "in_doubt": totals.in_doubt.as_dict(),
            "overhead": totals.overhead.as_dict(),
        },
        "dollars": totals.dollars,
        "budget": _budget(report.budget),
        "prices": {
            "as_of": report.priced.as_of,
            "source": report.priced.source,
            "overridden": list(report.priced.overridden),
        },
        "throttled": {"429": totals.refusals_429, "529": totals.refusals_529},
        "reused": totals.reused,
        "forecast": report.forecast,
        "phases": [_phase(phase) for phase in report.phases],
        "partitions": [_partition(partition) for partition in report.partitions],
        "notes": list(report.notes),
    }


def iso(at: float) -> str:
    """A wall-clock second as ISO 8601 in UTC."""
    try:
        return datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds")
    except (ValueError, OverflowError, OSError):
        return ""


def _phase(phase: PhaseSummary) -> dict[str, Any]:
    counts = phase.counts
    return {
        "name": phase.name,
        "expected": counts.expected,
        "done": counts.done,
        "missing": counts.missing,
        "queued": counts.queued,
        "running": counts.running,
        "throttled": counts.throttled,
        "budget": _budget(phase.budget),
    }


def _budget(view: BudgetView) -> dict[str, Any]:
    """Return ceilings (null is none), and how far the run has come towards them."""
    return {
        "max_tokens_total": view.budget.tokens,
        "max_usd": view.budget.dollars,
        "tokens": view.tokens,
        "dollars": view.dollars,
        "held_tokens": view.held_tokens,
        "held_dollars": view.held_dollars,
        "raised": [
            {
                "life": one.life,
                "seconds": round(one.seconds, 3),
                "by": "the screen",
                "from": _ceilings(one.before),
                "to": _ceilings(one.after),
            }
            for one in view.raised
        ],
    }


def _ceilings(budget: Budget) -> dict[str, Any]:
    return {"max_tokens_total": budget.tokens, "max_usd": budget.dollars}


def _partition(one: ReportRow) -> dict[str, Any]:
    return {
        "phase": one.phase,
        "key": one.key,
        "status": one.status,
        "kind": one.kind,
        "reason": one.reason,
        "attempts": one.attempts,
        "turns": one.turns,
        "output": one.output,
        "output_now": one.output_now,
        "sha256": one.sha256,
        "size": one.size,
        "reused_from": one.reused_from,
        "model": one.model,
        "throttled": {"429": one.throttled_429, "529": one.throttled_529},
        "usage": one.usage.as_dict(),
        "in_doubt": one.in_doubt.as_dict(),
        "in_doubt_dollars": one.doubt_dollars,
        "again": one.again,
        "dollars": one.dollars,
    }
