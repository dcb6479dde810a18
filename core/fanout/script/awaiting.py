"""What can be awaited like a coroutine, and more than once.

`asyncio.create_task`, `TaskGroup` and `asyncio.run` take coroutines only, so
`agent()`, `parallel()` and `pipeline()` return objects that are coroutines to
asyncio (`collections.abc.Coroutine`) and begin nothing until they are driven.
Each task that drives one gets a coroutine of its own over the same outcome.
"""

import asyncio
from abc import abstractmethod
from collections.abc import Coroutine, Generator
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, NoReturn, TypeVar

from fanout.errors import UsageError

T = TypeVar("T")

OUTCOME = frozenset(
    {
        "because", "complete", "done", "kept", "kind", "missing", "ok", "path",
        "reason", "reused", "usage", "value", "values",
    }
)  # fmt: skip
"""Names that `Done`, `Missing` and `Results` have; that they do, a test says."""


class NotAwaitedError(UsageError, AttributeError):
    """What only the outcome has was asked of what would give it."""


class Work(Coroutine[Any, Any, T], Generic[T]):
    """A coroutine-like object; subclasses say in `_run` what awaiting it does."""

    _drivers: dict[asyncio.Task[Any] | None, Coroutine[Any, Any, T]] | None = None
    """None until it is driven: thousands are given to `parallel` and never are."""

    @abstractmethod
    async def _run(self) -> T: ...

    if not TYPE_CHECKING:  # a type checker is to find it by itself

        def __getattr__(self, name: str) -> NoReturn:
            if name not in OUTCOME:
                kind = type(self).__name__
                raise AttributeError(f"{kind!r} object has no attribute {name!r}")
            raise NotAwaitedError(
                f"{self!r} has no `{name}` before it is awaited",
                hint=f"write `(await …).{name}`, or keep what awaiting it gives",
            )

    def __await__(self) -> Generator[Any, Any, T]:
        return self._run().__await__()

    def send(self, value: Any) -> Any:
        """Drive it one step, on behalf of the current task."""
        task = _task()
        try:
            return self._driver(task).send(value)
        except BaseException:
            if self._drivers is not None:
                self._drivers.pop(task, None)
            raise

    def throw(
        self,
        typ: type[BaseException] | BaseException,
        val: BaseException | object = None,
        tb: TracebackType | None = None,
    ) -> Any:
        """Raise inside of it, where it waits."""
        error = typ if isinstance(typ, BaseException) else val
        if not isinstance(error, BaseException):
            kind = typ if isinstance(typ, type) else type(typ)
            error = kind() if val is None else kind(val)
        task = _task()
        try:
            return self._driver(task).throw(error.with_traceback(tb))
        except BaseException:
            if self._drivers is not None:
                self._drivers.pop(task, None)
            raise

    def close(self) -> None:
        """End what drives it; it may be awaited again."""
        drivers, self._drivers = self._drivers or {}, None
        for driver in drivers.values():
            driver.close()

    def _driver(self, task: asyncio.Task[Any] | None) -> Coroutine[Any, Any, T]:
        if self._drivers is None:
            self._drivers = {}
        driver = self._drivers.get(task)
        if driver is None:
            driver = self._drivers[task] = self._run()
        return driver


class Once(Work[T]):
    """Work that is made once, by the first who awaits it; `_make` says how."""

    def __init__(self) -> None:
        super().__init__()
        self._made: T | None = None
        self._busy = False

    @abstractmethod
    async def _make(self) -> T: ...

    async def _run(self) -> T:
        if self._made is not None:
            return self._made
        if self._busy:
            raise UsageError(
                f"two tasks await {self!r} at the same time",
                hint="await it once and share what it gives",
            )
        self._busy = True
        try:
            self._made = await self._make()
        finally:
            self._busy = False
        return self._made


def _task() -> asyncio.Task[Any] | None:
    try:
        return asyncio.current_task()
    except RuntimeError:
        return None
