"""What a call has cost that did not say so, and what it may have cost.

Both figures are given as (wasted, in doubt): what is known to be charged for
nothing, and the most that may have been charged beyond it. An error before the
stream began charges nothing. A stream that broke, or was given up, has charged
its input; of its output only what reached us is known.
"""

import json
from dataclasses import replace

from fanout.decide.assembly import CHARACTERS_PER_TOKEN
from fanout.words.model import NO_USAGE, Need, Usage
from fanout.words.outcome import Answered, Broken, Refused

Losses = tuple[Usage, Usage]


def is_told(usage: Usage) -> bool:
    """Whether the service said what an answer has used: no call reads nothing."""
    return usage.charged_input + usage.cache_read_input_tokens > 0


def estimated(need: Need, outcome: Answered) -> Usage:
    """Return what an answer has used about, whose usage was not told."""
    text = json.dumps(outcome.message.get("content"), ensure_ascii=False)
    output = max(outcome.usage.output_tokens, len(text) // CHARACTERS_PER_TOKEN)
    return Usage(max(1, need.input + need.cached), output)


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
