"""Minutes without a network, and an address that never was one."""

import asyncio
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from core.engine.bench import Bench, order
from fanout.testing.scripted_api import ScriptedApi, answered
from fanout.words.events import CallAdmitted, Noted
from fanout.words.model import Cause, MissingKind, Status
from fanout.words.outcome import Broken
from fanout.words.snapshot import Snapshot
from fanout_tui.plain import PlainOutput
from figures import record_figure

NO_ROUTE = "there is no way to api.example: Network is unreachable"


def now() -> float:
    return asyncio.get_running_loop().time()


def away(said: str = NO_ROUTE, stage: str = "connect") -> Broken:
    return Broken(stage=stage, message=said)


class Network:
    """An API behind a line that is down between two moments."""

    def __init__(self, down: float, up: float) -> None:
        self.down, self.up = down, up
        self.probes: list[float] = []
        self.api = ScriptedApi(self._reply, seconds=2.0)

    def _reply(self, _: Mapping[str, Any], __: int) -> Any:
        if not self.down <= now() < self.up:
            return answered()
        self.probes.append(now())
        cut = now() < self.down + 1.0
        return away("the connection was reset", "stream") if cut else away()


@pytest.mark.parametrize("rows", [1, 3, 40, 300])
def test_ten_minutes_without_a_network_fail_no_row(tmp_path: Path, rows: int) -> None:
    network = Network(3.0 if rows > 3 else 0.0, 603.0)
    bench = Bench(network.api, tmp_path)
    bench.schedule(*(order(f"k{n}", phase=f"p{n % 3}") for n in range(rows)))
    bench.returns()
    shown: list[Snapshot] = []

    def prepare() -> None:
        for second in range(10, 600, 10):
            bench.at(second, lambda: shown.append(bench.engine.publisher.build()))

    assert bench.run(prepare) == 0
    assert {r.status for r in bench.state.rows.values()} == {Status.DONE}
    later = [t for t in network.probes if t > 30]
    assert 20 <= len(later) <= 130
    gaps = [b - a for a, b in pairwise(later)]
    assert max(gaps) <= 30.0
    back = min(t for t in network.api.times if t >= network.up)
    assert back - network.up <= 30.0
    causes = {g.cause for s in shown for g in s.gates.values()}
    assert causes <= {Cause.OFFLINE}
    if rows > 1:
        assert causes
    notes = [e.text for e in bench.journal.events if isinstance(e, Noted)]
    assert any(text.startswith("connected again after 10") for text in notes)
    record_figure(
        f"ten minutes offline, {rows} rows",
        "0 failed, ≤ 130 probes, back ≤ 30 s",
        f"0 failed, {len(later)} probes, back after {back - network.up:.0f} s",
    )


def test_being_offline_is_said_with_host_cause_and_next_probe(tmp_path: Path) -> None:
    network = Network(3.0, 603.0)
    bench = Bench(network.api, tmp_path)
    bench.schedule(*(order(f"k{n}") for n in range(40)))
    bench.returns()
    lines: list[str] = []
    plain = PlainOutput(lines.append, bench.clock.wall)

    def prepare() -> None:
        for second in range(2, 60, 2):
            bench.at(second, lambda: plain.update(bench.engine.publisher.build()))

    assert bench.run(prepare) == 0
    said = [line for line in lines if "offline: " in line]
    assert said
    assert all("no connection: there is no way" in line for line in said)
    assert any("next try at " in line for line in said)
    assert not any("529" in line for line in said)


@pytest.mark.parametrize("patience", [300.0, None])
def test_an_address_that_never_was_one_is_said_at_once(
    tmp_path: Path, patience: float | None
) -> None:
    """Where nobody watches the run ends after minutes; a person may wait for longer."""
    wrong = "the name api.exmaple does not resolve"
    network = Network(0.0, 2_000.0)
    api = ScriptedApi(lambda *_: away(wrong) if now() < 2_000 else answered())
    bench = Bench(api, tmp_path, patience=patience)
    bench.schedule(*(order(f"k{n}") for n in range(20)))
    if patience is None:
        bench.returns()
    noted: list[float] = []

    def look() -> None:
        events = bench.journal.events
        texts = [e.text for e in events if isinstance(e, Noted)]
        if any(wrong in text and "ANTHROPIC_BASE_URL" in text for text in texts):
            noted.append(now())

    def prepare() -> None:
        for second in range(1, 12):
            bench.at(second, look)

    code = bench.run(prepare)
    assert noted[0] <= 5.0
    assert network.probes == []
    if patience is None:
        assert code == 0
        return
    assert code == 3
    assert 300.0 < bench.clock_at_end() < 340.0
    ends = [row.end for row in bench.state.rows.values()]
    assert {end.kind for end in ends if end is not None} == {MissingKind.TIMEOUT}
    assert all(end is not None and wrong in end.reason for end in ends)
    calls = [e for e in bench.journal.events if isinstance(e, CallAdmitted)]
    assert len(calls) < 80
    record_figure(
        "a wrong address, nobody watching",
        "said within seconds, no silent hour",
        f"said after {noted[0]:.0f} s, ended after {bench.clock_at_end() / 60:.0f} min",
    )


def test_a_network_that_was_there_once_is_waited_for(tmp_path: Path) -> None:
    """Patience is for an address that may be wrong, not for a train in a tunnel."""
    network = Network(5.0, 1_205.0)
    bench = Bench(network.api, tmp_path, patience=300.0)
    bench.schedule(*(order(f"k{n}") for n in range(60)))
    bench.returns()
    assert bench.run() == 0
    assert bench.state.counts.done == 60
