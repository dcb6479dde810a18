"""Whose fault an outcome is, and when its row may try again."""

import pytest

from fanout.decide.admission.clock import OpenSeconds
from fanout.decide.admission.retry import Tries, Verdict, classify, next_try
from fanout.words.model import Cause, Dimension, MissingKind, Usage
from fanout.words.outcome import Answered, Broken, Limits, Refused, Triple

QUOTA = Limits(triples={Dimension.INPUT: Triple(1, 0, 0.0)})
NO_QUOTA = Limits()


def refused(
    status: int,
    kind: str | None = None,
    *,
    code: str | None = None,
    message: str = "",
    limits: Limits = NO_QUOTA,
    retry_after: float | None = None,
) -> Refused:
    return Refused(
        status=status,
        type=kind,
        code=code,
        message=message,
        retry_after=retry_after,
        limits=limits,
        request_id=None,
    )


LIMITED = "rate_limit_error"


@pytest.mark.parametrize(
    ("outcome", "cause"),
    [
        (refused(429, LIMITED, limits=QUOTA, retry_after=16), Cause.LIMIT),
        (refused(429, LIMITED, limits=QUOTA), Cause.LIMIT),
        (refused(429, LIMITED, retry_after=5), Cause.LIMIT),
        (refused(429, None, retry_after=5), Cause.LIMIT),
        (refused(200, LIMITED, limits=QUOTA), Cause.LIMIT),
        (refused(429, LIMITED, code="ramp_limit_exceeded", limits=QUOTA), Cause.RAMP),
        (
            refused(429, LIMITED, message="… maximum usage increase rate for input …"),
            Cause.RAMP,
        ),
        (
            refused(429, LIMITED, message="Number of concurrent connections has …"),
            Cause.CONCURRENCY,
        ),
        (refused(429, LIMITED, message="Rate limited"), Cause.SERVER),
        (refused(529, "overloaded_error"), Cause.OVERLOADED),
        (refused(529), Cause.OVERLOADED),
        (
            refused(529, "overloaded_error", code="compaction_unavailable"),
            Cause.OVERLOADED,
        ),
        (refused(200, "overloaded_error"), Cause.OVERLOADED),
        (refused(200, "api_error"), Cause.SERVICE),
        (refused(500, "api_error"), Cause.SERVICE),
        (refused(502), Cause.SERVICE),
        (refused(503), Cause.SERVICE),
        (refused(504, "timeout_error"), Cause.SERVICE),
        (refused(408, "timeout_error"), Cause.SERVICE),
        (refused(409, "conflict_error"), Cause.SERVICE),
        (Broken(stage="connect", message="refused"), Cause.NETWORK),
        (Broken(stage="headers", message="", timeout=True), Cause.CUT),
        (Broken(stage="stream", message="reset"), Cause.CUT),
    ],
)
def test_what_passes_is_tried_again(outcome: Refused | Broken, cause: Cause) -> None:
    verdict = classify(outcome)
    assert verdict.cause is cause
    assert verdict.missing is None
    assert not verdict.stops_run


@pytest.mark.parametrize(
    ("outcome", "stops"),
    [
        (refused(429, LIMITED, code="enforced_spend_limit_reached"), True),
        (refused(429, LIMITED, code="contract_spend_limit_reached"), True),
        (refused(401, "authentication_error"), True),
        (refused(401), True),
        (refused(402, "billing_error"), True),
        (
            refused(
                400,
                "invalid_request_error",
                message="You have reached your specified API usage limits.",
            ),
            True,
        ),
        (refused(400, "invalid_request_error", message="prompt is too long"), False),
        (refused(403, "permission_error"), False),
        (refused(404, "not_found_error"), False),
        (refused(413, "request_too_large"), False),
        (refused(422), False),
    ],
)
def test_what_is_final_says_for_whom(outcome: Refused, stops: bool) -> None:
    verdict = classify(outcome)
    assert verdict.cause is None
    assert verdict.stops_run is stops
    expected = MissingKind.ACCOUNT if stops else MissingKind.REJECTED
    assert verdict.missing is expected
    assert str(outcome.status) in verdict.reason


def test_a_spend_limit_says_until_when() -> None:
    bare = classify(refused(429, LIMITED, code="enforced_spend_limit_reached"))
    assert bare.reason.endswith("00:00 UTC on the first day of the next month")
    told = refused(
        429,
        LIMITED,
        code="enforced_spend_limit_reached",
        message="Access returns at 00:00 UTC on the first.",
    )
    assert classify(told).reason.count("00:00 UTC") == 1


def test_an_answer_means_nothing_bad() -> None:
    answer = Answered(
        message={}, usage=Usage(1, 1), request_id=None, limits=Limits(), seconds=1
    )
    assert classify(answer) == Verdict()


def half() -> float:
    return 0.5


def test_limits_never_use_up_a_try() -> None:
    verdict = classify(refused(429, LIMITED, limits=QUOTA, retry_after=3600))
    history = Tries()
    for second in range(1000):
        history = history.after(verdict, float(second))
        assert next_try(verdict, history, float(second), half).at == second
    assert history.limits == 1000


def test_a_wall_of_15_minutes_is_waited_for_and_an_hour_is_told() -> None:
    verdict = classify(refused(529, "overloaded_error"))
    history, now, last = Tries(), 0.0, 0.0
    while True:
        history = history.after(verdict, now)
        retry = next_try(verdict, history, now, half)
        if retry.at is None:
            break
        assert retry.at - now <= 60
        last, now = now, retry.at
    assert last > 3500
    assert retry.missing is MissingKind.TIMEOUT


def test_backoff_grows_and_is_never_shorter_than_asked() -> None:
    verdict = classify(refused(529, "overloaded_error", retry_after=30))
    assert next_try(verdict, Tries().after(verdict, 0.0), 0.0, half).at == 30


def test_a_cut_stream_is_tried_once_at_once() -> None:
    verdict = classify(Broken(stage="stream", message="reset"))
    first = Tries().after(verdict, 5.0)
    assert next_try(verdict, first, 5.0, half).at == 5.0
    second = first.after(verdict, 6.0)
    again = next_try(verdict, second, 6.0, half).at
    assert again is not None
    assert again >= 6.5


def test_an_answer_starts_the_history_anew() -> None:
    verdict = classify(refused(529, "overloaded_error"))
    assert Tries().after(verdict, 1.0).after(Verdict(), 2.0) == Tries()


def test_a_final_verdict_is_not_tried_again() -> None:
    verdict = classify(refused(404, "not_found_error", message="model: x"))
    retry = next_try(verdict, Tries(), 0.0, half)
    assert retry.at is None
    assert retry.missing is MissingKind.REJECTED
    assert "model: x" in retry.reason


def test_a_call_that_takes_too_long_is_tried_once_more() -> None:
    """It was paid for; twice is a sign that it does not fit."""
    late = Broken(stage="stream", message="not finished after 1 h", limit="call")
    verdict = classify(late)
    assert verdict.cause is Cause.TIMEOUT
    history = Tries().after(verdict, 100.0)
    assert next_try(verdict, history, 100.0, lambda: 0.5).at == 100.0
    history = history.after(verdict, 4_000.0)
    retry = next_try(verdict, history, 4_000.0, lambda: 0.5)
    assert (retry.at, retry.missing) == (None, MissingKind.TIMEOUT)
    assert "2 times; --timeout call=" in retry.reason


def test_only_time_in_which_something_could_be_sent_is_time_of_trouble() -> None:
    """A night asleep, an hour of pause: a row has as many minutes left after it."""
    clock = OpenSeconds()
    clock.set(100.0, is_open=True, held=False)
    assert clock.at(400.0) == 300.0
    clock.set(400.0, is_open=False, held=False)
    assert clock.at(4_000.0) == 300.0
    clock.slept(1_000.0)
    clock.set(5_000.0, is_open=True, held=False)
    assert clock.at(34_000.0) == 29_300.0
    clock.slept(28_800.0)
    assert clock.at(34_000.0) == 500.0


def test_a_call_cut_by_a_sleep_is_sent_again_as_if_nothing_had_been() -> None:
    slept = classify(Broken(stage="stream", message="the machine slept", slept=True))
    history = Tries(trouble_since=100.0, troubles=3)
    after = history.after(slept, 3_100.0)
    assert (after.trouble_since, after.troubles) == (100.0, 3)
    assert next_try(slept, after, 31_000.0, lambda: 0.5).at == 31_000.0
