"""The account: all that admission knows and has promised, changed by facts only.

Where things are decided:

- `plan` (`fanout.decide.admission.planner`) reads an account and says which
  waiting calls start now, why each pool's head waits, and when to look again;
- `Account` takes facts: a ticket came, a call was admitted, sent, opened, told
  its input, produced, ended. It forwards each to the pool's ledger
  (`fanout.decide.admission.pool`), and endings to whoever learns from that kind: the
  pool's hold from limits, the breaker from the service's trouble, the ceiling
  from load. What an ending means was judged before (`fanout.decide.admission.retry`).

Facts about calls that already ended change nothing, so a late progress report
or a second `ended` is harmless: a reservation is settled once.

Which calls count as evidence is a matter of generations: a call carries the
numbers of the hold, the cut and the opening it was admitted under. Refusals from
before are late news of the same event.
"""

from bisect import insort
from collections.abc import Callable, Iterable

from fanout.decide.admission.breaker import Breaker
from fanout.decide.admission.ceiling import MOST, Ceiling
from fanout.decide.admission.clock import OpenSeconds, ServerClock
from fanout.decide.admission.estimate import Estimator
from fanout.decide.admission.flight import Flight, produced_by
from fanout.decide.admission.line import Ticket
from fanout.decide.admission.pool import Pool
from fanout.decide.admission.retry import (
    LIMIT_CAUSES,
    TROUBLE_CAUSES,
    TROUBLE_SECONDS_MAX,
    Verdict,
    announced,
    was_away,
)
from fanout.decide.admission.said import SaidLimit, said_limit
from fanout.decide.admission.views import Starts, limits_of, pool_views
from fanout.words.events import LimitsLearned
from fanout.words.model import Cause, Dimension, RowId, Usage, Wait
from fanout.words.outcome import Answered, Broken, Limits, Outcome, Refused
from fanout.words.snapshot import CeilingView, PoolView

__all__ = ["Account", "Ticket"]


class Account:
    """The books of admission; `now` is monotonic seconds, `wall` epoch seconds."""

    def __init__(
        self,
        *,
        chance: Callable[[], float],
        ceiling_max: int = MOST,
        known: Iterable[LimitsLearned] = (),
        estimator: Estimator | None = None,
        now: float = 0.0,
    ) -> None:
        self.chance = chance
        self.pools: dict[str, Pool] = {}
        self.clock = ServerClock()
        self._open = OpenSeconds()
        self.breaker = Breaker(chance)
        self.ceiling = Ceiling(most=ceiling_max)
        self.estimator = estimator or Estimator()
        self._flights: dict[int, Pool] = {}
        self._later: list[tuple[float, int, Ticket]] = []
        self._later_rows: dict[RowId, int] = {}
        self._seq = 0
        self._changed: set[str] = set()
        self._notes: list[str] = []
        self._noted: set[str] = set()
        for limits in known:
            self.pool(limits.pool).suppose(limits, now)

    # The line.

    def enqueue(self, ticket: Ticket, now: float) -> None:
        """A call waits; an earlier ticket of the same row is replaced."""
        self.withdraw(ticket.row)
        if ticket.ready > now:
            self._seq += 1
            self._later_rows[ticket.row] = self._seq
            insort(self._later, (ticket.ready, self._seq, ticket))
        else:
            self.pool(ticket.pool).line.add(ticket)

    def withdraw(self, row: RowId) -> None:
        """A row no longer waits."""
        self._later_rows.pop(row, None)
        for pool in self.pools.values():
            pool.line.remove(row)

    def advance(self, now: float) -> None:
        """Time has passed: rows whose own backoff is over join the line."""
        while self._later and (self._later[0][0] <= now or self._stale(self._later[0])):
            entry = self._later.pop(0)
            if not self._stale(entry):
                del self._later_rows[entry[2].row]
                self.pool(entry[2].pool).line.add(entry[2])
        for pool in self.pools.values():
            pool.arrange(now)

    @property
    def next_ready(self) -> float | None:
        """When the next row's own backoff is over."""
        return self._later[0][0] if self._later else None

    @property
    def in_flight(self) -> int:
        """Calls admitted and not ended."""
        return len(self._flights)

    def pool(self, name: str) -> Pool:
        """The pool of that name; unknown ones begin empty."""
        pool = self.pools.get(name)
        if pool is None:
            pool = self.pools[name] = Pool(name, self.estimator.paths)
        return pool

    def name_models(self, pool: str, models: tuple[str, ...]) -> None:
        """Say which models share the pool; for the screen."""
        self.pool(pool).models = models

    # A call's life.

    def admitted(self, call: int, ticket: Ticket, now: float) -> None:
        """A start of a plan was taken: reserve for it."""
        pool = self.pool(ticket.pool)
        pool.line.remove(ticket.row)
        flight = Flight(
            call,
            ticket,
            now,
            hold_generation=pool.hold.generation,
            ceiling_generation=self.ceiling.generation,
            breaker_generation=self.breaker.generation,
        )
        self._flights[call] = pool
        pool.admitted(flight, now)
        self.breaker.sent(call)

    def sent(self, call: int, now: float) -> None:
        """The request goes onto the wire: from here on the service charges it."""
        if (pool := self._flights.get(call)) is not None:
            pool.sent(pool.flights[call], now)

    def opened(self, call: int, limits: Limits, now: float, wall: float) -> None:
        """The headers of a 200 arrived."""
        del wall
        if (pool := self._flights.get(call)) is None:
            return
        flight = pool.flights[call]
        pool.opened(flight, now)
        flight.limits = limits
        if not pool.seen or not limits.triples:
            self._follow(pool, flight, now)
        pool.hold.got_through(flight.hold_generation)
        self.ceiling.got_through(self.in_flight)

    def input_known(self, call: int, usage: Usage, now: float) -> None:
        """`message_start` told what the input is."""
        if (pool := self._flights.get(call)) is not None:
            flight = pool.flights[call]
            cached = usage.cache_read_input_tokens
            pool.input_known(flight, usage.charged_input, cached, now)
            self._follow(pool, flight, now)

    def progressed(self, call: int, output_tokens: int, now: float) -> None:
        """So much output was produced so far, by our estimate."""
        if (pool := self._flights.get(call)) is None:
            return
        flight = pool.flights[call]
        pool.progressed(flight, output_tokens, now)
        if output_tokens > 0 and not flight.through:
            flight.through = True
            self.breaker.worked(call)

    def ended(
        self,
        call: int,
        outcome: Outcome | None,
        verdict: Verdict | None,
        now: float,
        wall: float,
    ) -> None:
        """A call ended, in whatever way; None: it was cancelled or abandoned."""
        del wall
        pool = self._flights.pop(call, None)
        if pool is None:
            return
        flight = pool.flights[call]
        match outcome:
            case Answered():
                self._answered(pool, flight, outcome, now)
            case Refused():
                self._refused(pool, flight, outcome, verdict or Verdict(), now)
            case Broken():
                self._broken(pool, flight, outcome, verdict or Verdict(), now)
            case None:
                refund = flight.sent_at is None
                pool.settle(flight, flight.produced, now, refund=refund)
        self.breaker.ended(call)

    def hold_again(
        self, pool: str, wait: Wait, at: float, now: float, wall: float
    ) -> None:
        """Go on with a hold of an earlier life, which was told at `at`, wall time."""
        until = wait.until or 0.0
        # A clock that was set back must not make it longer than it was.
        left = min(until - wall, until - at)
        if left > 0:
            self.pool(pool).hold.keep(wait, now + left, self.chance)

    # What people and the engine ask.

    def set_user_ceiling(self, ceiling: int | None, *, lift: bool = False) -> None:
        """Hold calls in flight to `ceiling`; lowering it cancels nothing.

        With `lift` it holds at once where it is above the adaptive figure.
        """
        self.ceiling.user = None if ceiling is None else max(1, ceiling)
        if lift and ceiling is not None:
            self.ceiling.lift(ceiling)

    def open_seconds(self, now: float) -> float:
        """The clock of `Tries`: it stands still while nothing could be sent."""
        return self._open.at(now)

    def slept(self, seconds: float) -> None:
        """Nothing was tried while the machine slept: it is no time of trouble."""
        self._open.slept(seconds)

    def planned(self, now: float, *, is_open: bool) -> None:
        """A plan left things so: whether calls can be sent from here on."""
        waiting = [pool for pool in self.pools.values() if len(pool.line)]
        held = bool(waiting) and all(pool.hold.active(now) for pool in waiting)
        self._open.set(now, is_open=is_open, held=held)

    def given_up(self, now: float) -> str:
        """Why rows wait no longer for a service that is away; empty while they do."""
        breaker = self.breaker
        if not breaker.open or breaker.since is None:
            return ""
        away = self.open_seconds(now) - breaker.since
        return was_away(breaker.reason, away) if away > TROUBLE_SECONDS_MAX else ""

    def waiting(self, pool: str) -> tuple[RowId, ...]:
        """A pool's rows in the order in which they will be admitted."""
        return self.pool(pool).line.waiting

    def limits_learned(self) -> tuple[LimitsLearned, ...]:
        """Pools whose limits became known or changed since last asked."""
        changed, self._changed = sorted(self._changed), set()
        return tuple(limits_of(self.pools[name]) for name in changed)

    def notes(self) -> tuple[str, ...]:
        """Lines for the log, each said once."""
        notes, self._notes = tuple(self._notes), []
        return notes

    def views(self, now: float, starts: Starts | None = None) -> tuple[PoolView, ...]:
        """The pools as a screen shows them; `starts`: their next, as planned."""
        sends = self._open.sends and not self.breaker.open
        return pool_views(self.pools.values(), now, starts or {}, sends=sends)

    def ceiling_view(self) -> CeilingView:
        """The ceiling as a screen shows it."""
        limit, user = self.ceiling.limit, self.ceiling.user
        return CeilingView(limit=limit, user=user, in_flight=self.in_flight)

    # Endings.

    def _answered(
        self, pool: Pool, flight: Flight, outcome: Answered, now: float
    ) -> None:
        usage = outcome.usage
        cached = usage.cache_read_input_tokens
        if flight.opened_at is None:
            pool.opened(flight, now)
            flight.limits = outcome.limits
        pool.input_known(flight, usage.charged_input, cached, now)
        self._follow(pool, flight, now)
        pool.learn_speed(flight, usage.output_tokens, now)
        pool.settle(flight, usage.output_tokens, now, refund=False)
        pool.hold.got_through(flight.hold_generation)
        self.breaker.worked(flight.call)

    def _refused(
        self, pool: Pool, flight: Flight, outcome: Refused, verdict: Verdict, now: float
    ) -> None:
        pool.sent(flight, now)
        if flight.opened_at is None:
            pool.settle(flight, 0, now, refund=True)
            flight.limits = outcome.limits
            self._follow(pool, flight, now)
            requests = outcome.limits.triples.get(Dimension.REQUESTS)
            if requests and requests.remaining == 0 and verdict.retry_after:
                pool.buckets[Dimension.REQUESTS].refused(verdict.retry_after, now)
        else:
            self._keep(pool, flight, outcome.usage, now)
        if verdict.cause in LIMIT_CAUSES:
            self._limited(pool, flight, verdict, now, told=bool(outcome.limits.triples))
        elif verdict.cause in TROUBLE_CAUSES:
            self._trouble(flight, verdict, now)
            return
        self.breaker.worked(flight.call)

    def _broken(
        self, pool: Pool, flight: Flight, outcome: Broken, verdict: Verdict, now: float
    ) -> None:
        if outcome.stage == "connect":
            pool.sent(flight, now)
            pool.settle(flight, 0, now, refund=True)
        else:
            self._keep(pool, flight, outcome.usage, now)
        if verdict.cause in TROUBLE_CAUSES:
            self._trouble(flight, verdict, now)

    def _keep(self, pool: Pool, flight: Flight, usage: Usage, now: float) -> None:
        """Settle a call that broke off: what it used was used."""
        if usage.total:
            cached = usage.cache_read_input_tokens
            pool.input_known(flight, usage.charged_input, cached, now)
        else:
            pool.sent(flight, now)
        pool.settle(flight, produced_by(usage, flight), now, refund=False)

    def _limited(
        self, pool: Pool, flight: Flight, verdict: Verdict, now: float, *, told: bool
    ) -> None:
        opened = pool.limited(
            flight, verdict, now, clock=self.clock, chance=self.chance
        )
        said = said_limit(verdict.reason) if verdict.cause is Cause.LIMIT else None
        if said is not None and not told:
            self._said(pool, flight, said, now)
        # Where nothing tells how much is left, the ceiling has to find it.
        blind = verdict.cause is Cause.LIMIT and not pool.told and said is None
        if blind or verdict.cause in {Cause.CONCURRENCY, Cause.SERVER}:
            self.ceiling.refused(
                self.in_flight + 1, generation=flight.ceiling_generation, lasting=True
            )
        if opened and (news := announced(verdict)):
            self._note(f"{pool.name} {news}")

    def _said(self, pool: Pool, flight: Flight, said: SaidLimit, now: float) -> None:
        """No headers came, but the refusal's text names the limit it met."""
        news = pool.buckets[said.dimension].limit != said.limit
        text = f"{said.limit:,} {said.dimension} per minute"
        if not pool.lacked(said, flight.ticket.need, now):
            self._note(f"ignored a limit that more was let through than: {text}")
        elif news:
            self._note(f"no header tells the limits of {pool.name}; a 429 said {text}")
            self._changed.add(pool.name)
            self.ceiling.informed()

    def _trouble(self, flight: Flight, verdict: Verdict, now: float) -> None:
        opened = self.breaker.failed(
            flight.call,
            now,
            generation=flight.breaker_generation,
            open_seconds=self.open_seconds(now),
            verdict=verdict,
        )
        if opened:
            self.ceiling.refused(
                self.in_flight + 1, generation=flight.ceiling_generation, lasting=False
            )

    def _follow(self, pool: Pool, flight: Flight, now: float) -> None:
        """Follow the flight's headers, once its own input is on the books.

        At the headers the service has already corrected the input, and ours is
        still an estimate: following then and correcting afterwards would count
        the difference twice.
        """
        limits, flight.limits = flight.limits, None
        if limits is None:
            return
        pool.seen = True
        for text in limits.ignored:
            name = text.partition(":")[0]
            self._note(f"ignored a header that makes no sense, {text}", once=name)
        if limits.triples and pool.follow(limits, self.clock, flight, now):
            self._changed.add(pool.name)
            self.ceiling.informed()

    def _note(self, text: str, *, once: str = "") -> None:
        """A line for the log; only the first that is about the same."""
        if (about := once or text) not in self._noted:
            self._noted.add(about)
            self._notes.append(text)

    def _stale(self, entry: tuple[float, int, Ticket]) -> bool:
        return self._later_rows.get(entry[2].row) != entry[1]
