"""A request that continues an earlier one is known up to its last answer."""

from typing import Any

from fanout.decide.histories import Histories
from fanout.words.model import Usage


def said(role: str, text: str, **more: Any) -> dict[str, Any]:
    return {"role": role, "content": [{"type": "text", "text": text, **more}]}


FIRST = {"model": "m", "max_tokens": 9, "messages": [said("user", "a question")]}


def test_an_unknown_request_is_new_as_a_whole() -> None:
    known = Histories().look_up(FIRST)
    assert (known.turn, known.tokens, known.cached) == (1, 0, 0)
    assert known.new_bytes > len("a question")


def test_what_an_answer_has_measured_is_known() -> None:
    histories = Histories()
    histories.learn(FIRST, 1, Usage(100, 20, 30, 40))
    messages = [
        *FIRST["messages"],
        said("assistant", "an answer"),
        said("user", "more"),
    ]
    known = histories.look_up({**FIRST, "messages": messages, "stream": True})
    assert (known.turn, known.tokens, known.cached) == (2, 190, 70)
    assert known.new_bytes < 100


def test_breakpoints_and_the_answers_own_form_do_not_matter() -> None:
    histories = Histories()
    histories.learn(FIRST, 1, Usage(100, 20))
    marked = said("user", "a question", cache_control={"type": "ephemeral"})
    answer = said("assistant", "an answer", citations=None)
    messages = [marked, answer, said("user", "more")]
    assert histories.look_up({**FIRST, "messages": messages}).tokens == 120


def test_another_system_or_beginning_is_another_conversation() -> None:
    histories = Histories()
    histories.learn(FIRST, 1, Usage(100, 20))
    answer, more = said("assistant", "an answer"), said("user", "more")
    other = [said("user", "another"), answer, more]
    assert histories.look_up({**FIRST, "messages": other}).tokens == 0
    same = [*FIRST["messages"], answer, more]
    assert histories.look_up({**FIRST, "system": "s", "messages": same}).tokens == 0
