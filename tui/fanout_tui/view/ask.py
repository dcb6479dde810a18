"""Questions that are asked before something changes, with their figures."""

from collections.abc import Sequence

from fanout.words.forecast import Asking
from fanout.words.model import Row, Status
from fanout.words.snapshot import Snapshot
from fanout_tui.text import one_line, plural, tokens
from fanout_tui.view.forecast import ceiling_forecast, means
from fanout_tui.view.plan import short_figures, short_phase
from fanout_tui.view.questions import Question

NAMED = 3
PHASES = 5
YES_NO = (("y", "yes"), ("n", "no, go back"))


def ask_requeue(snapshot: Snapshot, rows: Sequence[Row]) -> Question:
    """Before missing rows are reopened."""
    names = ", ".join(one_line(str(row.id)) for row in rows[:NAMED])
    if len(rows) > NAMED:
        names += f" and {len(rows) - NAMED} more"
    mean = means(list(snapshot.rows.values()))
    cost = "what it will cost is not known yet"
    if mean.count:
        cost = f"about {tokens(mean.total * len(rows))} tokens, as rows went so far"
    return Question(
        f"requeue {plural(len(rows), 'missing row')}?",
        (names, "They go on from their last turn.", cost),
        YES_NO,
    )


def ask_spend(asking: Asking) -> Question:
    """Before more is spent than may be without a word."""
    left = asking.left
    lines = [short_phase(phase) for phase in left.phases[:PHASES]]
    if len(left.phases) > PHASES:
        lines.append(f"and {plural(len(left.phases) - PHASES, 'more phase')}")
    lines += short_figures(left)
    if asking.spent:
        lines.append(f"{tokens(asking.spent)} tokens are spent already")
    title = "this goes beyond what was confirmed" if asking.again else "spend this?"
    return Question(
        title,
        tuple(lines),
        (
            ("y", f"yes: {plural(len(asking.rows), 'row')} wait for it"),
            ("n", "no, stop the run; it can be resumed"),
            ("esc", "decide later: c asks again"),
        ),
    )


def ask_cancel(row: Row) -> Question:
    """Before a row is given up."""
    spent = (row.tally.useful + row.tally.wasted).total
    return Question(
        "cancel this row?",
        (
            one_line(str(row.id)),
            f"{tokens(spent)} tokens spent on it; it ends missing: cancelled.",
            "r can reopen it.",
        ),
        YES_NO,
    )


def ask_quit(snapshot: Snapshot) -> Question:
    """How to leave a run that is not over."""
    flying = snapshot.ceiling.in_flight
    counts = snapshot.counts
    waiting = counts.queued + counts.throttled
    head = f"{plural(flying, 'call')} in flight, {plural(waiting, 'row')} waiting."
    return Question(
        "leave the run?",
        (head, "What is finished is kept, and the run can be resumed."),
        (
            ("d", f"drain: let what flies finish ({flying}), start nothing"),
            ("a", f"at once: give up what flies ({flying}), it stays resumable"),
            ("b", "keep running, in plain output"),
            ("esc", "go back"),
        ),
    )


def ceiling_answer(snapshot: Snapshot, change: int | None) -> str:
    """What a change of the ceiling will do, said before it does it."""
    now = snapshot.ceiling.limit
    if change is None:
        return "ceiling back to auto: it follows what the service carries"
    then = max(1, now + change)
    if then == now:
        return f"ceiling stays {now}: lower is not possible, p pauses"
    text = f"ceiling {now} → {then}, manual (A: auto)"
    effect = _effect(snapshot, now, then)
    return f"{text}: {effect}" if effect else text


def _effect(snapshot: Snapshot, now: int, then: int) -> str:
    """What another ceiling changes; empty where that is not known."""
    flying = plural(snapshot.ceiling.in_flight, "call")
    if then < snapshot.ceiling.in_flight:
        return f"nothing is cut, {flying} in flight go on"
    if now < then and snapshot.ceiling.in_flight < now:
        return f"{flying} in flight, it holds nothing up now"
    seen = ceiling_forecast(snapshot, then)
    if seen is None:
        return ""
    share = f"{seen.dimension.value} {seen.before:.0%} → {seen.after:.0%}"
    if seen.waiting:
        return f"{share}, {plural(seen.waiting, 'call')} would only wait"
    return f"{share}, fits"


def reopenable(rows: Sequence[Row]) -> tuple[Row, ...]:
    """Those a requeue would act on."""
    return tuple(row for row in rows if row.status is Status.MISSING)
