"""Whole stories told by their seed: lives, kills, power cuts, and what must hold.

    python -m core.engine.stories "killed often" 1234

tells one again, and prints its records.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from core.engine import invariants
from core.engine.simulated import Life
from core.engine.simulated_disk import Synced, lose, write_segment
from core.engine.simulated_service import FAIR, Service, Weather
from core.engine.weathers import WEATHERS
from fanout.decide.fold.run_state import RunState
from fanout.disk.reading import fold
from fanout.words.budgets import Budget
from fanout.words.events import Record

EPOCH = 1_800_000_000.0
DOWN_SECONDS = 120.0
"""A run is begun again within so many seconds after a kill."""


@dataclass(slots=True)
class Story:
    """What came of a seed."""

    wrong: list[str] = field(default_factory=list)
    records: list[Record] = field(default_factory=list)
    kills: int = 0
    power_cuts: int = 0
    calls: int = 0
    seconds: float = 0.0
    """Virtual seconds lived."""
    trace: str = ""
    """Digest of the journal's bytes and of the account's books."""


@contextmanager
def synced() -> Iterator[Synced]:
    """Remember what was synced instead of waiting for a disk."""
    remembered, real = Synced(), os.fsync
    os.fsync = remembered  # type: ignore[assignment]
    try:
        yield remembered
    finally:
        os.fsync = real


class Teller:
    """Tells one story: lives of one run, one after the other."""

    def __init__(self, seed: int, weather: Weather, folder: Path) -> None:
        self.random = Random(seed)
        self.service = Service(self.random, weather)
        self.weather = weather
        self.run, self.out = folder / "run", folder / "out"
        self.run.mkdir()
        self.story = Story()
        self.epoch = EPOCH
        self.segments = 0
        self.state = RunState()
        self.lost: dict[str, int] = {}
        """Outputs that somebody took away, and after which life."""
        self.trace = sha256()
        tokens = self.random.randrange(500, 6_000)
        bounded = self.random.random() < weather.budget
        self.budget = Budget(tokens=tokens) if bounded else Budget()
        self.phase_budget: Budget | None = None
        if weather.phase_budget and self.random.random() < weather.phase_budget:
            self.phase_budget = Budget(tokens=self.random.randrange(500, 4_000))

    def tell(self, lives: int) -> Story:
        """Live, and be killed, and live again; then once to the end."""
        with synced() as disk:
            for _ in range(1, lives):
                self._be_killed(disk)
                if self.story.wrong:
                    return self.story
            last = self._life(steady=lives > 1)
            self._live(last)
            if lives == 1:
                self._check(invariants.paid_once(last, self.story.records))
            asks = self.phase_budget is not None
            bounded = self.budget.tokens is not None and not asks
            if lives > 1 and not self.story.wrong and not bounded:
                self._end_well()
        self.trace.update(repr(self.service.books).encode())
        self.story.trace = self.trace.hexdigest()
        self.story.calls = len(self.service.books)
        return self.story

    def _be_killed(self, disk: Synced) -> None:
        r = self.random
        at_once = r.random() < 0.2  # while it still reads what is there
        kill_at = r.random() * (0.2 if at_once else 60.0)
        power_cut = r.random() < 0.5
        life = self._life()
        self._live(life, kill_at, power_cut=power_cut)
        if power_cut and life.killed:
            disk.cut(self.out, r)
        self._check(invariants.outputs_hold(self.story.records, self.out, self.lost))
        if r.random() < self.weather.lost_files:
            self.lost |= dict.fromkeys(lose(self.out, r), life.life)
        self.epoch += r.random() * DOWN_SECONDS

    def _end_well(self) -> None:
        """Once more, with a service that answers and nobody who meddles."""
        fair = replace(FAIR, second_phase=self.weather.second_phase)
        self.service.weather = replace(fair, limits=self.weather.limits)
        last = self._life(steady=True)
        self._live(last)
        self._check(invariants.all_done(last))

    def _life(self, *, steady: bool = False) -> Life:
        return Life(
            self.service,
            self.out,
            records=self.story.records,
            state=self.state,
            epoch=self.epoch,
            budget=self.budget,
            phase_budget=self.phase_budget,
            steady=steady,
        )

    def _live(
        self, life: Life, kill_at: float | None = None, *, power_cut: bool = False
    ) -> None:
        data = life.live(kill_at, power_cut=power_cut)
        self.story.kills += life.killed
        self.story.power_cuts += life.killed and power_cut
        self.segments += 1
        write_segment(self.run, self.segments, data)
        self.trace.update(data)
        before, records = self.story.records, list[Record]()
        folded = fold(self.run, records.append)
        self.state, self.story.records = folded.state, records
        self.story.seconds += life.seconds
        self.epoch += life.seconds
        if folded.tail.damage and not self.story.power_cuts:
            self.story.wrong.append(f"I14: a kill is no damage: {folded.tail.damage}")
        self._check(
            invariants.recovers_alike(folded, before, records, self.run, self.out)
        )
        self._check(invariants.of_a_life(life, records))
        if not life.killed:
            self._check(invariants.of_an_end(life, records))
            self._check(invariants.outputs_hold(records, self.out, self.lost))
        if self.phase_budget is not None:
            self._check(invariants.budgets_hold(life, records))
        elif self.budget.tokens is not None:
            self._check(invariants.budget_holds(life, self.budget.tokens))

    def _check(self, wrong: Iterator[str]) -> None:
        self.story.wrong += wrong


def story(seed: int, weather: Weather, *, lives: int = 1) -> Story:
    """Tell one seed's story; whatever goes wrong is said in `wrong`."""
    with TemporaryDirectory() as folder:
        teller = Teller(seed, weather, Path(folder))
        try:
            return teller.tell(lives)
        except Exception as error:  # noqa: BLE001  a defect, or a loop without a way on
            teller.story.wrong.append(f"I10: {error!r}")
            return teller.story


def main(name: str, seed: str) -> None:
    """Tell one story again, and all of it."""
    weather, lives = WEATHERS[name]
    told = story(int(seed), weather, lives=lives)
    for record in told.records:
        print(f"{record.seq:5} {record.life:2} {record.at - EPOCH:9.3f} {record.event}")
    print(*told.wrong, sep="\n")
    print(f"{told.kills} kills, {told.calls} calls, trace {told.trace[:16]}")


if __name__ == "__main__":
    main(*sys.argv[1:])
