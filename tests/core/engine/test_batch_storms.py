"""Batches in bad weather: kills, stops, cancellations and lost answers by seed.

However it went, a last life in good weather has everything done; no question was
paid for twice, and what the run says it spent is what the account charged.
"""

import json
import os
from collections import deque
from collections.abc import Mapping
from pathlib import Path
from random import Random
from typing import Any

import pytest

from core.engine.test_batches import Life
from fanout.testing.batching_api import BatchingApi
from fanout.testing.scripted_api import answered, refused
from fanout.words import commands as ask
from fanout.words.events import Record
from fanout.words.model import RowId, Usage
from fanout.words.outcome import Answered, Outcome

SCALE = int(os.environ.get("FANOUT_SCALE", "1"))
ROWS = 7
FAULTS = {
    "create": ("before", "after", "429", "500", "529"),
    "look": ("429", "500", "503"),
    "list": ("500",),
    "results": ("cut", "500"),
}


def fits(data: bytes) -> Any:
    value = json.loads(data)
    if "n" not in value:
        raise ValueError("n is missing")
    return value


class Storm:
    """One run's weather, drawn from a seed."""

    def __init__(self, seed: int, out: Path) -> None:
        self.random = Random(seed)
        self.out = out
        self.charged = Usage()
        self.bad = True
        self.api = BatchingApi(
            self._reply, expires=self._expires, hours={"min": 0.05, "max": 0.9}
        )

    def _reply(self, body: Mapping[str, Any], _number: int) -> Outcome:
        r = self.random
        if self.bad and r.random() < 0.1:
            return refused(500, "api_error", "hiccup")
        misfit = len(body["messages"]) == 1 and r.random() < 0.25
        said = answered("{}" if misfit else '{"n": 1}')
        assert isinstance(said, Answered)
        self.charged = self.charged + said.usage
        return said

    def _expires(self, _text: str, _seen: int) -> bool:
        return self.bad and self.random.random() < 0.08

    def _weather(self) -> None:
        r = self.random
        self.api.faults = {
            what: deque(r.choice((*kinds, "")) for _ in range(r.randrange(4)))
            for what, kinds in FAULTS.items()
        }

    def live(self, records: list[Record]) -> list[Record]:
        """One life in bad weather; it may be killed, stopped, or end by itself."""
        r = self.random
        self._weather()
        life = Life(self.api, self.out, records)
        moment = r.choice((3.0, 8.0, 60.0, 4_000.0, 90_000.0)) * r.random()

        def meddle() -> None:
            row = RowId("main", f"k{r.randrange(ROWS)}")
            if r.random() < 0.5:
                post = life.core.post
                life.at(moment * r.random(), lambda: post(ask.CancelRow(row)))
                life.at(moment, lambda: post(ask.Requeue((row,))))
            if r.random() < 0.3:
                stop = ask.Stop(r.choice(("drain", "now")), "quit")
                life.at(moment * r.random(), lambda: life.core.post(stop))

        asked = self._asked(life, r.randrange(3, ROWS + 1))
        self.api.begun_at += r.choice((0.0, 30.0, 5_000.0))
        life.clock.epoch = self.api.begun_at
        return life.live(asked, meddle, kill_at=moment + 0.5)

    def _asked(self, life: Life, count: int) -> Any:
        lane = self.random.choice(("batch", "batch", "batch", None))
        return life.ask(count, schema={}, validate=fits, lane=lane)

    def calm(self, records: list[Record]) -> Life:
        """The last life: nothing goes wrong any more."""
        self.bad = False
        self.api.faults = {}
        self.api.begun_at += 100_000
        life = Life(self.api, self.out, records)
        life.live(life.ask(ROWS, schema={}, validate=fits))
        return life


def weather(seed: int, out: Path) -> None:
    storm = Storm(seed, out)
    records: list[Record] = []
    for _ in range(storm.random.randrange(1, 5)):
        records = storm.live(records)
    end = storm.calm(records)
    assert set(end.status().values()) == {"done"}, (seed, end.notes())
    totals = end.state.totals
    known = totals.useful + totals.wasted
    upper = known + totals.in_doubt
    # What input is in doubt is an estimate; what output is, a bound.
    assert known.input_tokens <= storm.charged.input_tokens, seed
    out = storm.charged.output_tokens
    assert known.output_tokens <= out <= upper.output_tokens, seed
    twice = {q: n for q, n in storm.api.paid.items() if n > 1}
    assert not twice, (seed, twice)


@pytest.mark.parametrize("seed", range(12))
def test_no_weather_pays_twice_or_loses_anything(seed: int, tmp_path: Path) -> None:
    weather(seed, tmp_path)


@pytest.mark.long
@pytest.mark.soak
def test_much_weather(tmp_path: Path) -> None:
    for seed in range(100, 100 + 150 * SCALE):
        weather(seed, tmp_path / str(seed))
