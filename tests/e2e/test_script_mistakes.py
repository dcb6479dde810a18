"""A user's script does something foolish: one clear sentence, and nothing is lost."""

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

from e2e.program import Ended, Program, account


@dataclass(frozen=True, slots=True)
class Mistake:
    """A script, and what is to come of it."""

    text: str
    code: int
    says: tuple[str, ...] = ()
    done: int | None = None
    words: tuple[str, ...] = ("job.py",)


FIVE = "async def main():\n    await work(5)\n"

MISTAKES: dict[str, Mistake] = {
    "does not exist": Mistake(
        "", 2, ("there is no script", "hint:"), words=("not.py",)
    ),
    "is a folder": Mistake("", 2, ("is a folder", "hint:"), words=(".",)),
    "no syntax": Mistake("def f(:\n", 2, ("not valid Python: line", "hint:")),
    "no main": Mistake("", 2, ("`job.py` has no `main`", "hint:")),
    "main is no function": Mistake("main = 3", 2, ("not a function", "hint:")),
    "wrong arguments": Mistake(
        "async def main(root): ...", 2, ("main(root)", "usage: fanout-tui job.py ROOT")
    ),
    "raises at import": Mistake(
        "raise ValueError('at import')", 1, ("ValueError: at import",)
    ),
    "imports nothing": Mistake("import nothing_like_it", 1, ("ModuleNotFoundError",)),
    "raises in main": Mistake(
        FIVE + "    raise ValueError('late')", 1, ("ValueError: late",), 5
    ),
    "exits with 0": Mistake(FIVE + "    sys.exit(0)", 0, (), 5),
    "exits with 2": Mistake(FIVE + "    sys.exit(2)", 1, ("exited with code 2",), 5),
    "exits with a text": Mistake(FIVE + "    sys.exit('enough')", 1, ("enough",), 5),
    "asks a person": Mistake(FIVE + "    input('name? ')", 1, ("EOF",), 5),
    "blocks the loop": Mistake(
        "async def main():\n"
        "    running = asyncio.create_task(work(5))\n"
        "    await asyncio.sleep(0.5)\n"
        "    time.sleep(2)\n"
        "    await running\n",
        0,
        (),
        5,
    ),
    "starts threads and children": Mistake(
        "def forever():\n    while True: time.sleep(1)\n"
        "async def main():\n"
        "    for _ in range(3): threading.Thread(target=forever, daemon=True).start()\n"
        "    subprocess.run(['echo', 'from a child'], check=True)\n"
        "    os.system('echo from a shell')\n"
        "    os.write(1, b'straight to the descriptor\\n')\n"
        "    await work(5)\n",
        0,
        ("from a child",),
        5,
    ),
    "recurses": Mistake(
        "def deep(n): return deep(n + 1)\n" + FIVE + "    deep(0)",
        1,
        ("RecursionError",),
        5,
    ),
    "interrupts itself": Mistake(
        FIVE + "    raise KeyboardInterrupt", 1, ("KeyboardInterrupt",), 5
    ),
    "ends as if cancelled": Mistake(
        FIVE + "    raise asyncio.CancelledError", 1, (), 5
    ),
    "reads a hole": Mistake(
        "async def main():\n"
        "    a = await fanout.agent('x [[sim: error=400]]', key='a')\n"
        "    return a.value\n",
        3,
        ("400 invalid_request_error",),
    ),
    "the same key twice": Mistake(
        "async def main():\n"
        "    await fanout.parallel(fanout.agent('x', key='a') for _ in range(2))\n",
        2,
        ("two agents have the key `a`", "hint:"),
        0,
    ),
    "a result that cannot be shown": Mistake(
        "class Odd:\n    def __repr__(self): raise OSError('no')\n"
        "async def main():\n    await work(2)\n    return Odd()\n",
        0,
        ("Odd",),
        2,
    ),
    "a schema that raises": Mistake(
        "from pydantic import BaseModel, field_validator\n"
        "class Form(BaseModel):\n"
        "    n: int\n"
        "    @field_validator('n')\n"
        "    @classmethod\n"
        "    def never(cls, value): raise KeyError('mine')\n"
        "async def main():\n    await work(2, schema=Form)\n",
        3,
        ("KeyError",),
        0,
    ),
    "a tool that raises, blocks and exits": Mistake(
        "def bad(why: str = '') -> str:\n    time.sleep(0.3)\n    raise SystemExit(3)\n"
        "async def main():\n    await work(3, '[[sim: turns=2]]', tools=[bad])\n",
        0,
        (),
        3,
    ),
    "calls os._exit": Mistake(
        FIVE + "    os._exit(7)", 1, ("called os._exit(7)", "5 of 5 done"), 5
    ),
    "forks, and the copy exits": Mistake(
        "async def main():\n"
        "    child = os.fork()\n"
        "    if child == 0: sys.exit(3)\n"
        "    print('it left', os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))\n"
        "    await work(5)\n",
        0,
        ("it left 3",),
        5,
    ),
    "forks, and the copy goes on": Mistake(
        "async def main():\n"
        "    await work(3)\n"
        "    child = os.fork()\n"
        "    async with fanout.phase('after'):\n"
        "        await fanout.parallel(fanout.agent('x', key=str(n)) for n in range(2))\n"
        "    os.waitpid(child, 0)\n",
        0,
        ("agents cannot be used in a copy of the process",),
        5,
    ),
    "has worker processes": Mistake(
        "import multiprocessing\n"
        "def nothing(): pass\n"
        "async def main():\n"
        "    one = multiprocessing.get_context('fork').Process(target=nothing)\n"
        "    one.start(); one.join(); print('worker', one.exitcode)\n"
        "    await work(5)\n",
        0,
        ("worker 0",),
        5,
    ),
    "leaves threads and children": Mistake(
        "async def main():\n"
        "    threading.Thread(target=time.sleep, args=(3600,)).start()\n"
        "    subprocess.Popen(['sleep', '20'])\n"
        "    await work(5)\n",
        0,
        (),
        5,
    ),
    "closes its standard streams": Mistake(
        "async def main():\n"
        "    sys.stdout.close(); sys.stderr.close(); os.close(1); os.close(2)\n"
        "    await work(5)\n",
        0,
        ("5 of 5 done",),
        5,
    ),
    "sets sys.stdout and more": Mistake(
        "import signal, resource\n"
        "async def main():\n"
        "    sys.stdout = sys.stdin = None; sys.excepthook = print\n"
        "    os.umask(0o777); sys.settrace(None); sys.setswitchinterval(1)\n"
        "    os.mkdir('gone'); os.chdir('gone'); os.rmdir('../gone')\n"
        "    try: signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "    except ValueError as error: fanout.log(f'refused: {error}')\n"
        "    await work(5)\n",
        0,
        ("refused: signal only works in main thread", "5 of 5 done"),
        5,
    ),
    "uses up all descriptors": Mistake(
        "async def main():\n"
        "    async with fanout.phase('first'):\n"
        "        await fanout.parallel([fanout.agent('x', key='x')])\n"
        "    held = []\n"
        "    try:\n"
        "        while True: held.append(open('/dev/null'))\n"
        "    except OSError: fanout.log('no more')\n"
        "    running = asyncio.create_task(work(5))\n"
        "    await asyncio.sleep(1)\n"
        "    held.clear()\n"
        "    await running\n",
        0,
        ("no more", "6 of 6 done"),
        6,
    ),
    "replaces what asyncio needs": Mistake(
        FIVE + "    asyncio.timeout = asyncio.to_thread = None\n"
        "    async with fanout.phase('after'):\n"
        "        await fanout.agent('x', key='x')\n",
        1,
        ("the script has replaced asyncio.timeout, asyncio.to_thread",),
    ),
    "swallows its cancellation": Mistake(
        "async def main():\n"
        "    while True:\n"
        "        try: await work(200, '[[sim: output=400]]')\n"
        "        except asyncio.CancelledError: fanout.log('not me')\n",
        4,
        ("budget",),
        None,
        ("--max-tokens-total", "20000", "job.py"),
    ),
    "changes an output after it was done": Mistake(
        "async def main():\n"
        "    done = await fanout.agent('Say it.', key='a', output='a.md')\n"
        "    done.path.write_text('mine')\n",
        0,
        ("the output a.md of main/a has been changed since it was done",),
        1,
    ),
    "never awaits": Mistake(
        "async def main():\n    fanout.agent('x', key='a')\n    await work(2)\n",
        3,
        ("never started",),
        2,
    ),
    "json": Mistake(
        "async def main():\n    print('plain {text')\n    os.write(1, b'raw\\n')\n"
        "    await work(5)\n    return {'a': 1}\n",
        0,
        (),
        5,
        ("--json", "job.py"),
    ),
}


QUICK = (
    "does not exist",
    "no syntax",
    "no main",
    "raises in main",
    "exits with 2",
    "blocks the loop",
    "recurses",
    "a schema that raises",
    "json",
)
SLOW = tuple(name for name in MISTAKES if name not in QUICK)


class Runs:
    """Mistakes by name, run a few at a time: most of a run is waiting."""

    def __init__(self, folders: pytest.TempPathFactory) -> None:
        self._folders = folders
        self._ended: Runs = {}

    def of(self, name: str) -> Ended:
        if name not in self._ended:
            self._run(QUICK if name in QUICK else SLOW)
        return self._ended[name]

    def _run(self, names: tuple[str, ...]) -> None:
        with account() as service, ThreadPoolExecutor(4) as pool:

            def run(name: str) -> Ended:
                program = Program(self._folders.mktemp("run"), service)
                program.script(MISTAKES[name].text)
                return program.run(*MISTAKES[name].words)

            self._ended |= dict(zip(names, pool.map(run, names), strict=True))


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    return Runs(tmp_path_factory)


def judge(mistake: Mistake, end: Ended) -> None:
    assert end.code == mistake.code, end.said
    for text in mistake.says:
        assert text in end.said
    assert "Traceback (most recent call last)" not in end.out
    assert "fanout-tui itself failed" not in end.said
    assert "never awaited" not in end.said
    if mistake.done is not None:
        assert end.report["done"] == mistake.done, end.said
        assert end.report["exit_code"] == mistake.code


@pytest.mark.parametrize("name", QUICK)
def test_a_mistake_ends_as_it_should(ended: Runs, name: str) -> None:
    judge(MISTAKES[name], ended.of(name))


@pytest.mark.long
@pytest.mark.soak
@pytest.mark.parametrize("name", SLOW)
def test_a_rarer_mistake_does_too(ended: Runs, name: str) -> None:
    judge(MISTAKES[name], ended.of(name))


def test_every_line_of_json_parses(ended: Runs) -> None:
    lines = [json.loads(line) for line in ended.of("json").out.splitlines()]
    assert lines[0]["event"] == "run"
    assert lines[-1]["event"] == "end"
    assert {"v", "t", "event"} <= set(lines[3])
    texts = [line.get("text", "") for line in lines if line["event"] == "note"]
    assert any("plain {text" in text for text in texts)
    assert any("raw" in text for text in texts)


def test_a_mistake_is_no_traceback_of_ours(ended: Runs) -> None:
    """What the script raised is shown; our own frames above it are not."""
    err = ended.of("raises in main").err
    assert "job.py" in err
    assert "fanout/script/running.py" not in err


def test_no_key_is_said_before_anything_else(tmp_path: Path) -> None:
    program = Program(tmp_path, None)
    program.script(FIVE)
    end = program.run()
    assert end.code == 2
    assert "no key" in end.err
    assert "hint:" in end.err
    assert not (tmp_path / ".fanout").exists()
