"""Why a known row runs again, in words."""

import pytest

from fanout.decide.again import FILES, difference, parts_of

OPENING = {
    "model": "m",
    "prompt": "p",
    "system": None,
    "inputs": "text",
    "tools": [{"name": "read"}],
    "schema": None,
    "max_tokens": 9,
    "max_turns": 5,
    "writes_output": False,
}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"inputs": "other"}, "its inputs changed"),
        (
            {"prompt": "q", "schema": {"type": "object"}},
            "its prompt and schema changed",
        ),
        ({"max_tokens": 10, "max_turns": 6}, "its limits changed"),
        (
            {"model": "n", "prompt": "q", "tools": []},
            "its prompt, tools and model changed",
        ),
        ({}, FILES),
    ],
)
def test_what_changed_is_named(changes: dict[str, object], said: str) -> None:
    assert difference(parts_of(OPENING), parts_of({**OPENING, **changes})) == said


def test_what_cannot_be_read_any_more_is_no_difference() -> None:
    assert difference({}, parts_of(OPENING)) == FILES
    assert parts_of("damaged") == {}


def test_a_client_s_request_is_compared_by_its_parts() -> None:
    body = {"model": "m", "messages": [{"role": "user", "content": "a"}]}
    other = {**body, "messages": [{"role": "user", "content": "b"}]}
    assert difference(parts_of(body), parts_of(other)) == "its messages changed"
