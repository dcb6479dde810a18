"""What a life with `--fresh` has refused, no later life of that run brings back."""

from pathlib import Path

from core.disk.test_reuse_index import Told, values
from fanout.disk.opening import open_run
from fanout.disk.reuse import Reuse, find_reusable


def found(tmp_path: Path, current: Told) -> Reuse:
    """As a life that goes on with this run looks for earlier work."""
    return find_reusable(
        tmp_path,
        script="/w/audit.py",
        endpoint="https://api",
        simulated=False,
        current=current.folder,
        own=open_run(current.folder).state.fresh,
    )


def test_an_earlier_run_stays_refused_and_its_own_work_serves(tmp_path: Path) -> None:
    Told(tmp_path, "aaaa").done("a", 1, "1:a").done("b", 2, "1:b")
    fresh = Told(tmp_path, "bbbb", fresh=True).done("a", 10, "1:a")
    fresh.life()
    assert values(found(tmp_path, fresh), ("1:a", "a"), ("1:b", "b")) == [10, None]


def test_turns_of_an_earlier_run_stay_refused(tmp_path: Path) -> None:
    before = Told(tmp_path, "aaaa")
    before.turn(before.ask("a", "1:a"), "one")
    fresh = Told(tmp_path, "bbbb", fresh=True)
    fresh.life()
    reuse = found(tmp_path, fresh)
    assert reuse.partial("1:a", "a") is None
    assert reuse.again(before.ask("a", "1:a"), "1:a", {}) == ""


def test_a_fresh_life_of_a_run_refuses_the_lives_before_it(tmp_path: Path) -> None:
    told = Told(tmp_path, "aaaa").done("a", 1, "1:a")
    told.turn(told.ask("b", "1:b"), "one")
    told.said["fresh"] = True
    told.life()
    told.done("c", 3, "1:c")
    told.said["fresh"] = False
    told.life()
    reuse = found(tmp_path, told)
    assert values(reuse, ("1:a", "a"), ("1:c", "c")) == [None, 3]
    assert reuse.partial("1:b", "b") is None


def test_without_it_they_serve(tmp_path: Path) -> None:
    Told(tmp_path, "aaaa").done("a", 1, "1:a")
    told = Told(tmp_path, "bbbb")
    told.life()
    assert values(found(tmp_path, told), ("1:a", "a")) == [1]
