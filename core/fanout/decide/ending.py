"""How a run ends: complete or not, accepted or not, and with which exit code.

Several causes may hold at once; the order in which they win is part of the
contract: signal (unless everything had been finished by then), defect, account,
budget, script, holes, none.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import floor

COMPLETE = 0
SCRIPT_RAISED = 1
USAGE = 2
INCOMPLETE = 3
BUDGET = 4
ACCOUNT = 5
DEFECT = 70
UNASKED = "unasked"
"""Cause of the stop where nobody could be asked."""
SIGNALS = {"SIGINT": 130, "quit": 130, "SIGTERM": 143, "SIGHUP": 129}
BY_A_PERSON = {
    "SIGINT": "interrupted (SIGINT)",
    "SIGTERM": "ended from outside (SIGTERM)",
    "SIGHUP": "the terminal went away (SIGHUP)",
    "quit": "quit on the screen",
}
"""What is said of a stop that gives no reason, wherever it came from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tolerance:
    """How many holes were declared acceptable: `N` or `P%` of the rows."""

    overall: str | None = None
    by_phase: Mapping[str, str] = field(default_factory=dict)
    said_in: str = "--allow-missing"
    """Where it was declared, for whoever has to mend it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """What is known when the last row has ended."""

    expected: Mapping[str, int]
    """Rows by phase."""
    missing: Mapping[str, int]
    """Missing rows by phase."""
    stop: str | None
    """Cause of the stop that was asked for, if any."""
    script: str
    """`returned`, `raised`, `exited`, `incomplete` or `cancelled`."""
    over_budget: bool = False
    """A budget of a phase or an agent has made rows missing."""
    usage_error: bool = False
    """The script could not be run as given."""


def stop_said(cause: str, reason: str) -> str:
    """Return why a run was stopped, in the same words everywhere."""
    return reason or BY_A_PERSON.get(cause, f"stopped ({cause})")


def script_said(outcome: str, text: str) -> str:
    """Return how a script ended, as a clause."""
    word = "could not go on" if outcome == "incomplete" else outcome
    return f"the script {word}: {text}" if text else f"the script {word}"


def tolerated(spec: str | None, expected: int) -> int:
    """Return how many holes `N` or `P%` of `expected` rows allows, rounded down."""
    if not spec:
        return 0
    if spec.endswith("%"):
        return floor(expected * float(spec[:-1]) / 100)
    return int(spec)


def shortfall(
    ended: Mapping[str, tuple[int, int]],
    *,
    overall: str | None,
    by_phase: Mapping[str, str],
) -> str:
    """Say which stated tolerance the ended phases fall short of; empty for none.

    `ended` gives (expected, missing) of each phase whose rows have all ended.
    """
    rest_expected = rest_missing = 0
    for phase, (expected, missing) in ended.items():
        if phase in by_phase:
            allowed = tolerated(by_phase[phase], expected)
            if missing > allowed:
                return (
                    f"phase {phase} fell short: {missing} of {expected} missing, "
                    f"{allowed} allowed"
                )
        else:
            rest_expected += expected
            rest_missing += missing
    if overall is not None and rest_missing > tolerated(overall, rest_expected):
        allowed = tolerated(overall, rest_expected)
        return f"{rest_missing} of {rest_expected} missing, {allowed} allowed"
    return ""


def is_accepted(
    ending: Ending, *, overall: str | None, by_phase: Mapping[str, str]
) -> bool:
    """Say whether the holes, if any, are within a stated tolerance.

    A phase with its own tolerance is held to that; the rest share `overall`.
    """
    rest_expected = rest_missing = 0
    for phase, expected in ending.expected.items():
        missing = ending.missing.get(phase, 0)
        if phase in by_phase:
            if missing > tolerated(by_phase[phase], expected):
                return False
        else:
            rest_expected += expected
            rest_missing += missing
    return rest_missing <= tolerated(overall, rest_expected)


def exit_code(ending: Ending, *, accepted: bool) -> int:
    """Return the exit code; see the module's docstring for what wins."""
    holes = sum(ending.missing.values())
    stop = ending.stop or ""
    finished = not holes and ending.script == "returned"
    if stop in SIGNALS and not (finished and SIGNALS[stop] == SIGNALS["SIGINT"]):
        return SIGNALS[stop]
    by_stop = {
        "defect": DEFECT,
        "account": ACCOUNT,
        "budget": BUDGET,
        UNASKED: USAGE,
    }
    if stop in by_stop:
        return by_stop[stop]
    if ending.usage_error:
        return USAGE
    if ending.over_budget and not accepted:
        return BUDGET
    return _script_code(ending, accepted=accepted)


def _script_code(ending: Ending, *, accepted: bool) -> int:
    """Return the code where nothing but the script and holes may count."""
    holes = sum(ending.missing.values())
    if ending.script in ("raised", "exited"):
        return SCRIPT_RAISED
    if ending.script == "incomplete" and not (accepted and holes):
        return INCOMPLETE
    return COMPLETE if accepted or not holes else INCOMPLETE
