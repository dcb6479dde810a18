"""`watch` and `replay`: a run on the same screen, read from its folder alone."""

import signal
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from fanout.decide.ending import COMPLETE, INCOMPLETE, SIGNALS
from fanout.disk.rundir import read_manifest
from fanout.errors import UsageError
from fanout.words.snapshot import Snapshot
from fanout.world.clock import SystemClock
from fanout_tui.command.lines import output_of
from fanout_tui.command.running import on_a_terminal
from fanout_tui.command.signals import ENDING
from fanout_tui.viewing import Replayed, Watched

POLL_SECONDS = 0.2


def watch(
    folder: Path,
    environ: Mapping[str, str],
    *,
    tui: bool,
    json: bool,
    ascii: bool,  # noqa: A002
) -> int:
    """Follow a run until it has ended; returns its exit code, as far as there is one.

    Leaving the screen before that changes nothing and is 0.
    """
    _check(folder)
    clock = SystemClock()
    run = Watched(folder, clock.wall)
    run.start()
    try:
        if in_a_browser(environ):
            _show_in_browser(run)
        elif tui and on_a_terminal(environ):
            _show(run, environ, ascii=ascii)
        else:
            _say(run, json=json)
    finally:
        run.close()
    last = run.latest()
    if run.signal:
        return SIGNALS[run.signal]
    return _code(last) if run.finished() and last is not None else COMPLETE


def replay(folder: Path, environ: Mapping[str, str], *, ascii: bool) -> int:  # noqa: A002
    """Play a recorded run. Raises `UsageError` without a terminal."""
    _check(folder)
    if not on_a_terminal(environ):
        raise UsageError(
            "a replay needs a terminal",
            hint=f"fanout-tui watch {folder.name} says in lines how the run went",
        )
    run = Replayed(folder, SystemClock().awake)
    run.start()
    try:
        _show(run, environ, ascii=ascii)
    finally:
        run.close()
    return SIGNALS.get(run.signal, COMPLETE)


def _check(folder: Path) -> None:
    if read_manifest(folder) is None and not (folder / "journal").is_dir():
        raise UsageError(
            f"{folder} holds no run",
            hint="fanout-tui runs lists those there are",
        )


def in_a_browser(environ: Mapping[str, str]) -> bool:
    """textual-serve has started this process for a tab."""
    return environ.get("TEXTUAL_DRIVER", "").endswith(":WebDriver")


def _show_in_browser(run: Watched) -> None:
    from fanout_tui.app import FanoutApp  # noqa: PLC0415  half a second of import

    FanoutApp(run, clock=SystemClock().awake, viewing=run).run()


def _show(
    run: Watched | Replayed,
    environ: Mapping[str, str],
    *,
    ascii: bool,  # noqa: A002
) -> None:
    # Half a second of import.
    from fanout_tui.launch import run_screen  # noqa: PLC0415
    from fanout_tui.theme import theme_of  # noqa: PLC0415

    with _signals_close(run):
        run_screen(
            run,
            clock=SystemClock().awake,
            ascii=ascii,
            no_color=bool(environ.get("NO_COLOR")),
            theme=theme_of("auto", environ),
            viewing=run,
            player=run if isinstance(run, Replayed) else None,
        )


@contextmanager
def _signals_close(run: Watched | Replayed) -> Iterator[None]:
    """A signal closes the screen, which gives the terminal back; then it counts."""

    def called_off(number: int, _frame: FrameType | None) -> None:
        run.signal = signal.Signals(number).name

    before = {number: signal.signal(number, called_off) for number in ENDING}
    try:
        yield
    finally:
        for number, was in before.items():
            signal.signal(number, was)


def _say(run: Watched, *, json: bool) -> None:
    output = output_of(run.now, json=json)
    while not run.finished():
        time.sleep(POLL_SECONDS)
        snapshot = run.latest()
        if snapshot is not None:
            output.update(snapshot)
    last = run.latest()
    assert last is not None
    output.close(last)


def _code(last: Snapshot) -> int:
    end = last.end
    code = None if end is None else end.exit_code
    return INCOMPLETE if code is None or code < 0 else code
