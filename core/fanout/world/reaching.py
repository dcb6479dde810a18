"""Whether the service can be reached at all, and what is said and done when not.

A network that goes away comes back: rows keep their place, one call at a time asks,
and everything goes on. A service that was never reached in this life may have the
wrong address. That is said after the first try; where nobody watches, the run stops
when it has lasted for minutes, and does not ask a wrong address for hours.
"""

from collections.abc import Callable

from fanout.words.commands import Stop
from fanout.words.events import Noted
from fanout.words.outcome import Broken, Outcome
from fanout.words.timeouts import duration
from fanout.world.core import Core

WORTH_SAYING_SECONDS = 5.0
"""A connection that failed once and stood at the next try is no news."""
HINT = "is the address right (ANTHROPIC_BASE_URL), and is there a network?"


class Reaching:
    """Told how calls came back."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._stop: Callable[[Stop], None] | None = None
        self._patience = 0.0
        self._ever = False
        self._since: float | None = None

    def give_up_after(self, patience: float, stop: Callable[[Stop], None]) -> None:
        """Nobody watches: stop a run that was not reached for so many seconds."""
        self._patience, self._stop = patience, stop

    def came(self, outcome: Outcome | None) -> None:
        """A call came back; None: it was given up, and tells nothing."""
        if outcome is None or (isinstance(outcome, Broken) and outcome.slept):
            return
        if isinstance(outcome, Broken) and outcome.stage == "connect":
            self._failed(outcome.message)
        else:
            self._reached()

    def slept(self, seconds: float) -> None:
        """Nobody tried anything while the machine slept."""
        if self._since is not None:
            self._since += seconds

    def _failed(self, said: str) -> None:
        core = self._core
        now = core.clock.now()
        if self._since is None:
            self._since = now
            text = f"no connection: {said}"
            if not self._ever:
                core.record(Noted(source="engine", text=f"{text}; {HINT}"))
        away = now - self._since
        if self._ever or self._stop is None or away <= self._patience:
            return
        reason = f"never connected in {duration(away)}: {said}; {HINT}"
        self._stop(Stop("drain", "unreachable", reason))

    def _reached(self) -> None:
        core = self._core
        self._ever = True
        since, self._since = self._since, None
        if since is None:
            return
        away = core.clock.now() - since
        if away > WORTH_SAYING_SECONDS:
            text = f"connected again after {duration(away)}"
            core.record(Noted(source="engine", text=text))
