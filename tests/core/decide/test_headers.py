"""Headers are text from a stranger: nothing raises, nothing senseless is believed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanout.decide.admission.headers import read_limits, read_retry_after
from fanout.words.model import Dimension
from fanout.words.outcome import Triple

DATE = "Sun, 06 Nov 1994 08:49:37 GMT"
EPOCH = 784111777.0

GOOD = {
    "date": DATE,
    "anthropic-ratelimit-requests-limit": "50",
    "anthropic-ratelimit-requests-remaining": "49",
    "anthropic-ratelimit-requests-reset": "1994-11-06T08:49:39Z",
    "anthropic-ratelimit-tokens-limit": "60000",
    "anthropic-ratelimit-tokens-remaining": "1",
}


def test_a_triple_is_read_with_the_servers_clock() -> None:
    limits = read_limits(GOOD)
    assert limits.triples == {Dimension.REQUESTS: Triple(50, 49, EPOCH + 2)}
    assert limits.date == EPOCH
    assert limits.ignored == ()


def test_the_combined_triple_is_never_read() -> None:
    """It follows the tightest bucket: comparing with it waits for ever."""
    assert set(read_limits(GOOD).triples) == {Dimension.REQUESTS}


@pytest.mark.parametrize("text", ["", "-1", "many", "nan", "inf", "1e300", "0x10"])
def test_a_senseless_figure_is_named_and_left_out(text: str) -> None:
    limits = read_limits(GOOD | {"anthropic-ratelimit-requests-limit": text})
    assert limits.triples[Dimension.REQUESTS].limit is None
    assert "anthropic-ratelimit-requests-limit" in limits.ignored[0]


def test_a_limit_of_zero_is_no_limit() -> None:
    limits = read_limits(GOOD | {"anthropic-ratelimit-requests-limit": "0"})
    assert limits.triples[Dimension.REQUESTS].limit is None


def test_decimals_are_figures() -> None:
    limits = read_limits(GOOD | {"anthropic-ratelimit-requests-remaining": "48.0"})
    assert limits.triples[Dimension.REQUESTS].remaining == 48


@pytest.mark.parametrize("text", ["", "tomorrow", "1994-13-41T00:00:00Z", "99"])
def test_a_senseless_reset_is_left_out(text: str) -> None:
    limits = read_limits(GOOD | {"anthropic-ratelimit-requests-reset": text})
    assert limits.triples[Dimension.REQUESTS].reset is None
    assert limits.ignored


def test_no_headers_are_no_limits() -> None:
    assert read_limits({}).triples == {}


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "16"}, 16.0),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after": "0"}, 0.0),
        ({"retry-after": "-1"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "1000000000"}, 1e9),
        ({"retry-after": DATE}, 7.0),
        ({"retry-after": DATE, "date": "Sun, 06 Nov 1994 08:49:07 GMT"}, 30.0),
        ({"retry-after": "Sun, 06 Nov 1994 08:00:00 GMT"}, 0.0),
    ],
)
def test_retry_after_in_all_its_forms(
    headers: dict[str, str], seconds: float | None
) -> None:
    assert read_retry_after(headers, wall=EPOCH - 7) == seconds


NAMES = [name for name in GOOD if name != "date"]


@given(
    st.dictionaries(st.sampled_from([*NAMES, "date", "retry-after"]), st.text()),
    st.floats(0, 2e9),
)
def test_no_text_makes_the_reader_raise(headers: dict[str, str], wall: float) -> None:
    read_limits(headers)
    seconds = read_retry_after(headers, wall=wall)
    assert seconds is None or seconds >= 0
