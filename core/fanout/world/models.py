"""Models that the account does not have: said once, not asked for by every row."""

from fanout.words.outcome import Broken, Outcome, Refused

HINT = "name a model that this account has with --model, or model= in the script"
NOT_FOUND = 404


class Models:
    """What the service has said about models, in this life."""

    def __init__(self) -> None:
        self._answering: set[str] = set()
        self._unknown: dict[str, tuple[str, Outcome]] = {}
        self._pools: dict[str, tuple[str, ...]] = {}

    def seen(self, pool: str, model: str) -> tuple[str, ...]:
        """Return the models that were asked for in a pool, this one included."""
        known = self._pools.get(pool, ())
        if model not in known:
            known = self._pools[pool] = (*known, model)
        return known

    def answered(self, model: str) -> None:
        """A call of this model was answered: it is there."""
        self._answering.add(model)
        self._unknown.pop(model, None)

    def learn(self, model: str, outcome: Refused | Broken, reason: str) -> str:
        """Return why every call of the model would fail like this one; else empty.

        A 404 may be about something else in a request, a file for instance: it
        must name the model, and the model must never have answered.
        """
        if model in self._answering or not _names(outcome, model):
            return ""
        text = f"{reason}; {HINT}"
        self._unknown[model] = text, outcome
        return text

    def refusal(self, model: str) -> tuple[str, Outcome] | None:
        """Return reason and outcome for a model that is known not to be there."""
        return self._unknown.get(model)

    def forget(self) -> None:
        """Ask again: the account may have changed."""
        self._unknown.clear()


def _names(outcome: Outcome, model: str) -> bool:
    return (
        isinstance(outcome, Refused)
        and outcome.status == NOT_FOUND
        and outcome.type == "not_found_error"
        and model in outcome.message
    )
