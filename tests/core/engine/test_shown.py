"""The log as it is handed out: nothing that was said is passed over."""

from pathlib import Path

from core.engine.bench import Bench, order
from fanout.decide.shown import LOG_LINES
from fanout.testing.scripted_api import ScriptedApi, answered
from fanout.words.commands import Note

BURST = 4 * LOG_LINES


def test_every_line_is_in_a_snapshot_also_when_one_is_replaced_unseen(
    tmp_path: Path,
) -> None:
    """A reader that looks now and then, at a script that prints without end."""
    bench = Bench(ScriptedApi(lambda *_: answered(), seconds=40.0), tmp_path)
    publisher = bench.engine.publisher
    bench.schedule(order("a"))
    bench.returns()
    seen: dict[int, str] = {}
    sizes = []

    def say(at: int) -> None:
        for number in range(BURST):
            bench.core.post(Note(source="script", text=f"{at}-{number}"))

    def look() -> None:
        latest = publisher.latest
        assert latest is not None
        seen.update({line.number: line.text for line in latest.log})
        sizes.append(len(latest.log))

    def ask() -> None:
        publisher.wanted = True
        bench.core.post(Note(source="script", text="asked"))

    def prepare() -> None:
        for at in range(1, 30, 3):
            bench.at(float(at), lambda at=at: say(at))
            bench.at(at + 0.5, ask)
            if at % 2:
                bench.at(at + 1.0, look)
        bench.at(36.0, ask)
        bench.at(37.0, look)

    assert bench.run(prepare) == 0
    assert sorted(seen) == list(range(1, max(seen) + 1))
    assert sum("-" in text for text in seen.values()) >= 10 * BURST
    assert min(sizes[-1:]) <= 2 * BURST
