"""Who may send now, why the others wait, and when to look again.

`plan` is the one place where that is decided. It reads an account and changes
nothing in it (but for telling it the time, and whether calls can be sent); several
starts of one plan count against each other in a `Draft`. The order of its
questions is the order of the reasons a row can have for waiting:

1. Is the run open? (pause, drain)
2. Does the service answer at all? (breaker: one knock)
3. Is there room under the ceiling?
4. Pool by pool, the pool whose head comes first in the order first:
   is the pool held by a 429? Are its limits unknown and a probe out?
   Is another call about to make this prompt prefix readable?
   Do all three buckets have room for the head?

The head of a pool's line is never passed: what does not fit waits, and so does
everything behind it. A smaller call that slips past looks like throughput and
is how the big ones starve. (Rows that wait for a warming prefix are stepped
over; that wait ends by itself within one time-to-first-byte.)
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from fanout.decide.admission.account import Account
from fanout.decide.admission.line import Ticket
from fanout.decide.admission.pool import Draft, Pool, Short
from fanout.words.model import Cause, Dimension, Need, RowId
from fanout.words.snapshot import Gate

# How many rows that wait for a warming prefix are stepped over in one decision.
STEP_OVER_MAX = 64
# Sooner than this the world has not changed; a timer of 0 s would spin.
LOOK_SECONDS_MIN = 0.01
# If nothing else would wake the planner, it looks again by itself.
LOOK_SECONDS_MAX = 1.0

CAUSE_OF = {
    Dimension.REQUESTS: Cause.REQUESTS,
    Dimension.INPUT: Cause.INPUT,
    Dimension.OUTPUT: Cause.OUTPUT,
}


@dataclass(frozen=True, slots=True)
class Block:
    """Why a pool's head waits."""

    cause: Cause
    until: float | None = None
    """Monotonic second at which it can go, where known."""
    detail: str = ""


ASKS = "one call asks whether it answers"
WARMING = Block(Cause.WARMING, detail="the first call writes the prompt cache")


@dataclass(frozen=True, slots=True)
class Decision:
    """What follows from the account's state at one moment."""

    starts: tuple[Ticket, ...]
    """Calls to send, in this order, each with the need it is admitted for."""
    gates: Mapping[str, Block]
    """Pools with rows that wait, and why their heads do."""
    look_again: float | None
    """Monotonic second at which to plan again if no fact came before."""


@dataclass(slots=True)
class _Round:
    """One plan in the making."""

    account: Account
    now: float
    room: int
    knock: bool
    starts: list[Ticket] = field(default_factory=list)
    gates: dict[str, Block] = field(default_factory=dict)
    places: dict[str, Iterator[Ticket]] = field(default_factory=dict)


def plan(
    account: Account,
    now: float,
    *,
    open: bool = True,  # noqa: A002  what the engine calls it
    cause_if_closed: Cause | None = None,
) -> Decision:
    """Decide; the caller tells the account `admitted` for each start."""
    account.advance(now)
    account.planned(now, is_open=open)
    waiting = [pool for pool in account.pools.values() if len(pool.line)]
    if not open:
        closed = Block(cause_if_closed or Cause.PAUSED)
        return Decision((), {pool.name: closed for pool in waiting}, None)
    knock = account.breaker.open
    if knock and not account.breaker.may_knock(now):
        return _closed_by_breaker(account, waiting, now)
    room = account.ceiling.limit - account.in_flight
    round_ = _Round(account, now, min(1, room) if knock else room, knock)
    heads = {pool.name: _Head(pool, round_) for pool in waiting}
    while heads:
        name = min(heads, key=lambda name: heads[name].priority)
        block = heads[name].block()
        if block is not None:
            round_.gates[name] = block
            del heads[name]
        elif not heads[name].take():
            if heads[name].stepped_over:
                round_.gates[name] = WARMING
            del heads[name]
    return Decision(tuple(round_.starts), round_.gates, _look_again(round_))


def gate(account: Account, pool: str, block: Block | None, *, offset: float) -> Gate:
    """A block as the screen reads it; `offset` turns monotonic into wall time."""
    if block is None:
        return Gate(pool=pool, waiting=account.waiting(pool), cause=None, until=None)
    until = None if block.until is None else block.until + offset
    return Gate(
        pool=pool,
        waiting=account.waiting(pool),
        cause=block.cause,
        until=until,
        detail=block.detail,
    )


class _Head:
    """The first of a pool's line that this plan has not started."""

    __slots__ = (
        "draft",
        "index",
        "need",
        "pool",
        "round",
        "stepped_over",
        "ticket",
    )

    def __init__(self, pool: Pool, round_: _Round) -> None:
        self.pool = pool
        self.round = round_
        self.draft = Draft()
        self.index = 0
        self.stepped_over = False
        self.ticket = pool.line.at(0)
        self.need = self.ticket.need

    @property
    def priority(self) -> tuple[tuple[object, ...], RowId]:
        return self.ticket.priority, self.ticket.row

    @property
    def _unknown(self) -> bool:
        pool = self.pool
        return not pool.seen and not any(b.known for b in pool.buckets.values())

    def block(self) -> Block | None:
        """Why this ticket waits; None when it may go."""
        now, pool = self.round.now, self.pool
        if pool.hold.active(now):
            return Block(pool.hold.cause, pool.hold.until, pool.hold.detail)
        if self.round.room <= 0:
            return self._no_room()
        if self._unknown and (pool.flights or self.draft.starts):
            return Block(Cause.LEARNING, detail="the first answer tells the limits")
        if pool.hold.careful and (self._trying() or self.draft.starts):
            return Block(Cause.HOLD, detail="one call tries first")
        if not self._step_over():
            return WARMING
        self.need = self._price()
        short = pool.short(self.need, self.draft, now)
        return None if short is None else self._short(short)

    def take(self) -> bool:
        """Start the ticket; False when it was the last in line."""
        ticket, draft = self._priced(), self.draft
        self.round.starts.append(ticket)
        self.round.room -= 1
        draft.starts += 1
        draft.input += ticket.need.input
        draft.output += ticket.need.output
        if ticket.prefix is not None:
            draft.prefixes.add(ticket.prefix)
        return self._next()

    def _price(self) -> Need:
        return self.round.account.estimator.need_of(self.ticket)

    def _priced(self) -> Ticket:
        """The ticket with the need it is admitted for."""
        same = self.need == self.ticket.need
        return self.ticket if same else replace(self.ticket, need=self.need)

    def _next(self) -> bool:
        self.index += 1
        if self.index >= len(self.pool.line):
            return False
        self.ticket = self.pool.line.at(self.index)
        return True

    def _step_over(self) -> bool:
        """Go on to the first ticket whose prefix is not being warmed."""
        for _ in range(STEP_OVER_MAX):
            prefix = self.ticket.prefix
            if not self.pool.is_warming(prefix, self.draft, self.round.now):
                return True
            self.stepped_over = True
            if not self._next():
                return False
        return False

    def _trying(self) -> bool:
        generation = self.pool.hold.generation
        return any(f.hold_generation == generation for f in self.pool.flights.values())

    def _no_room(self) -> Block:
        if self.round.knock:
            return _away(self.round.account, None, ASKS)
        ceiling = self.round.account.ceiling
        taken = self.round.account.in_flight + len(self.round.starts)
        return Block(Cause.CEILING, detail=f"{taken}/{ceiling.limit}")

    def _short(self, short: Short) -> Block:
        # What may be taken now, the reserve kept back: it agrees with the wait.
        refill = self.pool.buckets[short.dimension].refill
        free = max(0.0, min(short.free, short.need - short.seconds * refill))
        detail = f"needs {_figure(short.need)}, {_figure(free)} free"
        until = self.round.now + max(short.seconds, LOOK_SECONDS_MIN)
        return Block(CAUSE_OF[short.dimension], until, detail)


def _closed_by_breaker(account: Account, waiting: list[Pool], now: float) -> Decision:
    breaker = account.breaker
    knocking = breaker.knock is not None
    until = None if knocking else breaker.knock_at
    block = _away(account, until, ASKS if knocking else "the service is away")
    gates = {pool.name: block for pool in waiting}
    look = None if knocking or not waiting else max(breaker.knock_at, now)
    ready = account.next_ready
    if look is None and not knocking and ready is not None:
        look = max(ready, breaker.knock_at, now + LOOK_SECONDS_MIN)
    return Decision((), gates, look)


def _away(account: Account, until: float | None, detail: str) -> Block:
    """Why nothing goes to a service that does not answer, or is not reached."""
    if account.breaker.offline:
        return Block(Cause.OFFLINE, until, account.breaker.reason)
    return Block(Cause.BREAKER, until, detail)


def _look_again(round_: _Round) -> float | None:
    account, now = round_.account, round_.now
    times = [block.until for block in round_.gates.values() if block.until is not None]
    ready = account.next_ready
    if ready is not None:
        times.append(ready)
    if times:
        return max(min(times), now + LOOK_SECONDS_MIN)
    if round_.gates and not round_.starts and not account.in_flight:
        return now + LOOK_SECONDS_MAX
    return None


def _figure(tokens: float) -> str:
    return f"{tokens / 1000:.0f}k" if abs(tokens) >= 10_000 else f"{tokens:.0f}"  # noqa: PLR2004
