"""What screens are told of a call under way."""

from pathlib import Path

from core.engine.bench import order
from core.engine.test_waves import Timed
from fanout.testing.scripted_api import ScriptedApi, answered
from fanout.words.model import Cause, RowId
from fanout.words.snapshot import Live


def test_what_an_answer_says_is_seen_before_it_is_whole(tmp_path: Path) -> None:
    """From the first word on, and not any more once the call has ended."""
    bench = Timed(ScriptedApi(lambda *_: answered("so far"), seconds=10.0), tmp_path)
    bench.schedule(order("a"))
    seen: list[Live | None] = []

    def look() -> None:
        live = bench.engine.publisher.build().live
        seen.append(live.get(RowId("main", "a")))

    for second in (3, 8, 15):
        bench.at(second, look)
    bench.at(20, bench.returns)
    assert bench.run() == 0
    before, during, after = seen
    assert before is not None
    assert (before.cause, before.said) == (Cause.SENT, "")
    assert during is not None
    assert (during.cause, during.said) == (Cause.STREAMING, "so far")
    assert after is None
