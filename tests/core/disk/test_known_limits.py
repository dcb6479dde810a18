"""Limits that accounts have told: kept for forecasts, and never a reason to fail."""

import json
from pathlib import Path

import pytest

from fanout.access import reach
from fanout.config import Config
from fanout.decide.forecast.duration import Limit
from fanout.disk.limits import AGE_MAX, FILE, keep_limits, read_limits
from fanout.known import known_of
from fanout.words.model import Dimension

BUCKETS = {
    Dimension.REQUESTS: Limit(per_minute=50, ready=50),
    Dimension.INPUT: Limit(per_minute=30_000, ready=5_000),
}


def test_what_is_kept_comes_back_by_account_and_pool(tmp_path: Path) -> None:
    keep_limits(tmp_path, "one", {"sonnet": BUCKETS}, 100.0)
    keep_limits(tmp_path, "two", {"opus": BUCKETS}, 300.0)
    keep_limits(tmp_path, "one", {"opus": BUCKETS}, 200.0)
    pools, at = read_limits(tmp_path, "one", 400.0)
    assert pools == {"sonnet": BUCKETS, "opus": BUCKETS}
    assert at == 100.0
    assert read_limits(tmp_path, "three", 400.0) == ({}, 0.0)


def test_old_ones_say_nothing(tmp_path: Path) -> None:
    keep_limits(tmp_path, "one", {"sonnet": BUCKETS}, 100.0)
    assert read_limits(tmp_path, "one", 101.0 + AGE_MAX)[0] == {}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{",
        '{"v": 2, "accounts": {"one": {}}}',
        '{"v": 1, "accounts": {"one": []}}',
        '{"v": 1, "accounts": {"one": {"p": 7}}}',
        '{"v": 1, "accounts": {"one": {"p": {"at": "x"}}}}',
        '{"v": 1, "accounts": {"one": {"p": {"at": 1, "requests": ["a", 1]}}}}',
        '{"v": 1, "accounts": {"one": {"p": {"at": 1, "requests": [1]}}}}',
    ],
)
def test_what_does_not_read_is_not_there(tmp_path: Path, text: str) -> None:
    (tmp_path / FILE).write_text(text)
    assert not any(read_limits(tmp_path, "one", 9.0)[0].values())
    keep_limits(tmp_path, "one", {"p": BUCKETS}, 5.0)
    assert read_limits(tmp_path, "one", 9.0)[0] == {"p": BUCKETS}


def test_a_folder_that_cannot_be_written_is_no_trouble(tmp_path: Path) -> None:
    keep_limits(tmp_path / "gone", "one", {"p": BUCKETS}, 5.0)
    assert not (tmp_path / "gone").exists()


def test_two_keys_are_two_accounts_and_neither_is_told(tmp_path: Path) -> None:
    from contextlib import ExitStack

    with ExitStack() as stack:
        config = Config(script=Path("a.py"))
        accounts = [
            reach(config, {"ANTHROPIC_API_KEY": key}, stack).account
            for key in ("sk-secret-one", "sk-secret-two")
        ]
    assert len(set(accounts)) == 2
    keep_limits(tmp_path, accounts[0], {"p": BUCKETS}, 5.0)
    assert "secret" not in (tmp_path / FILE).read_text()
    assert list(json.loads((tmp_path / FILE).read_text())["accounts"]) == accounts[:1]


def test_a_simulated_account_has_its_profile(tmp_path: Path) -> None:
    config = Config(script=Path("a.py"), simulate=True, profile="start")
    from contextlib import ExitStack

    from fanout.access import planned

    with ExitStack():
        known = known_of(config, planned(config, {}), tmp_path, 0.0)
    assert known.source == "of the simulated profile start"
    buckets = known.of("claude-sonnet-5", "claude-sonnet-5")
    assert buckets[Dimension.INPUT].per_minute == 2_000_000
    assert known.of("x", "claude-fable-5")[Dimension.INPUT].per_minute == 500_000
    assert known.of("x", "claude-nobody") == {}
