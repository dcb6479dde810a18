"""Real `kill -9` of the real program with the real SDK, by the account's own books.

FANOUT_SCALE=5 kills five times as often.
"""

import os
from pathlib import Path

import pytest

from e2e.forkserver import BUGS, ForkServer
from e2e.killing import BOOK, CONCURRENCY, ROWS, Campaign, Toll
from e2e.program import account
from figures import record_figure

SCALE = float(os.environ.get("FANOUT_SCALE", "1"))
SHARDS = 4
KILLS = int(52 * SCALE)
"""Of each shard."""
SEGMENT_BYTES_MAX = 20_000
NOTHING = "kills, 0 lost, 0 sent again, 0 sent without an intent"


def wage(base: Path, seed: int, kills: int, bug: str = "") -> Toll:
    with account(BOOK) as service, ForkServer(SEGMENT_BYTES_MAX, bug) as server:
        return Campaign(server, service, base, seed).wage(kills)


def test_a_few_kills_lose_nothing(tmp_path: Path) -> None:
    assert wage(tmp_path, 1, 6).kills == 6


@pytest.mark.long
@pytest.mark.soak
@pytest.mark.parametrize("shard", range(SHARDS))
def test_many_kills_lose_nothing(tmp_path: Path, shard: int) -> None:
    toll = wage(tmp_path, 100 + shard, KILLS)
    print(toll)
    assert toll.acknowledged >= toll.runs * (ROWS + 1)
    name = "kill -9 of the real program"
    goal = "≥ 200, 0 acknowledged lost, 0 journaled calls sent again"
    record_figure(name, goal, toll.kills, unit=NOTHING)
    for what, count in (
        ("while it started or recovered", toll.at_start),
        ("while it ended and wrote reports", toll.at_end),
        ("results acknowledged", toll.acknowledged),
        ("answers journaled", toll.answers),
        ("calls in doubt", toll.in_doubt),
    ):
        record_figure(f"{name}: {what}", "", count)
    most = f"≤ {CONCURRENCY}, as many as may fly at once"
    figure = f"{name}: calls in doubt by one kill"
    record_figure(figure, most, toll.in_doubt_most, unit="at most", highest=True)


@pytest.mark.long
@pytest.mark.soak
@pytest.mark.parametrize("bug", [bug for bug in BUGS if bug])
def test_a_bug_would_be_seen(tmp_path: Path, bug: str) -> None:
    with pytest.raises(AssertionError, match=r"sends, |sent again|is lost|is not"):
        wage(tmp_path, 7, 40, bug)
