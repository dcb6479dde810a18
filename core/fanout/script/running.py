"""The script's own thread: from its first line to its `ScriptEnd`.

A script may compute, block or crash without holding up the engine or the
screen. An async `main` runs on an event loop made here; a sync one runs in the
thread itself and may start loops of its own.

    start ─▶ import ─▶ main ─▶ leftover tasks cancelled ─▶ session closed ─▶ on_end
    cancel ─▶ the main task and every wait are cancelled, again and again; after a
              grace the thread is abandoned (it is a daemon) and on_end is called

`on_end` is called exactly once, on the script's thread or on the watcher's.
"""

import asyncio
import json
import os
import sys
import threading
import traceback
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass
from inspect import isawaitable
from pathlib import Path
from typing import Any

from fanout.errors import Incomplete, UsageError
from fanout.script import loading
from fanout.script.heartbeat import Heartbeat
from fanout.script.idling import Idling
from fanout.script.jsonable import jsonable
from fanout.script.session import Session, make_current
from fanout.script.sharing import ForcedExit, end_copy
from fanout.words.clean import shortened
from fanout.words.hiding import redact
from fanout.words.orders import EnginePort

TEXT_MAX = 4_000
TRACEBACK_MAX = 100_000
"""Characters; an exception's own text may be of any length."""

BEGIN_SECONDS_MAX = 3.0
"""A screen that has not painted by then is not waited for any longer."""

STACK_BYTES = 16 * 1024 * 1024
"""A runaway recursion must end as a RecursionError, not as a dead process."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptOptions:
    """How patient the script's thread is."""

    grace: float = 2.0
    """Seconds a cancelled script, or a task it left behind, has to end."""
    insist: float = 0.1
    """Seconds after which a script that swallowed its cancellation gets another."""
    may_begin: threading.Event | None = None
    """What a script imports may hold up a screen: it begins once this is set."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptEnd:
    """How `main` came to its end."""

    outcome: str
    """`returned`, `raised`, `exited`, `incomplete` or `cancelled`."""
    text: str = ""
    """The traceback's last line, or what it said."""
    value: Any = None
    """What `main` returned, as JSON values."""
    traceback: str = ""
    error: BaseException | None = None
    """What was raised; a `UsageError` is exit 2, not 1."""
    code: int = 0
    """What `sys.exit` was given; 1 for a text."""


class ScriptThread:
    """One script, run once."""

    def __init__(
        self,
        load: loading.LoadedScript,
        port: EnginePort,
        options: ScriptOptions,
        on_end: Callable[[ScriptEnd], None],
    ) -> None:
        self.session = Session(port)
        self._load = load
        self._options = options
        self._on_end = on_end
        self.idling = Idling(port.quiet)
        self._lock = threading.Lock()
        self._told = False
        self._process = os.getpid()
        self._reason: str | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[Any] | None = None
        self._thread = threading.Thread(
            target=self._body, name="fanout-script", daemon=True
        )

    def start(self) -> None:
        """Begin; returns at once."""
        before = threading.stack_size(STACK_BYTES)
        try:
            self._thread.start()
        finally:
            threading.stack_size(before)

    def cancel(self, reason: str) -> None:
        """End the script, whatever it does; from any thread, more than once."""
        with self._lock:
            if self._reason is not None:
                return
            self._reason = reason
        self._push()
        watcher = threading.Thread(
            target=self._watch, name="fanout-script-watch", daemon=True
        )
        watcher.start()

    def join(self, timeout: float | None = None) -> bool:
        """Wait for the thread; false when it still runs."""
        self._thread.join(timeout)
        return not self._thread.is_alive()

    # On the script's thread

    def _body(self) -> None:
        make_current(self.session)
        end = self._guarded(self._ran)
        self._leave_copy(end.error)
        self.session.close(returned=end.outcome == "returned")
        self._tell(end)

    def _ran(self) -> Any:
        if self._options.may_begin is not None:
            self._options.may_begin.wait(BEGIN_SECONDS_MAX)
        module = loading.install(self._load)
        loading.execute(self._load, module)
        call = loading.entry(self._load, module)
        self.session.proceed()
        value = call()
        return self._on_loop(_awaited(value)) if isawaitable(value) else value

    def _guarded(self, run: Callable[[], Any]) -> ScriptEnd:
        """Run and say how it ended; nothing a script raises gets past this."""
        try:
            value = run()
        except BaseException as error:  # noqa: BLE001  whatever a script raises
            if self._reason is not None:
                return ScriptEnd(outcome="cancelled", text=self._reason)
            return _ended(error)
        if self._reason is not None:
            return ScriptEnd(outcome="cancelled", text=self._reason)
        return ScriptEnd(outcome="returned", value=_plain(value))

    def _on_loop(self, main: Coroutine[Any, Any, Any]) -> Any:
        loop = self.idling.new_loop()
        loop.set_exception_handler(self._complain)
        asyncio.set_event_loop(loop)
        heart = Heartbeat(loop, str(self._load.path), self.session.port.note)
        heart.start()
        try:
            with self._lock:
                self._loop, self._task = loop, loop.create_task(main)
            if self._reason is not None:
                self._task.cancel()
            value = loop.run_until_complete(self._task)
        except BaseException as error:
            self._leave_copy(error)
            raise
        else:
            self._leave_copy(None)
            return value
        finally:
            heart.stop()
            self.idling.ended()
            try:
                self._clean(loop)
            finally:
                with self._lock:
                    self._loop = None
                asyncio.set_event_loop(None)
                loop.close()

    def _leave_copy(self, error: BaseException | None) -> None:
        """End a copy made by `os.fork`: what it shares with us is not its to close."""
        if os.getpid() == self._process:
            return
        if error is None:
            end_copy(0, "")
        end = _ended(error)
        told = end.text if isinstance(error, UsageError) else end.traceback
        end_copy(end.code or int(end.outcome != "returned"), told)

    def _clean(self, loop: asyncio.AbstractEventLoop) -> None:
        """Let what was just created start, then cancel what is left."""
        left = asyncio.all_tasks(loop)
        with suppress(BaseException):
            loop.run_until_complete(asyncio.sleep(0))
            loop.run_until_complete(asyncio.sleep(0))
        self.session.ending = True
        left |= asyncio.all_tasks(loop)
        for task in left:
            task.cancel()
        if left:
            with suppress(BaseException):
                loop.run_until_complete(asyncio.wait(left, timeout=self._options.grace))
        for task in left:
            self._report(task)
        with suppress(BaseException):
            loop.run_until_complete(loop.shutdown_asyncgens())

    def _report(self, task: asyncio.Task[Any]) -> None:
        """A task that nobody awaited must not fail in silence."""
        if task is self._task or not task.done() or task.cancelled():
            return
        if (error := task.exception()) is not None:
            self._complain(None, {"message": "a task left behind", "exception": error})

    def _complain(
        self, _: asyncio.AbstractEventLoop | None, context: dict[str, Any]
    ) -> None:
        """What asyncio would print goes to the log: the terminal is the screen's."""
        text = str(context.get("message", "asyncio"))
        if (error := context.get("exception")) is not None:
            text += f": {traceback.format_exception_only(error)[-1].strip()}"
        self.session.port.note("script", text)

    # On any thread

    def _push(self) -> None:
        self.session.stop()
        with self._lock:
            loop, task = self._loop, self._task
        if loop is not None and task is not None:
            # The loop may close between the look and the call.
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(task.cancel)

    def _watch(self) -> None:
        rounds = max(1, round(self._options.grace / self._options.insist))
        for _ in range(rounds):
            if self.join(self._options.insist):
                return
            self._push()
        self.session.close(returned=False)
        seconds = f"{self._options.grace:g} s"
        text = f"{self._reason}; the script did not end within {seconds}"
        self._tell(ScriptEnd(outcome="cancelled", text=text))

    def _tell(self, end: ScriptEnd) -> None:
        with self._lock:
            if self._told:
                return
            self._told = True
        self._on_end(end)


def _plain(value: Any) -> Any:
    """Return what `main` returned as JSON values, whatever its own methods do."""
    try:
        return _without_secrets(jsonable(value))
    except Exception as error:  # noqa: BLE001  a stranger's `__repr__`, and worse
        return f"<{type(value).__name__}, which raised {type(error).__name__}>"


def _without_secrets(value: Any) -> Any:
    try:
        text = json.dumps(value)
    except ValueError:
        return value
    kept = redact(text)
    return json.loads(kept) if kept != text else value


async def _awaited(value: Any) -> Any:
    return await value


def _ended(error: BaseException) -> ScriptEnd:
    return _exited(error) if isinstance(error, SystemExit) else _raised(error)


def _exited(stop: SystemExit) -> ScriptEnd:
    code = stop.code
    if code is None or code == 0:
        return ScriptEnd(outcome="returned", text="exited with code 0")
    text = code if isinstance(code, str) else f"exited with code {code}"
    if isinstance(stop, ForcedExit):
        text = f"called os._exit({code})"
    text = shortened(redact(text), TEXT_MAX)
    number = code if isinstance(code, int) else 1
    return ScriptEnd(outcome="exited", text=text, error=stop, code=number)


def _raised(error: BaseException) -> ScriptEnd:
    try:
        shown = "".join(traceback.format_exception(_trimmed(error)))
        last = traceback.format_exception_only(error)[-1].strip()
    except Exception:  # noqa: BLE001  an exception whose `__str__` raises, and worse
        shown = last = type(error).__name__
    outcome = "incomplete" if isinstance(error, Incomplete) else "raised"
    known = isinstance(error, Incomplete | UsageError)
    text = str(error) + _place(error) if known else last
    return ScriptEnd(
        outcome=outcome,
        text=shortened(redact(text), TEXT_MAX),
        traceback=shortened(redact(shown), TRACEBACK_MAX),
        error=error,
    )


def _place(error: BaseException) -> str:
    """Name the script's line that led to it: ` (audit.py:12)`."""
    path = getattr(sys.modules.get(loading.MODULE), "__file__", None)
    line, frame = 0, error.__traceback__
    while frame is not None:
        if frame.tb_frame.f_code.co_filename == path:
            line = frame.tb_lineno
        frame = frame.tb_next
    return f" ({Path(str(path)).name}:{line})" if line else ""


def _trimmed(error: BaseException) -> BaseException:
    """Drop our own frames above the script's first line."""
    frame = error.__traceback__
    while frame is not None and frame.tb_frame.f_code.co_filename in _OURS:
        frame = frame.tb_next
    return error.with_traceback(frame or error.__traceback__)


_OURS = frozenset(
    {
        __file__,
        loading.__file__,
        asyncio.base_events.__file__,
        asyncio.events.__file__,
    }
)
