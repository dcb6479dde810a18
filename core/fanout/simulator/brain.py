"""What the scripted model answers."""

from fanout.simulator.answer import Answer, cut_to, text_answer
from fanout.simulator.call import Call
from fanout.simulator.profile import Profile


def answer(call: Call, _seed: int, _profile: Profile) -> Answer:
    """A text of the ordered length."""
    text = "So it is. " * max(1, call.directive.output // 3)
    return cut_to(text_answer(text), call.output_tokens_max)
