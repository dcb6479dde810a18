"""The API of a dry run: nothing goes anywhere, whoever asks."""

import asyncio
from collections.abc import Callable
from typing import Any, NoReturn

from fanout.words.commands import Stop
from fanout.world.spend.planning import DRY, DRY_SECONDS


class NoApi:
    """Stands where `fanout.world.wire.api.Api` does; there is no network behind it."""

    def __init__(self, post: Callable[[object], None]) -> None:
        self._post = post

    async def send(self, *_: Any, **__: Any) -> NoReturn:
        """Nothing is admitted in a dry run; what asked here would have spent."""
        raise AssertionError("a dry run was about to send a call")

    async def ready(self) -> None:
        """Nothing is waited for."""

    async def plain(self, *_: Any, **__: Any) -> NoReturn:
        """Answer never: what it would be is not known, so the dry run ends here."""
        await asyncio.sleep(DRY_SECONDS)
        self._post(Stop("now", DRY, "a dry run sends nothing"))
        await asyncio.Event().wait()
        raise AssertionError("nobody sets it")

    async def lines(self, *_: Any, **__: Any) -> NoReturn:
        """Nothing was handed in that could have results."""
        raise AssertionError("a dry run was about to read results")

    async def renew(self, text: str) -> None:
        """There is no connection."""
        del text
