"""Runs a script: account, place, threads; then the screen or plain output; the end.

The main thread shows and listens, the engine and the script have threads of
their own. Whatever happens to the screen, the run goes on in plain output; when
the run is over, reports are written, the summary goes to stdout and what `main`
returned after it.
"""

import importlib
import os
import shutil
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from fanout.access import own_clients_at, reach
from fanout.decide.ended import broken_off, finish_command, named
from fanout.decide.ending import DEFECT, SIGNALS, UNASKED, USAGE
from fanout.decide.fold.state import RunState
from fanout.errors import UsageError
from fanout.life import Life, Setting
from fanout.place import open_place
from fanout.script.loading import locate
from fanout.script.sharing import exits_named, functions, replaced
from fanout.simulator.process import SimulatedAccount
from fanout.version import VERSION
from fanout.words.commands import Note
from fanout.words.hiding import hide_all
from fanout.words.model import Cause
from fanout.words.snapshot import CRASHED, Snapshot
from fanout.world.clock import Clock, SystemClock
from fanout_tui.command.asking import Asker, can_ask
from fanout_tui.command.handle import Handle
from fanout_tui.command.lines import output_of
from fanout_tui.command.options import Options
from fanout_tui.command.say import problem, through, warn, write
from fanout_tui.command.signals import Signals
from fanout_tui.crash import harmless
from fanout_tui.stdio import Stdio

if TYPE_CHECKING:
    from fanout_tui.command.reports import Written

POLL_SECONDS = 0.2
STOP_SECONDS_MAX = 15.0
"""How long the engine may take to end once nothing is left to wait for."""


@dataclass(frozen=True, slots=True)
class Ran:
    """How a run ended, for whoever ran it."""

    code: int
    snapshot: Snapshot | None
    stuck: bool = False
    """The engine did not end: its threads would hold up the end of the process."""


def run_command(options: Options, environ: Mapping[str, str]) -> int:
    """Run a script, or say what it would do; returns the exit code."""
    if options.config.dry:
        from fanout_tui.command.dryrun import run_dry  # noqa: PLC0415

        return run_dry(options, environ)
    return run_script(options, environ).code


def run_script(
    options: Options,
    environ: Mapping[str, str],
    *,
    account: SimulatedAccount | None = None,
) -> Ran:
    """Run it to its end. Raises `UsageError` before anything was sent."""
    hide_all(environ)
    _check_reports(options.config.reports)
    ran = _run(options, environ, account)
    if ran.stuck:
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError, AttributeError):
                stream.flush()
        os._exit(ran.code)
    return ran


def _run(
    options: Options, environ: Mapping[str, str], account: SimulatedAccount | None
) -> Ran:
    clock = SystemClock()
    config = options.config
    with ExitStack() as stack:
        signals = stack.enter_context(Signals())
        loaded = locate(config.script, config.arguments)
        screen = options.tui and on_a_terminal(environ)
        if screen:
            _begin_import()
        access = reach(config, environ, stack, account)
        if access.simulated:
            stack.enter_context(own_clients_at(access.credentials.base_url, os.environ))
        place = open_place(config, access.endpoint, VERSION, clock)
        stack.callback(place.lock.release)
        life = Life(
            Setting(
                config=config,
                access=access,
                place=place,
                script=loaded,
                clock=clock,
                linger=screen and not options.exit_when_done,
                export=_export,
                keep=partial(_keep, config.reports),
                attended=screen,
                answers=screen or can_ask(sys.stdin, sys.stderr),
                raises=screen and not config.yes,
            )
        )
        handle = Handle(life.thread, place.folder, clock.awake)
        signals.attach(handle, plain=not screen, folder=place.folder)
        with (
            # From here on what the script prints, in whatever way, is a log line.
            Stdio(handle.send) as stdio,
            through(stdio.out, stdio.err),
            exits_named(lambda text: handle.send(Note("script", text))),
        ):
            life.thread.tampered = partial(replaced, functions())
            life.before_end, life.before_post = stdio.drain, stdio.settle
            life.start()
            if screen:
                screen = _show(handle, stdio, options, environ, life.may_import.set)
            life.may_import.set()
            # The screen was left: what is still to come is said in plain lines.
            life.thread.close()
            if not screen:
                signals.plain()
                _say(handle, options, clock, Asker(handle, stdio.terminal.source))
            _await_end(life, handle)
        signals.over()
        return _end(life, handle, options)


def _export(snapshot: Snapshot, paths: Sequence[str]) -> list[str]:
    """Write reports, as a key asks for them; what writes them is imported then."""
    from fanout_tui.command.reports import export  # noqa: PLC0415

    return export(snapshot, paths)


def _keep(asked: Sequence[Path], snapshot: Snapshot) -> list[str]:
    """Write what is due at an end whose screen stays up."""
    from fanout_tui.command.reports import write_all  # noqa: PLC0415  as above

    return write_all(snapshot, asked, stays=True).problems


def _check_reports(asked: Sequence[Path]) -> None:
    if asked:
        from fanout_tui.command.reports import check_writable  # noqa: PLC0415  as above

        check_writable(asked)


def _write_all(snapshot: Snapshot, asked: Sequence[Path]) -> "Written":
    from fanout_tui.command.reports import write_all  # noqa: PLC0415  as above

    return write_all(snapshot, asked)


def _begin_import() -> None:
    """Import the screen while the account is being reached."""
    threading.Thread(
        target=importlib.import_module, args=("fanout_tui.launch",), daemon=True
    ).start()


def on_a_terminal(environ: Mapping[str, str]) -> bool:
    """The screen opens only where all three streams are a terminal that can."""
    able = environ.get("TERM", "") not in ("", "dumb")
    streams = (sys.stdin, sys.stdout, sys.stderr)
    return able and all(s is not None and s.isatty() for s in streams)


def _show(
    handle: Handle,
    stdio: Stdio,
    options: Options,
    environ: Mapping[str, str],
    painted: Callable[[], None],
) -> bool:
    """Show the screen until it is left; says whether the run had ended by then."""
    # Half a second of import that plain output must not pay for.
    from fanout_tui.launch import run_screen  # noqa: PLC0415
    from fanout_tui.theme import theme_of  # noqa: PLC0415

    left = run_screen(
        handle,
        clock=SystemClock().wall,
        ascii=options.ascii,
        no_color=bool(environ.get("NO_COLOR")),
        exit_when_done=options.exit_when_done,
        theme=theme_of(options.theme, environ),
        stdio=stdio,
        painted=painted,
    )
    if left == "crashed":
        warn("the screen crashed; the run goes on in plain output")
    return left not in ("crashed", "plain", "signal")


def _say(handle: Handle, options: Options, clock: Clock, asker: Asker) -> None:
    """Tell in lines what happens, until the engine has ended."""
    output = output_of(clock.wall, json=options.json)
    trouble, wanted = ("", ""), False
    while not handle.finished():
        # Whoever asks is told how it stands then, not how it stood before.
        wanted = handle.take_dump_request() or wanted
        handle.ask()
        handle.wait(POLL_SECONDS)
        snapshot = handle.latest()
        if snapshot is not None:
            output.update(snapshot)
            trouble = _say_of_trouble(trouble, snapshot)
            asker.look(snapshot)
            if wanted:
                output.every_wait(snapshot)
                wanted = False
    last = handle.latest()
    if last is not None:
        output.close(last)


def _say_of_trouble(before: tuple[str, str], snapshot: Snapshot) -> tuple[str, str]:
    """What a person may have to mend also goes to stderr, where one may look."""
    gates = snapshot.gates.values()
    away = next((g.detail for g in gates if g.cause is Cause.OFFLINE), "")
    if snapshot.disk and snapshot.disk != before[0]:
        problem(
            f"the disk refuses: {snapshot.disk}; nothing new is sent",
            "what is finished is kept; the run goes on when there is room again",
        )
    if away and away != before[1]:
        problem(
            f"offline: {away}",
            "nothing is lost; the run goes on when there is a connection",
        )
    return snapshot.disk, away


def _await_end(life: Life, handle: Handle) -> None:
    for _ in range(round(STOP_SECONDS_MAX / POLL_SECONDS)):
        if life.thread.wait(POLL_SECONDS) or handle.overdue():
            return


def _end(life: Life, handle: Handle, options: Options) -> Ran:
    """Write what is to be written, say how it ended, return the exit code."""
    snapshot = handle.latest()
    if life.thread.error is not None:
        return _crashed(life, snapshot, options)
    if snapshot is None or snapshot.end is None:
        return _stuck(life, handle, snapshot)
    if _never_began(life, snapshot):
        return Ran(USAGE, snapshot)
    written = _write_all(snapshot, options.config.reports)
    snapshot, end = written.snapshot, written.snapshot.end
    assert end is not None, "it has ended"
    assert end.exit_code is not None, "by itself"
    if not options.json:
        from fanout_tui.summary import summary  # noqa: PLC0415

        _traceback(life)
        write(summary(snapshot, written.reports))
        if end.result:
            write(end.result)
    for text in written.notes:
        problem(text)
    for text in written.problems:
        problem(text, f"write it later with: fanout-tui report {named(life.info)}")
    _say_what_is_wrong(life, end.reason)
    return Ran(end.exit_code, snapshot, stuck=not life.thread.finished())


def _say_what_is_wrong(life: Life, reason: str) -> None:
    engine = life.thread.engine
    stop = None if engine is None else engine.core.state.stop
    if stop is not None and stop.cause == UNASKED:
        problem(
            reason, "--yes goes ahead, --dry-run shows all of it, --limit 2 tries a few"
        )
    if life.journal_problem:
        problem(
            f"the end of the journal could not be written: {life.journal_problem}",
            "make room, then resume: what had been confirmed is kept",
        )


def _stuck(life: Life, handle: Handle, snapshot: Snapshot | None) -> Ran:
    """The engine was not waited for any longer; its journal says what is finished."""
    problem(
        "the engine does not end; what is finished is on disk",
        f"go on with: {finish_command(life.info)}",
    )
    code = SIGNALS.get(handle.stop_cause, DEFECT)
    return Ran(code, snapshot, stuck=not life.thread.finished())


def _never_began(life: Life, snapshot: Snapshot) -> bool:
    """A script that could not be run as given leaves a sentence, and no run."""
    end = life.script_end
    if end is None or not isinstance(end.error, UsageError):
        return False
    problem(end.text, end.error.hint)
    if snapshot.counts.expected or snapshot.run.life > 1:
        return False
    with suppress(OSError):
        shutil.rmtree(snapshot.run.folder)
    return True


def _traceback(life: Life) -> None:
    """What the script raised, as Python would have shown it."""
    end = life.script_end
    if end is None or isinstance(end.error, UsageError):
        return
    if end.outcome == "raised" and end.traceback:
        warn(end.traceback.rstrip())


def _crashed(life: Life, snapshot: Snapshot | None, options: Options) -> Ran:
    """Say whose fault it was, and write what can still be written."""
    folder, error = life.info.folder, life.thread.error
    end = broken_off(CRASHED, life.info, RunState(), life.thread.tampered())
    if snapshot is not None and snapshot.end is not None:
        end = snapshot.end
    assert end is not None, "a crash is an end"
    what = end.cause if end.exit_code != DEFECT else f"{end.cause}: {error!r}"
    warn(
        f"{what}\n"
        "hint: nothing finished is lost; "
        f"go on with: {finish_command(life.info)}\n"
        f"the details are in {folder}/crash.txt"
    )
    with suppress(OSError):
        text = harmless(life.thread.trace)
        Path(folder, "crash.txt").write_text(text, encoding="utf-8")
    if snapshot is not None and snapshot.end is not None:
        for text in _write_all(snapshot, options.config.reports).problems:
            problem(text)
    return Ran(DEFECT if end.exit_code is None else end.exit_code, snapshot)
