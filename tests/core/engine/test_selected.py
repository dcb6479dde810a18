"""A few rows first: the others are not sent, are missing, and come later."""

from pathlib import Path

from core.engine.bench import Bench, order
from core.engine.test_waves import Kept, api
from fanout.decide.selection import Selection
from fanout.words.ahead import Forecasted
from fanout.words.commands import Requeue
from fanout.words.events import Noted
from fanout.words.model import MissingKind, RowId, Status
from fanout.words.orders import ClientOrder, ClientReply


def why(bench: Bench, key: str, phase: str = "main") -> tuple[MissingKind | None, str]:
    end = bench.state.rows[RowId(phase, key)].end
    assert end is not None
    return end.kind, end.reason


def test_only_what_is_named_is_sent(tmp_path: Path) -> None:
    bench = Bench(api(), tmp_path, selection=Selection(only=("main/k[12]",)))
    bench.schedule(*(order(f"k{n}") for n in range(6)))
    bench.returns()
    assert bench.run() == 3
    assert len(bench.api.bodies) == 2
    done = [r.id.key for r in bench.state.rows.values() if r.status is Status.DONE]
    assert done == ["k1", "k2"]
    assert why(bench, "k0") == (MissingKind.STOPPED, "not selected (--only)")
    assert bench.end is not None
    assert bench.end.finish == "fanout-tui resume test-1"


def test_a_limit_is_the_first_of_each_phase_whenever_they_come(tmp_path: Path) -> None:
    bench = Bench(api(), tmp_path, selection=Selection(limit=2))
    bench.schedule(*(order(f"k{n}") for n in range(5)))

    def later() -> None:
        bench.at(5, lambda: bench.schedule(order("k9"), order("sum", "summary")))
        bench.at(9, bench.returns)

    assert bench.run(later) == 3
    assert len(bench.api.bodies) == 3
    assert why(bench, "k9") == (MissingKind.STOPPED, "not selected (--limit 2)")
    assert bench.state.rows[RowId("summary", "sum")].status is Status.DONE


def test_earlier_work_is_taken_whatever_is_selected(tmp_path: Path) -> None:
    bench = Bench(
        api(), tmp_path, earlier=Kept("k4"), selection=Selection(only=("main/k0",))
    )
    bench.schedule(*(order(f"k{n}") for n in range(5)))
    bench.returns()
    bench.run()
    assert bench.state.rows[RowId("main", "k4")].status is Status.DONE
    assert len(bench.api.bodies) == 1


def test_why_rows_run_again_counts_those_that_will_run(tmp_path: Path) -> None:
    earlier = Kept(again="it was missing: stopped")
    bench = Bench(
        api(), tmp_path, earlier=earlier, selection=Selection(only=("main/k[12]",))
    )
    bench.schedule(*(order(f"k{n}") for n in range(6)))
    bench.returns()
    bench.run()
    said = [e for e in bench.journal.events if isinstance(e, Forecasted)]
    assert said[0].again == {"it was missing: stopped": 2}
    assert "2 because they were missing: stopped" in said[0].text
    assert set(bench.state.again) == {RowId("main", "k1"), RowId("main", "k2")}


def test_a_pattern_without_rows_is_said_and_none_with_any_is_a_mistake(
    tmp_path: Path,
) -> None:
    for only, code in ((("main/k0", "adit/*"), 3), (("adit/*",), 2)):
        bench = Bench(api(), tmp_path, selection=Selection(only=only))
        bench.schedule(order("k0"), order("k1"))
        bench.returns()
        assert bench.run() == code
        said = [e.text for e in bench.journal.events if isinstance(e, Noted)]
        assert "--only names adit/*, and no row is called so" in said


def test_a_client_s_request_that_is_not_selected_is_told_so(tmp_path: Path) -> None:
    bench = Bench(api(), tmp_path, selection=Selection(limit=1))
    replies: list[ClientReply] = []
    for text in "ab":
        asked = ClientOrder(
            row=None,
            phase="main",
            path="/v1/messages",
            headers={},
            body={"model": "claude-sonnet-5", "max_tokens": 9, "messages": [text]},
        )
        bench.port.call(asked, replies.append)
    bench.returns()
    assert bench.run() == 3
    assert sorted(reply.status for reply in replies) == [200, 499]
    assert "not selected (--limit 1)" in max(reply.body for reply in replies)
    assert len(bench.api.bodies) == 1


def test_reopening_by_hand_goes_over_the_choice_and_all_does_not(
    tmp_path: Path,
) -> None:
    bench = Bench(api(), tmp_path, linger=False, selection=Selection(limit=1))
    bench.schedule(*(order(f"k{n}") for n in range(4)))

    def later() -> None:
        bench.at(5, lambda: bench.core.post(Requeue()))
        bench.at(6, lambda: bench.core.post(Requeue((RowId("main", "k2"),))))
        bench.at(9, bench.returns)

    assert bench.run(later) == 3
    done = [r.id.key for r in bench.state.rows.values() if r.status is Status.DONE]
    assert done == ["k0", "k2"]
