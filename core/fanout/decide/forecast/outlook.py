"""What is left of a run, and what its agents have used: a fold of its facts.

Agents are told apart by phase and model. Of those that nothing was spent on only
their number and size is kept; those under way are kept one by one, since what they
have used already is not to come. So a forecast costs as much as there are kinds and
calls in flight, not as there are rows.

The same fold over an earlier run's journal gives what that run has learned
(`Experience`): the present one begins with it.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import add, sub
from typing import Any, NamedTuple

from fanout.decide.admission.estimate import TOKENS_PER_BYTE
from fanout.decide.batching import POOL
from fanout.decide.calibration import Calibration
from fanout.decide.fold.run_state import THROWN_AWAY
from fanout.decide.forecast.batches import FACTS, KEPT, Batches
from fanout.decide.forecast.pace import Pace
from fanout.decide.forecast.prior import Kind
from fanout.decide.forecast.sample import Sample, used
from fanout.decide.money.pricing import BUILT_IN, from_json
from fanout.decide.parts.content import NOTHING, Content, checked, total, weight
from fanout.decide.parts.content import Kind as Mark
from fanout.words.ahead import OpeningsCounted
from fanout.words.events import (
    CallAbandoned,
    CallAnswered,
    CallRefused,
    LifeStarted,
    Record,
    RowDone,
    RowDropped,
    RowExpected,
    RowMissing,
    RowRequeued,
    RowScheduled,
    RowsExpected,
    RunResumed,
    TurnsKept,
)
from fanout.words.model import NO_USAGE, RowId, RowSpec, Usage

BYTES_A_TOKEN = 3
"""For rows of journals that do not say what they were given."""
KEPT_MAX = 40.0
"""For so many agents, and requests, the earlier runs count at most."""
TEACHING = frozenset({CallRefused, CallAbandoned, OpeningsCounted}) | FACTS
"""Facts that change nothing of what a run has kept, and tell what such runs take."""


class Name(NamedTuple):
    """One kind of agents."""

    phase: str
    model: str


@dataclass(slots=True)
class Going:
    """One agent that has not ended, or may be reopened."""

    name: Name
    size: float
    opening: Content = NOTHING
    """What its first request is made of."""
    given: Content = NOTHING
    """The same with the files that it is pointed at."""
    usage: Usage = NO_USAGE
    calls: int = 0
    seconds: float = 0.0
    whole: bool = True
    """All its calls were seen, so it can be learned from."""

    @property
    def touched(self) -> bool:
        """Something was spent on it."""
        return self.calls > 0 or self.usage.total > 0

    def values(self) -> list[float]:
        """What it has used, as a sample takes it."""
        return used(self.usage, self.calls, self.seconds)


@dataclass(slots=True)
class Group:
    """All agents of one kind."""

    kind: Kind
    pool: str
    sample: Sample = field(default_factory=Sample)
    fresh: int = 0
    """Open agents that nothing was spent on."""
    fresh_size: float = 0.0
    fresh_given: list[float] = field(default_factory=lambda: [0.0] * len(Mark))
    fresh_known: int = 0
    """Fresh agents of which it is known what they are given."""
    going: dict[RowId, Going] = field(default_factory=dict)
    """Open agents that something was spent on."""
    pace: Pace = field(default_factory=Pace)

    def count(self, going: Going, by: int) -> None:
        """Count an agent that nothing was spent on in, or out."""
        self.fresh += by
        self.fresh_size += by * going.size
        if going.given:
            self.fresh_known += by
            change = add if by > 0 else sub
            self.fresh_given = [*map(change, self.fresh_given, going.given)]


class Experience:
    """What earlier runs have learned."""

    def __init__(self, outlooks: Sequence["Outlook"] = ()) -> None:
        """`outlooks` are theirs, the one that counts most first."""
        self.samples: dict[Name, Sample] = {}
        self.phases: dict[str, tuple[Name, float]] = {}
        """Each phase's largest kind, with how many agents its newest run had."""
        self.batches: list[float] = []
        """Seconds that batches took, the newest last."""
        self.calibration = Calibration()
        for outlook in outlooks:
            self._add(outlook)
            self.batches = [*outlook.batches.took, *self.batches][-KEPT:]

    def _add(self, outlook: "Outlook") -> None:
        self.calibration = self.calibration.joined(outlook.calibration, KEPT_MAX)
        news: dict[str, tuple[Name, float]] = {}
        for name, group in outlook.groups.items():
            count = group.sample.count
            if not count:
                continue
            known = self.samples.get(name, Sample())
            self.samples[name] = known.joined(
                group.sample, max(0.0, KEPT_MAX - known.count)
            )
            if count > news.get(name.phase, (name, 0.0))[1]:
                news[name.phase] = name, count
        self.phases = news | self.phases

    def of(self, name: Name) -> Sample:
        """What is known of a kind, or else of its phase with another model."""
        found = self.samples.get(name)
        if found is not None:
            return found
        others = [s for n, s in self.samples.items() if n.phase == name.phase]
        return max(others, key=lambda sample: sample.count, default=Sample())


class Outlook:
    """The agents of one run; `take_in` every fact, in order."""

    def __init__(self) -> None:
        self.groups: dict[Name, Group] = {}
        self.ahead: dict[RowId, None] = {}
        """Rows that are declared and not asked for yet."""
        self.earlier = Experience()
        self.batches = Batches()
        self.prices = BUILT_IN
        self.calibration = Calibration()
        """What was observed of vocabularies in this run."""
        self.uncounted = ""
        """Why openings could not be counted."""
        self._joined: tuple[Experience, Calibration] | None = None
        self._at = 0.0
        self._rows: dict[RowId, Going] = {}
        self._left: dict[RowId, Going] = {}
        """Missing ones, which may be reopened."""
        self._handlers: Mapping[type, Callable[[Any], None]] = {
            LifeStarted: self._life,
            OpeningsCounted: self._counted,
            RunResumed: self._resumed,
            RowExpected: lambda event: self._expected((event.row,)),
            RowsExpected: lambda event: self._expected(event.rows),
            RowScheduled: self._scheduled,
            TurnsKept: self._kept,
            CallAnswered: self._answered,
            CallRefused: self._wasted,
            CallAbandoned: self._wasted,
            RowDone: self._done,
            RowMissing: self._missing,
            RowRequeued: self._requeued,
            RowDropped: self._dropped,
        }

    def take_in(self, record: Record) -> None:
        """Learn from one fact."""
        self._at = record.at
        handler = self._handlers.get(type(record.event))
        if handler is not None:
            handler(record.event)
        self.batches.take_in(record)

    @property
    def open(self) -> int:
        """Agents that have not ended."""
        return len(self._rows)

    @property
    def vocabulary(self) -> Calibration:
        """What is known of vocabularies, from this run and from earlier ones."""
        known = self._joined
        if known is None or known[0] is not self.earlier:
            joined = self.calibration.joined(self.earlier.calibration, KEPT_MAX)
            known = self._joined = self.earlier, joined
        return known[1]

    def only(self, rows: Iterable[RowId]) -> "Outlook":
        """Return the outlook on some of the open rows; samples are shared."""
        part = Outlook()
        part.earlier, part.prices = self.earlier, self.prices
        part.batches = self.batches.closed()
        part.calibration, part.uncounted = self.calibration, self.uncounted
        part._joined = self.earlier, self.vocabulary
        for row in rows:
            going = self._rows.get(row)
            if going is None:
                continue
            whole = self.groups[going.name]
            if going.name not in part.groups:
                part.groups[going.name] = Group(whole.kind, whole.pool, whole.sample)
            part._put(row, going)
        return part

    def _life(self, event: LifeStarted) -> None:
        self.prices = from_json(event.prices) if event.prices else BUILT_IN
        self._rows.clear()
        self._left.clear()
        self.ahead.clear()
        for group in self.groups.values():
            group.fresh, group.fresh_size, group.fresh_known = 0, 0.0, 0
            group.fresh_given = [0.0] * len(Mark)
            group.going.clear()
            group.pace = Pace()

    def _resumed(self, _event: RunResumed) -> None:
        for group in self.groups.values():
            group.pace = Pace()

    def _counted(self, event: OpeningsCounted) -> None:
        self.uncounted = event.failed
        for model, content, tokens in event.counts:
            self._observe(model, checked(content), tokens, counted=True)

    def _observe(
        self, model: str, content: Content, tokens: float, *, counted: bool
    ) -> None:
        if content:
            self.calibration.learn(model, content, tokens, counted=counted)
            self._joined = None

    def _expected(self, rows: Iterable[RowId]) -> None:
        for row in rows:
            if row not in self._rows and row not in self._left:
                self.ahead[row] = None

    def _scheduled(self, event: RowScheduled) -> None:
        if self.ahead.pop(event.row, 0) is None and not self.ahead:
            self.ahead.clear()  # a dict keeps its room for what it once held
        self._take(event.row)
        spec = event.spec
        name = Name(event.row.phase, spec.model)
        if name not in self.groups:
            kind = Kind(
                model=spec.model,
                tools=spec.tools,
                max_tokens=spec.max_tokens,
                max_turns=spec.max_turns,
            )
            self.groups[name] = Group(kind, spec.pool)
        opening = checked(spec.content)
        given = total([opening, checked(spec.reading)]) if opening else NOTHING
        self._put(event.row, Going(name, _size_of(spec, given), opening, given))

    def _put(self, row: RowId, going: Going) -> None:
        self._rows[row] = going
        group = self.groups[going.name]
        if going.touched:
            group.going[row] = going
        else:
            group.count(going, 1)

    def _take(self, row: RowId) -> Going | None:
        going = self._rows.pop(row, None)
        if going is None:
            return None
        group = self.groups[going.name]
        if group.going.pop(row, None) is None:
            group.count(going, -1)
        return going

    def _kept(self, event: TurnsKept) -> None:
        going = self._take(event.row)
        if going is None:
            return
        entries = event.entries if isinstance(event.entries, tuple | list) else None
        going.whole = entries is not None
        for entry in entries or ():
            if entry.get("kind") == "answer":
                known = entry.get("usage")
                going.whole = going.whole and bool(known)
                going.usage += _usage(known or {})
                going.calls += 1
        self._put(event.row, going)

    def _answered(self, event: CallAnswered) -> None:
        going = self._touch(event.row)
        if going is not None:
            if not going.calls:
                read = event.usage.charged_input + event.usage.cache_read_input_tokens
                self._observe(going.name.model, going.opening, read, counted=False)
            going.usage += event.usage
            going.calls += 1
            going.seconds += event.seconds
            group = self.groups[going.name]
            if group.pool == POOL:
                self.batches.read()
            else:
                group.pace.answered(self._at)

    def _wasted(self, event: CallRefused | CallAbandoned) -> None:
        """What broke off has cost its agent something, and will cost others."""
        going = self._touch(event.row) if event.wasted.total else None
        if going is not None:
            going.usage += event.wasted

    def _touch(self, row: RowId) -> Going | None:
        """Something is spent on it."""
        going = self._rows.get(row)
        if going is not None and not going.touched:
            group = self.groups[going.name]
            group.count(going, -1)
            group.going[row] = going
        return going

    def _done(self, event: RowDone) -> None:
        going = self._take(event.row)
        if going is not None and event.reused_from is None:
            self._learn(going)

    def _missing(self, event: RowMissing) -> None:
        self.ahead.pop(event.row, None)
        going = self._take(event.row)
        if going is None:
            return
        # What a stop cut short says nothing about how long it would have been.
        if event.kind in THROWN_AWAY:
            self._learn(going)
        self._left[event.row] = going

    def _learn(self, going: Going) -> None:
        if going.whole and going.calls:
            seconds = going.seconds or 0.0
            sample = self.groups[going.name].sample
            sample.learn(going.size, used(going.usage, going.calls, seconds))

    def _requeued(self, event: RowRequeued) -> None:
        going = self._left.pop(event.row, None)
        if going is None:
            self.ahead[event.row] = None
        elif event.fresh:
            again = Going(going.name, going.size, going.opening, going.given)
            self._put(event.row, again)
        else:
            self._put(event.row, going)

    def _dropped(self, event: RowDropped) -> None:
        self.ahead.pop(event.row, None)
        self._take(event.row)


def _size_of(spec: RowSpec, given: Content) -> float:
    """Bytes of what a row is given: of text that has so many tokens a byte as most."""
    if given:
        return weight(given) / TOKENS_PER_BYTE
    return float(spec.size + spec.reads or spec.estimate * BYTES_A_TOKEN)


def _usage(known: Mapping[str, int]) -> Usage:
    names = Usage.__dataclass_fields__
    return Usage(**{name: int(known.get(name) or 0) for name in names})
