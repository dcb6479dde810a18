import pickle
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from core.script.ports import FakePort, missing
from fanout.errors import UsageError
from fanout.script.loading import locate
from fanout.script.running import ScriptEnd, ScriptOptions, ScriptThread
from fanout.words.model import MissingKind, RowId

pytestmark = pytest.mark.usefixtures("interpreter")

PATIENCE = 10.0
OPTIONS = ScriptOptions(grace=0.2, insist=0.02)


class Ran:
    """A script that was started; `end()` waits for it."""

    def __init__(self, path: Path, port: FakePort, *arguments: str) -> None:
        self.ends: list[ScriptEnd] = []
        self.over = threading.Event()
        self.thread = ScriptThread(locate(path, arguments), port, OPTIONS, self.ended)
        self.thread.start()

    def ended(self, end: ScriptEnd) -> None:
        self.ends.append(end)
        self.over.set()

    def end(self) -> ScriptEnd:
        assert self.over.wait(PATIENCE)
        assert self.thread.join(PATIENCE)
        (end,) = self.ends
        return end


@pytest.fixture
def run(tmp_path: Path, port: FakePort) -> Any:
    def start(source: str, *arguments: str) -> Ran:
        path = tmp_path / "script.py"
        path.write_text(source, encoding="utf-8")
        return Ran(path, port, *arguments)

    return start


def test_what_main_returns_is_kept_as_json(run: Any, port: FakePort) -> None:
    end = run(
        "import fanout\n"
        "async def main(a, b='two', *more):\n"
        "    results = await fanout.parallel(\n"
        "        fanout.agent('Go.', key=k) for k in (a, b))\n"
        "    return {'results': results, 'more': more, 'odd': {1.5, 2.5}, 'f': main}\n",
        "one",
    ).end()
    assert (end.outcome, end.code) == ("returned", 0)
    assert end.value["results"][0] == {
        "phase": "main",
        "key": "one",
        "status": "done",
        "value": "text",
    }
    assert end.value["odd"] == [1.5, 2.5]
    assert end.value["f"].startswith("<function main")
    assert [len(batch) for batch in port.batches] == [2]


def test_a_script_finds_itself_as_promised(run: Any, tmp_path: Path) -> None:
    (tmp_path / "script_helper.py").write_text("value = 7\n", encoding="utf-8")
    end = run(
        "import sys, threading, pickle\n"
        "import script_helper\n"
        "from pydantic import BaseModel\n"
        "class M(BaseModel):\n    x: int\n"
        "def main():\n"
        "    return [sys.argv[1:], __name__, script_helper.value, __file__,\n"
        "            threading.current_thread() is threading.main_thread(),\n"
        "            pickle.loads(pickle.dumps(M(x=1))).x]\n",
        "a",
        "b",
    ).end()
    # `main` without parameters is called bare, whatever was given.
    assert end.value[:3] == [["a", "b"], "__fanout__", 7]
    assert end.value[3] == str(tmp_path / "script.py")
    assert end.value[4:] == [False, 1]


def test_a_sync_main_may_run_loops_of_its_own(run: Any, port: FakePort) -> None:
    end = run(
        "import asyncio, fanout\n"
        "async def one(k): return (await fanout.agent('Go.', key=k)).value\n"
        "def main():\n"
        "    return [asyncio.run(one('a')), asyncio.run(one('b')),\n"
        "            asyncio.run(fanout.agent('Go.', key='c')).key]\n"
    ).end()
    assert end.value == ["text", "text", "c"]
    assert [row.key for row in port.scheduled] == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("body", "ended", "text"),
    [
        ("raise SystemExit", ("returned", 0), ""),
        ("import sys; sys.exit(0)", ("returned", 0), ""),
        ("import sys; sys.exit(4)", ("exited", 4), "4"),
        ("import sys; sys.exit('no luck')", ("exited", 1), "no luck"),
        ("raise KeyboardInterrupt", ("raised", 0), "KeyboardInterrupt"),
        ("return main()", ("raised", 0), "RecursionError"),
        ("raise BaseException('odd')", ("raised", 0), "BaseException: odd"),
        (
            "import asyncio; raise asyncio.CancelledError",
            ("raised", 0),
            "CancelledError",
        ),
        ("raise GeneratorExit", ("raised", 0), "GeneratorExit"),
        ("1 / 0", ("raised", 0), "ZeroDivisionError: division by zero"),
        ("import fanout; fanout.agent('x', key='')", ("raised", 0), "key"),
    ],
)
@pytest.mark.parametrize("kind", ["def", "async def"])
def test_every_end_of_main_has_a_name(
    run: Any, kind: str, body: str, ended: tuple[str, int], text: str
) -> None:
    outcome, code = ended
    if kind == "async def" and body == "return main()":
        body = "return await main()"
    end = run(f"{kind} main():\n    {body}\n").end()
    assert (end.outcome, end.code) == (outcome, code)
    assert text in end.text
    if outcome == "raised":
        assert "script.py" in end.traceback
        assert "running.py" not in end.traceback


def test_an_exit_in_a_task_ends_the_script(run: Any) -> None:
    end = run(
        "import asyncio, sys\n"
        "async def quits(): sys.exit(5)\n"
        "async def main(): await asyncio.gather(quits(), asyncio.sleep(3600))\n"
    ).end()
    assert (end.outcome, end.code) == ("exited", 5)


def test_an_uncaught_hole_is_incomplete(run: Any, port: FakePort) -> None:
    port.answer = lambda order: missing(order.row)
    end = run(
        "import fanout\n"
        "async def main(): return (await fanout.agent('Go.', key='a')).value\n"
    ).end()
    assert end.outcome == "incomplete"
    assert end.text == "main/a is missing: rejected: 400 (script.py:2)"


@pytest.mark.parametrize(
    ("source", "arguments", "text"),
    [
        ("x = 1\n", (), "no `main`"),
        ("main = 3\n", (), "int, not a function"),
        ("def main(a, b=1): ...\n", (), r"main\(a, b=1\)"),
        ("async def main(a): ...\n", ("1", "2"), r"main\(a\)"),
        ("def main(*, only): ...\n", ("1",), r"main\(\*, only\)"),
    ],
)
def test_a_main_that_does_not_fit_is_wrong_use(
    run: Any, source: str, arguments: tuple[str, ...], text: str
) -> None:
    end = run(source, *arguments).end()
    assert isinstance(end.error, UsageError)
    with pytest.raises(UsageError, match=text):
        raise end.error


def test_a_raise_at_import_is_the_scripts(run: Any) -> None:
    end = run("x = 1\n1 / 0\n").end()
    assert end.outcome == "raised"
    assert "line 2" in end.traceback
    assert not isinstance(end.error, UsageError)


@pytest.mark.parametrize(
    ("name", "data", "text"),
    [
        ("absent.py", None, "no script"),
        ("broken.py", b"x = (\n", "line 1"),
        ("null.py", b"x = 1\0\n", "not valid Python"),
        ("latin.py", b"# \xe9\n", "not valid Python"),
        (".", None, "is a folder"),
    ],
)
def test_a_script_that_cannot_be_read_runs_nothing(
    tmp_path: Path, name: str, data: bytes | None, text: str
) -> None:
    path = tmp_path / name
    if data is not None:
        path.write_bytes(data)
    with pytest.raises(UsageError, match=text):
        locate(path)


WAITS = "import fanout\nasync def main():\n    await fanout.agent('Go.', key='a')\n"


def held(port: FakePort) -> threading.Event:
    """Orders are never answered; the event is set when one has come."""
    came = threading.Event()

    def hold(order: object) -> None:
        came.set()

    port.answer = hold
    return came


def test_cancelled_it_ends_with_that_reason(run: Any, port: FakePort) -> None:
    came = held(port)
    ran = run(WAITS)
    assert came.wait(PATIENCE)
    ran.thread.cancel("budget")
    ran.thread.cancel("again")
    end = ran.end()
    assert (end.outcome, end.text) == ("cancelled", "budget")
    assert port.finished == []


def test_a_swallowed_cancellation_comes_again(run: Any, port: FakePort) -> None:
    came = held(port)
    ran = run(
        "import asyncio, fanout\n"
        "async def main():\n"
        "    for n in range(4):\n"
        "        try: await fanout.agent('Go.', key=f'{n}')\n"
        "        except asyncio.CancelledError: pass\n"
        "    try: await asyncio.sleep(3600)\n"
        "    except asyncio.CancelledError: pass\n"
        "    return 'went on'\n"
    )
    assert came.wait(PATIENCE)
    ran.thread.cancel("quit")
    assert ran.end().outcome == "cancelled"
    assert [row.key for row in port.scheduled] == ["0"]


def test_a_sync_main_is_cancelled_where_it_waits(run: Any, port: FakePort) -> None:
    came = held(port)
    ran = run(
        "import asyncio, fanout\n"
        "def main(): asyncio.run(fanout.agent('Go.', key='a'))\n"
    )
    assert came.wait(PATIENCE)
    ran.thread.cancel("quit")
    assert ran.end().outcome == "cancelled"


def test_a_script_that_does_not_end_is_abandoned(run: Any, port: FakePort) -> None:
    import builtins

    gate, entered = threading.Event(), threading.Event()
    builtins.gate, builtins.entered = gate, entered  # type: ignore[attr-defined]
    try:
        ran = run("def main():\n    entered.set()\n    gate.wait(60)\n")
        assert entered.wait(PATIENCE)
        ran.thread.cancel("quit")
        assert ran.over.wait(PATIENCE)
        (end,) = ran.ends
        assert end.outcome == "cancelled"
        assert "did not end within 0.2 s" in end.text
    finally:
        gate.set()
        del builtins.gate, builtins.entered  # type: ignore[attr-defined]
    assert ran.thread.join(PATIENCE)
    assert len(ran.ends) == 1


def test_tasks_left_behind_are_cancelled_and_their_agents_go_on(
    run: Any, port: FakePort
) -> None:
    held(port)
    end = run(
        "import asyncio, fanout\n"
        "async def later():\n"
        "    await fanout.agent('Go.', key='later')\n"
        "async def fails(): raise ValueError('in a task')\n"
        "async def main():\n"
        "    main.tasks = [asyncio.create_task(c) for c in (\n"
        "        later(), asyncio.sleep(3600), fanout.agent('Go.', key='b'))]\n"
        "    asyncio.create_task(fails())\n"
    ).end()
    assert end.outcome == "returned"
    assert port.scheduled == [RowId("main", "later"), RowId("main", "b")]
    assert port.finished == []
    ((source, text),) = port.notes
    assert source == "script"
    assert "ValueError: in a task" in text


def test_agents_that_were_never_awaited_are_reported_at_the_end(
    run: Any, port: FakePort
) -> None:
    run("import fanout\ndef main(): fanout.agent('Go.', key='lost')\n").end()
    assert [(row, kind) for row, kind, _ in port.finished] == [
        (RowId("main", "lost"), MissingKind.NEVER_STARTED)
    ]


def test_agents_of_a_script_that_raised_are_expected(run: Any, port: FakePort) -> None:
    run(
        "import fanout\ndef main():\n    fanout.agent('Go.', key='lost')\n    1 / 0\n"
    ).end()
    assert port.expected == [RowId("main", "lost")]
    assert port.finished == []


def test_the_module_of_a_script_can_be_found_by_pickle(run: Any) -> None:
    run("class Value: ...\ndef main(): ...\n").end()
    module = sys.modules["__fanout__"]
    assert isinstance(pickle.loads(pickle.dumps(module.Value())), module.Value)


def soon(holds: Callable[[], object]) -> None:
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.001)


def test_a_script_says_that_it_waits_when_all_it_had_to_ask_is_asked(
    run: Any, port: FakePort
) -> None:
    port.answer = lambda _: None
    ran = run(
        "import asyncio, fanout\n"
        "async def step(n):\n"
        "    for _ in range(n):\n"
        "        await asyncio.sleep(0)\n"
        "    return await fanout.agent('Go.', key=f'k{n}')\n"
        "async def main():\n"
        "    await asyncio.gather(*(step(n) for n in range(20)))\n"
    )
    soon(lambda: port.scheduled)
    ran.thread.idling.ask(7)
    soon(lambda: port.quiets)
    assert port.quiets == [7]
    assert len(port.scheduled) == 20
    ran.thread.cancel("enough")
    assert ran.end().outcome == "cancelled"


def test_one_that_has_ended_is_not_asked(run: Any, port: FakePort) -> None:
    ran = run("async def main():\n    pass\n")
    ran.end()
    ran.thread.idling.ask(1)
    assert port.quiets == []
