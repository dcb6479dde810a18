"""Starts the screen on the terminal and gives the terminal back, however it ends.

Textual restores the terminal when it is asked to quit, and only then; here the
same is done after an exception, on the way out of every signal, and once more
when the process ends.
"""

import atexit
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from fanout_tui.app import FanoutApp
from fanout_tui.bridge import Player, RunHandle, Viewing
from fanout_tui.crash import keep_traceback
from fanout_tui.driver import driver_for
from fanout_tui.stdio import Stdio, Terminal
from fanout_tui.theme import DARK

if TYPE_CHECKING:
    from fanout.words.snapshot import Snapshot

_taken: list[Terminal] = []
"""The terminal while a screen has it; the process has only one."""


def restore_terminal() -> None:
    """Give the terminal back, if a screen still has it. Safe in signal handlers."""
    for terminal in _taken:
        terminal.restore()


def run_screen(
    handle: RunHandle,
    *,
    clock: Callable[[], float],
    ascii: bool = False,  # noqa: A002
    no_color: bool = False,
    exit_when_done: bool = False,
    stdio: Stdio | None = None,
    viewing: Viewing | None = None,
    player: Player | None = None,
    theme: str = DARK.name,
    painted: Callable[[], None] | None = None,
    make: Callable[..., FanoutApp] = FanoutApp,
) -> str:
    """Run the screen in this (the main) thread; say how it was left.

    `quit`: after the run had ended. `drain`, `now`: by such a stop, once it was
    done. `done`: by itself (`exit_when_done`). `signal`: the run was stopped from
    outside. `ended`: the engine is gone. `plain`: the user wants plain output.
    `crashed`: the screen failed, the run goes on.

    `painted` is called once the run's first frame is there.

    `stdio` is one that was entered already, so that what a script prints before
    Textual is imported is a log line too; its end stays with whoever entered it.
    """
    options: dict[str, Any] = {
        "clock": clock,
        "ascii": ascii,
        "no_color": no_color,
        "exit_when_done": exit_when_done,
        "viewing": viewing,
        "player": player,
        "theme": theme,
        "painted": painted,
    }
    if stdio is not None:
        return _on(stdio, handle, make, options)
    with Stdio(handle.send) as own:
        return _on(own, handle, make, options)


def _on(
    stdio: Stdio,
    handle: RunHandle,
    make: Callable[..., FanoutApp],
    options: dict[str, Any],
) -> str:
    """Run it on this terminal, and give that back."""
    terminal = stdio.terminal
    _taken.append(terminal)
    atexit.register(restore_terminal)
    driver = driver_for(terminal)
    try:
        return _run(
            make(
                handle,
                prints=stdio.write,
                driver_class=driver,
                terminal=terminal,
                **options,
            )
        )
    except Exception as error:  # noqa: BLE001  (the run goes on without a screen)
        keep_traceback(error, _folder(handle))
        return "crashed"
    finally:
        terminal.restore()
        _taken.remove(terminal)
        atexit.unregister(restore_terminal)


def _run(app: FanoutApp) -> str:
    app.run()
    return app.left or "quit"


def _folder(handle: RunHandle) -> str | None:
    latest: Snapshot | None = handle.latest()
    return latest.run.folder if latest is not None else None
