"""What a call that ended without an answer has cost, and what it may have cost.

Both figures are given as (wasted, in doubt): what is known to be charged for
nothing, and the most that may have been charged beyond it. An error before the
stream began charges nothing. A stream that broke, or was given up, has charged
its input; of its output only what reached us is known.
"""

from dataclasses import replace

from fanout.words.model import NO_USAGE, Need, Usage
from fanout.words.outcome import Broken, Refused

Losses = tuple[Usage, Usage]


def given_up(need: Need, seen: Usage, *, sent: bool) -> Losses:
    """Return the losses of a call that we gave up; `seen` is what it had told."""
    if not sent:
        return NO_USAGE, NO_USAGE
    if not seen.total:
        return NO_USAGE, need.worst
    return replace(seen, output_tokens=0), Usage(0, need.worst_output)


def failed(need: Need, outcome: Refused | Broken) -> Losses:
    """Return the losses of a call that the service refused, or that broke."""
    seen = outcome.usage
    if isinstance(outcome, Refused) and not seen.total:
        return NO_USAGE, NO_USAGE
    if isinstance(outcome, Broken) and outcome.stage == "connect":
        return NO_USAGE, NO_USAGE
    if not seen.total:
        return NO_USAGE, need.worst
    return seen, Usage(0, max(0, need.worst_output - seen.output_tokens))
