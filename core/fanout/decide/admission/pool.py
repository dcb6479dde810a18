"""One pool: its three buckets, its line, its calls in flight, its hold.

**Reserve, true up, settle.** `admitted` reserves; `sent` charges one request and
the estimated input to the levels; `input_known` corrects the input; `progressed`
charges output as it is produced; `settle` ends whatever is left, once, for every
ending. Headers (`follow`) bound the levels in between.

**Output is a flow.** The service does not reserve output, it charges what is
produced, while the bucket refills. So the question is not whether all expected
output fits into the level now, but whether the level stays above zero while it
is produced: `n` streams of speed `v` with `R` tokens to come drain at `n v`, and
the refill gives `r` meanwhile; the level must hold `R (1 - r / n v)`. Reserving
`R` itself would leave an account with a second's burst at a fraction of its
speed.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from fanout.decide.admission.bucket import Bucket
from fanout.decide.admission.clock import ServerClock
from fanout.decide.admission.estimate import Average
from fanout.decide.admission.flight import Flight
from fanout.decide.admission.follow import Follower, Sky
from fanout.decide.admission.holds import Hold
from fanout.decide.admission.line import Line
from fanout.decide.admission.order import is_roomy
from fanout.decide.admission.paths import Paths
from fanout.decide.admission.ramp import MINUTE, Ramp, Use
from fanout.decide.admission.retry import Verdict
from fanout.decide.admission.said import SaidLimit, SaidRamp, said_limit, said_ramp
from fanout.decide.admission.window import TrailingMinute
from fanout.words.events import LimitsLearned
from fanout.words.model import Cause, Dimension, Need, Usage
from fanout.words.outcome import Limits

# A written prefix is kept for five minutes from the last request that used it.
WARM_SECONDS = 300.0
# Tokens a second, before any stream was seen; too slow is unsafe, and the answer
# of the first few calls corrects it.
SPEED_PRIOR = 200.0
# How long a call takes, before any has ended.
CALL_SECONDS_PRIOR = 10.0
# The speed of a stream follows its phases within some tens of calls.
SPEED_GAIN = 0.1
# After a refusal that names the limit the bucket says how long to wait.
SAID_SECONDS = 0.5
# A limit that was passed this many times over in a minute is not the limit.
INCREDIBLE = 2.5
# Where a ramp's minute stands when nothing tells: half of it is over on average.
RAMP_MINUTE_LEFT = 30.0


@dataclass(slots=True)
class Draft:
    """What one plan has already given away in a pool."""

    starts: int = 0
    input: float = 0.0
    output: float = 0.0
    prefixes: set[str] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class Short:
    """What a call waits for, and how long."""

    dimension: Dimension
    seconds: float
    need: float
    free: float


class Pool:
    """Models that share limits, and all that admission knows about them."""

    def __init__(self, name: str, paths: Paths | None = None) -> None:
        self.name = name
        self.models: tuple[str, ...] = (name,)
        self.buckets = {dimension: Bucket(dimension) for dimension in Dimension}
        self.minutes = {dimension: TrailingMinute() for dimension in Dimension}
        self.cached = TrailingMinute()
        self.line = Line(paths)
        self.hold = Hold()
        self.ramp = Ramp()
        self.follower = Follower()
        self.flights: dict[int, Flight] = {}
        self.seen = False
        """Whether any answer has told what there is to know about limits."""
        self.told = False
        """Whether a header has told how much of a known limit is left."""
        self.warm: dict[str, float] = {}
        """Prefixes by the monotonic second until which they are readable."""
        self.warming: dict[str, int] = {}
        """Prefixes by the call that writes them."""
        self._first_sent = math.inf
        self._unsent = 0
        self._unsent_input = 0.0
        self._guessed = 0.0
        self._output = 0.0
        self._speed = SPEED_PRIOR
        self._speeds = 0
        self._seconds = Average(CALL_SECONDS_PRIOR, 1.0)

    def arrange(self, now: float) -> None:
        """Put the line into the order that its length calls for, as time passes."""
        if self.ramp.active:
            limit = float(self.buckets[Dimension.INPUT].limit or math.inf)
            self.ramp.follow(limit, now)
        roomy = is_roomy(
            drain_seconds=self._drain_seconds(),
            call_seconds=self._seconds.mean,
            was=self.line.roomy,
        )
        self.line.sort(now, roomy=roomy)

    def _drain_seconds(self) -> float:
        """How long the line would take at the rates of the limits."""
        requests = self.buckets[Dimension.REQUESTS].refill
        tokens = self.buckets[Dimension.INPUT].refill
        return max(
            len(self.line) / requests if requests else 0.0,
            self.line.input / tokens if tokens else 0.0,
        )

    # What a plan asks.

    def short(self, need: Need, draft: Draft, now: float) -> Short | None:
        """The limit that `need` waits for longest; None when it fits now."""
        worst: Short | None = None
        for short in self._shorts(need, draft, now):
            if worst is None or short.seconds > worst.seconds:
                worst = short
        return worst

    def is_warming(self, prefix: str | None, draft: Draft, now: float) -> bool:
        """Whether another call is about to make this prefix readable."""
        if prefix is None or self.warm.get(prefix, -math.inf) > now:
            return False
        return prefix in self.warming or prefix in draft.prefixes

    def held_output(self, streams: int, output: float) -> float:
        """What the output level must hold for `streams` with `output` to come."""
        refill = self.buckets[Dimension.OUTPUT].refill
        if streams == 0:
            return output
        drain = streams * self._speed
        return output * max(0.0, 1 - refill / drain)

    @property
    def output_to_come(self) -> float:
        """Expected output of all calls in flight that is not produced yet."""
        return max(0.0, self._output)

    @property
    def unsent(self) -> tuple[int, float]:
        """Requests and input admitted but not yet sent."""
        return self._unsent, self._unsent_input

    # What happens to a call.

    def admitted(self, flight: Flight, now: float) -> None:
        """Reserve for a call."""
        need = flight.ticket.need
        self.flights[flight.call] = flight
        self._unsent += 1
        self._unsent_input += need.input
        self._output += flight.expected
        prefix = flight.ticket.prefix
        if prefix is not None:
            if self.warm.get(prefix, -math.inf) > now:
                self.warm[prefix] = now + WARM_SECONDS
            else:
                self.warming.setdefault(prefix, flight.call)

    def sent(self, flight: Flight, now: float) -> None:
        """Charge a call's request and input; a second time changes nothing."""
        if flight.sent_at is not None:
            return
        flight.sent_at = now
        self._first_sent = min(self._first_sent, now)
        need = flight.ticket.need
        self._unsent -= 1
        self._unsent_input -= need.input
        flight.charged_input = need.input
        self._guessed += need.input
        self._charge(Dimension.REQUESTS, 1, now)
        self._charge(Dimension.INPUT, need.input, now)
        for dimension, bucket in self.buckets.items():
            flight.levels[dimension] = bucket.level(now) + bucket.corrected

    def opened(self, flight: Flight, now: float) -> None:
        """The response began: the service has counted it, its prefix is readable."""
        self.sent(flight, now)
        if flight.opened_at is not None:
            return
        flight.opened_at = now
        self.follower.first_byte(now - (flight.sent_at or now))
        prefix = flight.ticket.prefix
        if prefix is not None:
            self.warming.pop(prefix, None)
            self.warm[prefix] = now + WARM_SECONDS

    def input_known(
        self, flight: Flight, charged: int, cached: int, now: float
    ) -> None:
        """The service has said what the input was: correct what was charged."""
        self.sent(flight, now)
        more = charged - flight.charged_input
        if not flight.input_known:
            self.cached.add(now, cached)
            self._guessed -= flight.charged_input
        flight.charged_input = charged
        flight.input_known = True
        self._charge(Dimension.INPUT, more, now)

    def progressed(self, flight: Flight, output: int, now: float) -> None:
        """Charge output as it is produced; `output` is the sum so far."""
        self.sent(flight, now)
        before, more = flight.expected, output - flight.produced
        flight.produced = output
        self._output += flight.expected - before
        self._charge(Dimension.OUTPUT, more, now)

    def settle(self, flight: Flight, output: int, now: float, *, refund: bool) -> None:
        """End a call's reservation; `refund`: the service charged nothing for it."""
        del self.flights[flight.call]
        self._output -= flight.expected
        if not self.flights:
            self._output = 0.0
        if self.warming.get(flight.ticket.prefix or "") == flight.call:
            del self.warming[flight.ticket.prefix or ""]
        if flight.sent_at is None:
            self._unsent -= 1
            self._unsent_input -= flight.ticket.need.input
            return
        if not flight.input_known:
            self._guessed -= flight.charged_input
        if refund:
            self._charge(Dimension.REQUESTS, -1, now)
            self._charge(Dimension.INPUT, -flight.charged_input, now)
            output = 0
        self._charge(Dimension.OUTPUT, output - flight.produced, now)

    def learn_speed(self, flight: Flight, output: int, now: float) -> None:
        """How long a finished call took, and how fast it produced."""
        self._seconds.learn(now - flight.admitted_at)
        if flight.opened_at is None or now <= flight.opened_at or output <= 0:
            return
        self._speeds += 1
        gain = max(SPEED_GAIN, 1 / self._speeds)
        self._speed += gain * (output / (now - flight.opened_at) - self._speed)

    def follow(
        self, limits: Limits, clock: ServerClock, flight: Flight, now: float
    ) -> bool:
        """Take in one header set; True when a limit became known or changed."""
        drain = len(self.flights) * self._speed
        sky = Sky(self.flights, self._guessed, drain)
        news = self.follower.follow(
            limits, flight, now, buckets=self.buckets, clock=clock, sky=sky
        )
        self.told = self.told or any(
            triple.remaining is not None and self.buckets[dimension].known
            for dimension, triple in limits.triples.items()
        )
        return news

    def limited(
        self,
        flight: Flight,
        verdict: Verdict,
        now: float,
        *,
        clock: ServerClock,
        chance: Callable[[], float],
    ) -> bool:
        """Take in a refusal for a limit, its reservation settled; True if it is news.

        One refusal of a burst is: those that follow it join its hold.
        """
        retry_after = verdict.retry_after
        if (
            retry_after is None
            and verdict.cause is Cause.LIMIT
            and said_limit(verdict.reason)
        ):
            retry_after = SAID_SECONDS
        news = self.hold.refused(
            verdict.cause or Cause.LIMIT,
            now,
            generation=flight.hold_generation,
            retry_after=retry_after,
            chance=chance,
            detail=verdict.reason,
        )
        self.seen = self.seen or bool(verdict.retry_after)
        if verdict.cause is Cause.RAMP and news:
            ends_in = clock.minute_ends_in(now, verdict.retry_after)
            self._steep(now, ends_in, said_ramp(verdict.reason))
        return news

    def lacked(self, said: SaidLimit, need: Need, now: float) -> bool:
        """Take in what a refusal without headers says was met; True if believed."""
        bucket = self.buckets[said.dimension]
        spent = float(self.minutes[said.dimension].total(now))
        if said.dimension is Dimension.INPUT:
            spent -= self._guessed
        if spent > INCREDIBLE * said.limit:
            return False
        if bucket.limit != said.limit:
            refilled = said.limit / MINUTE * min(MINUTE, now - self._first_sent)
            bucket.suppose(said.limit, now, spent - refilled)
        lacking = {Dimension.REQUESTS: 1, Dimension.INPUT: need.input}
        bucket.lacked(lacking.get(said.dimension, 0), now)
        return True

    def suppose(self, limits: LimitsLearned, now: float) -> None:
        """Begin with the limits that an earlier life has learned."""
        for dimension, limit in (
            (Dimension.REQUESTS, limits.requests),
            (Dimension.INPUT, limits.input_tokens),
            (Dimension.OUTPUT, limits.output_tokens),
        ):
            if limit:
                self.buckets[dimension].suppose(limit, now)

    def restore(self, usage: Usage, requests: int, at: float, now: float) -> None:
        """Charge what an earlier life used at a past second; the earliest first."""
        for dimension, amount in (
            (Dimension.REQUESTS, requests),
            (Dimension.INPUT, usage.charged_input),
            (Dimension.OUTPUT, usage.output_tokens),
        ):
            if amount:
                self.minutes[dimension].add_earlier(at, amount)
                self.buckets[dimension].owe(amount, at, now)

    def _steep(self, now: float, ends_in: float | None, said: SaidRamp | None) -> None:
        if ends_in is None:
            ends_in = RAMP_MINUTE_LEFT
        spent = self.minutes[Dimension.INPUT].total(now, MINUTE - ends_in)
        # Of a burst that meets the ramp what is not answered yet may be refused, too.
        use = Use(spent, min(self._guessed, spent))
        self.ramp.refused(use, now, ends_in=ends_in, said=said)

    def _charge(self, dimension: Dimension, amount: float, now: float) -> None:
        if amount:
            self.buckets[dimension].charge(amount, now)
            self.minutes[dimension].add(now, amount)
            if dimension is Dimension.INPUT:
                self.ramp.charge(amount, now)

    def _shorts(self, need: Need, draft: Draft, now: float) -> Iterable[Short]:
        """All that it waits for."""
        requests = self.buckets[Dimension.REQUESTS]
        if requests.known:
            held = self._unsent + draft.starts
            if (wait := requests.wait(1, now, held=held)) > 0:
                yield Short(Dimension.REQUESTS, wait, 1, requests.level(now) - held)
        tokens = self.buckets[Dimension.INPUT]
        if tokens.known:
            held_input = self._unsent_input + draft.input
            if (wait := tokens.wait(need.input, now, held=held_input)) > 0:
                free = tokens.level(now) - held_input
                yield Short(Dimension.INPUT, wait, need.input, free)
        if self.ramp.active and (ramp := self._short_ramp(need, draft, now)):
            yield ramp
        output = self.buckets[Dimension.OUTPUT]
        if output.known and (short := self._short_output(output, need, draft, now)):
            yield short

    def _short_ramp(self, need: Need, draft: Draft, now: float) -> Short | None:
        use = self.ramp.use(self._unsent_input + draft.input, self._guessed)
        wait = self.ramp.wait(need.input, use, now)
        if wait <= 0:
            return None
        free = self.ramp.allowed(use, need.input) - use.spent
        return Short(Dimension.INPUT, wait, need.input, free)

    def _short_output(
        self, bucket: Bucket, need: Need, draft: Draft, now: float
    ) -> Short | None:
        streams = len(self.flights) + draft.starts
        to_come = self.output_to_come + draft.output
        if streams == 0:
            wait = bucket.wait(self.held_output(1, need.output), now)
        else:
            held = self.held_output(streams + 1, to_come + need.output)
            lacking = held + bucket.reserve() - bucket.level(now)
            wait = max(0.0, lacking) / bucket.refill
        if wait <= 0:
            return None
        free = bucket.level(now) - self.held_output(streams, to_come)
        return Short(Dimension.OUTPUT, wait, need.output, free)
