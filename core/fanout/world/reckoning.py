"""What answers have used: as the service says, else as it is estimated.

No call reads nothing. A service that says so, as gateways do that leave `usage`
out, does not say it; counted as nothing, its answers would cost nothing in the
report and pass every budget.
"""

from dataclasses import replace

from fanout.decide.losses import estimated, is_told
from fanout.words.events import Noted
from fanout.words.outcome import Answered
from fanout.world.core import Core
from fanout.world.request import Request

UNTOLD = (
    "the service does not say what answers have used: "
    "their tokens and dollars are estimates"
)


class Reckoning:
    """Sees every answer before it is counted."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._said = False

    def of(self, request: Request, outcome: Answered, *, cached: int) -> Answered:
        """Return the answer with its usage; what was told is learned from."""
        core = self._core
        if not is_told(outcome.usage):
            if not self._said:
                self._said = True
                core.record(Noted(source="engine", text=UNTOLD))
            assert request.need is not None, "answered without a need"
            return replace(outcome, usage=estimated(request.need, outcome))
        core.estimator.learn(
            model=request.model,
            phase=request.row.phase,
            turn=request.turn,
            new_bytes=request.new_bytes,
            known_input=request.known_input,
            cached=cached,
            usage=outcome.usage,
        )
        return outcome
