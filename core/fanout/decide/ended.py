"""How a run ended, as people are told it, and what to type to finish it.

The engine, a watcher of the journal and the report ask here, so they say the same.
"""

import json
import shlex

from fanout.decide.ending import (
    DEFECT,
    SCRIPT_RAISED,
    script_said,
    stop_said,
)
from fanout.decide.fold.state import RunState
from fanout.decide.money.finishing import options_to_finish
from fanout.words.counted import of_them
from fanout.words.events import RunEnded, ScriptEnded
from fanout.words.snapshot import CRASHED, KILLED, Counts, RunEnd, RunInfo

INCOMPLETE = "incomplete"
OF_SCRIPTS = {"raised": "script raised", "exited": "script exited"}
WORDS = frozenset(
    {
        *("starting", "running", "paused", "draining", "stopping", "finished"),
        *("complete", INCOMPLETE, "incomplete, accepted", KILLED, CRASHED),
        *OF_SCRIPTS.values(),
    }
)
"""All that a run's standing is ever called; what else a journal says is not told."""


def ended(state: RunState, info: RunInfo) -> RunEnd | None:
    """Return how a run ended; None while it has not come to its end."""
    event = state.end
    if event is None:
        return None
    cause = _cause(state)
    return RunEnd(
        at=state.ended_at,
        exit_code=event.exit_code,
        complete=event.complete,
        accepted=event.accepted,
        word=word_of(event, state.script_end),
        cause=cause,
        reason=cause or _counted(state.counts, accepted=event.accepted),
        finish="" if event.complete else finish_command(info, options_to_finish(state)),
        result=_result(state),
    )


def word_of(end: RunEnded, script: ScriptEnded | None) -> str:
    """Return what an end is called: in lists, headlines and the log."""
    if end.complete:
        return "complete"
    if end.accepted:
        return "incomplete, accepted"
    # A stop wins over what the script made of it.
    if end.exit_code == SCRIPT_RAISED and script is not None:
        return OF_SCRIPTS.get(script.outcome, INCOMPLETE)
    return INCOMPLETE


def broken_off(
    word: str, info: RunInfo, state: RunState, tampered: str = ""
) -> RunEnd | None:
    """Return the end of a run that had none of its own; None for one that lives.

    `tampered` names what the script has replaced that an engine cannot do without.
    """
    if word not in {KILLED, CRASHED}:
        return None
    code: int | None = DEFECT
    cause = "fanout-tui itself failed"
    if word == KILLED:
        code, cause = None, "killed before its end"
    elif tampered:
        cause = f"the script has replaced {tampered}, without which no run can go on"
        code = SCRIPT_RAISED
    return RunEnd(
        at=state.at,
        exit_code=code,
        complete=False,
        accepted=False,
        word=word,
        cause=cause,
        reason=f"{cause}: {_counted(state.counts)}",
        finish=finish_command(info, options_to_finish(state)),
    )


def finish_command(info: RunInfo, more: str = "") -> str:
    """Return what to type to finish a run; `more` are the options it needs."""
    return f"fanout-tui resume{more} {named(info)}"


def named(info: RunInfo) -> str:
    """Return what stands for a run on the command line: its id where that is found."""
    holder = info.folder.rstrip("/").rpartition("/")[0]
    usual = not info.folder or holder.rpartition("/")[2] == ".fanout"
    return shlex.quote(info.id if usual else info.folder)


def _cause(state: RunState) -> str:
    """Why it ended before everything was done; empty when nothing cut it short."""
    if state.stop is not None:
        return stop_said(state.stop.cause, state.stop.reason)
    script = state.script_end
    if script is not None and script.outcome != "returned":
        return script_said(script.outcome, script.text)
    return ""


def _counted(counts: Counts, *, accepted: bool = False) -> str:
    if counts.missing:
        verb = "is" if counts.missing == 1 else "are"
        text = f"{of_them(counts.missing, counts.expected, 'partition')} {verb} missing"
        return f"{text}, within the stated tolerance" if accepted else text
    return f"{of_them(counts.done, counts.expected, 'partition')} done"


def _result(state: RunState) -> str:
    """What `main` returned, as it is printed; empty for nothing."""
    value = None if state.script_end is None else state.script_end.value
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, indent=2)
