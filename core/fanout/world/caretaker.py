"""What follows when a disk refuses: nothing new is begun, and it is tried again.

The journal keeps in memory what it cannot write; an output that finds no room is
written again. Meanwhile nothing is sent that could not be kept. Where somebody
watches, that lasts until the disk is mended or the run is stopped. Where nobody
does, a run must not wait for ever: after a while it stops.
"""

from collections.abc import Callable

from fanout.words.commands import Stop
from fanout.words.events import Noted
from fanout.world.core import Core
from fanout.world.messages import DiskFailed, NoRoom

RETRY_SECONDS = 2.0
"""How long a disk that refused is left alone."""


class Caretaker:
    """Looks after disks that refused."""

    def __init__(
        self, core: Core, stop: Callable[[Stop], None], patience: float | None
    ) -> None:
        """`patience`: seconds after which the run stops; None: somebody watches."""
        self._core = core
        self._stop = stop
        self._patience = patience
        self._since: float | None = None
        self._said = ""

    def disk_failed(self, message: DiskFailed) -> None:
        """The journal cannot be written."""
        core = self._core
        core.trouble = message.text
        # It is over when all of it is on disk, also what nobody waited for.
        core.durable_seq = core.state.seq
        self._refused(f"the journal cannot be written: {message.text}")

    def no_room(self, message: NoRoom) -> None:
        """An output cannot be written for want of room."""
        self._core.cramped[message.row] = message.text
        self._refused(message.text)

    def _refused(self, text: str) -> None:
        core = self._core
        if self._since is None:
            self._since = core.clock.now()
            self._again()
        if text != self._said:
            self._said = text
            core.record(Noted(source="engine", text=f"{text}; nothing new is sent"))

    def _again(self) -> None:
        core = self._core
        core.at(core.clock.now() + RETRY_SECONDS, self._look)

    def _look(self) -> None:
        """See whether it is mended; while it is not, try again."""
        core = self._core
        if not core.disk:
            self._since, self._said = None, ""
            text = "the disk takes what it is given again; the run goes on"
            core.record(Noted(source="engine", text=text))
            return
        assert self._since is not None, "nothing had refused"
        waited = core.clock.now() - self._since
        if self._patience is not None and waited > self._patience:
            self._stop(Stop("drain", "disk", self._said))
        if core.trouble:
            core.store.retry()
        self._again()
