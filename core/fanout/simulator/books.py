"""The account's own books: the truth a client's belief is compared with.

Totals cover everything since the start or the last reset; the list of single
requests is bounded. An entry is written at admission and completed as the answer
runs, so that a request in flight can be seen, too.
"""

from collections import Counter, deque
from dataclasses import asdict, dataclass, field
from typing import Any

from fanout.simulator.cache import Split


@dataclass(slots=True)
class Charge:
    """Tokens charged, in the four classes of the service, and their price."""

    input_tokens: int = 0
    cache_creation_input_tokens: int = 0
    cache_read_input_tokens: int = 0
    output_tokens: int = 0
    usd: float = 0.0

    def add_input(self, split: Split, usd: float) -> None:
        """Count what a request read."""
        self.input_tokens += split.uncached
        self.cache_creation_input_tokens += split.created
        self.cache_read_input_tokens += split.read
        self.usd += usd

    def add_output(self, tokens: int, usd: float) -> None:
        """Count what a request wrote."""
        self.output_tokens += tokens
        self.usd += usd


@dataclass(slots=True, kw_only=True)
class Entry:
    """One request in the list."""

    at: float
    """Epoch seconds."""
    endpoint: str
    status: int
    kind: str | None
    """Why it was refused."""
    row: str
    model: str
    request_id: str
    body_sha256: str
    retry_count: int
    """What the client's `x-stainless-retry-count` said."""
    ended: str
    """running, complete, cut (by a fault), disconnected (by the client), refused;
    of requests in batches: succeeded, errored, canceled, expired."""
    seconds: float = 0.0
    input_tokens: int = 0
    cache_creation_input_tokens: int = 0
    cache_read_input_tokens: int = 0
    output_tokens: int = 0


@dataclass(slots=True)
class RowBook:
    """What one row of a run cost."""

    charged: Charge = field(default_factory=Charge)
    admitted: int = 0
    refused: int = 0


class Books:
    """Counters, charges and the list of the last requests."""

    def __init__(self, length: int) -> None:
        self.admitted = 0
        self.ended: Counter[str] = Counter()
        self.refused: Counter[str] = Counter()
        self.statuses: Counter[int] = Counter()
        self.charged = Charge()
        self.batched = Charge()
        """What of it was charged for requests in batches."""
        self.batch_results: Counter[str] = Counter()
        self.in_flight = 0
        self.in_flight_peak = 0
        self._rows: dict[str, RowBook] = {}
        self._entries: deque[Entry] = deque(maxlen=length)

    def admit(self, entry: Entry) -> None:
        """Open the entry of an admitted request."""
        self.admitted += 1
        self.statuses[entry.status] += 1
        self.in_flight += 1
        self.in_flight_peak = max(self.in_flight_peak, self.in_flight)
        self._row(entry).admitted += 1
        self._entries.append(entry)

    def refuse(self, entry: Entry) -> None:
        """Note a request that got an error."""
        self.refused[entry.kind or "unknown"] += 1
        self.statuses[entry.status] += 1
        self._row(entry).refused += 1
        self._entries.append(entry)

    def note(self, entry: Entry) -> None:
        """Note a request that costs nothing, such as a look at the models."""
        self.statuses[entry.status] += 1
        self._entries.append(entry)

    def charge_input(self, entry: Entry, split: Split, usd: float) -> None:
        """Charge what an admitted request reads; its answer begins."""
        entry.input_tokens = split.uncached
        entry.cache_creation_input_tokens = split.created
        entry.cache_read_input_tokens = split.read
        self.charged.add_input(split, usd)
        self._row(entry).charged.add_input(split, usd)

    def charge_output(self, entry: Entry, tokens: int, usd: float) -> None:
        """Charge what it wrote since the last time."""
        entry.output_tokens += tokens
        self.charged.add_output(tokens, usd)
        self._row(entry).charged.add_output(tokens, usd)

    def settle_batched(self, entry: Entry, how: str) -> None:
        """Enter a request of a batch: how it ended, what it was charged before."""
        self.batch_results[how] += 1
        entry.ended = how
        book = self._row(entry)
        book.admitted += how == "succeeded"
        book.refused += how != "succeeded"
        self._entries.append(entry)

    def end(self, entry: Entry, how: str, seconds: float) -> None:
        """Close the entry of an admitted request."""
        self.in_flight -= 1
        self.ended[how] += 1
        entry.ended = how
        entry.seconds = round(seconds, 3)

    def _row(self, entry: Entry) -> RowBook:
        return self._rows.setdefault(entry.row, RowBook())

    def totals(self) -> dict[str, Any]:
        """Everything but the single requests, ready for JSON."""
        return {
            "admitted": self.admitted,
            "ended": dict(self.ended),
            "refused": dict(self.refused),
            "statuses": {str(code): n for code, n in sorted(self.statuses.items())},
            "in_flight": self.in_flight,
            "in_flight_peak": self.in_flight_peak,
            "charged": asdict(self.charged),
            "batched": asdict(self.batched),
            "batch_results": dict(self.batch_results),
            "rows": {name: asdict(book) for name, book in self._rows.items()},
        }

    def last(self, count: int) -> list[dict[str, Any]]:
        """The last so many requests, oldest first."""
        kept = list(self._entries)[-count:] if count > 0 else []
        return [asdict(entry) for entry in kept]
