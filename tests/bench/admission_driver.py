"""Runs agents through `fanout.decide` against the modelled service, virtually.

The driver does what the engine does and nothing cleverer: tells the account the
facts when they arrive (late by the way they travel), plans after each, starts
what the plan says, and looks again when it says so.
"""

import heapq
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from bench.admission_bound import lower_bound
from bench.admission_server import INPUT, OUTPUT, REQUESTS, Reply, Service, Terms
from fanout.decide.admission.account import Account
from fanout.decide.admission.headers import read_limits, read_retry_after
from fanout.decide.admission.line import Ask, Ticket
from fanout.decide.admission.order import priority
from fanout.decide.admission.planner import Decision, plan
from fanout.decide.admission.retry import Tries, classify, next_try
from fanout.words.events import LimitsLearned
from fanout.words.model import RowId, Usage
from fanout.words.outcome import Answered, Broken, Limits, Outcome, Refused

TICK = 0.25


@dataclass
class Turn:
    """One model call of an agent, as it will turn out."""

    input: int
    output: int
    cached: int = 0
    tools: float = 0.0
    """Seconds of tools after it."""


@dataclass
class Agent:
    """A chain of calls."""

    row: RowId
    turns: list[Turn]
    order: int
    at: float = 0.0
    """When it is declared."""
    next: int = 0
    tries: Tries = field(default_factory=Tries)
    done_at: float | None = None
    lost: str | None = None
    ratio: float = 0.27


@dataclass
class Result:
    """What a run amounted to."""

    seconds: float
    bound: float
    refused: int
    refused_after_first: int
    lost: int
    calls: int
    peak: int
    wasted_input: int
    waits: list[float]
    lowest: float
    in_flight_end: int

    @property
    def ratio(self) -> float:
        return self.seconds / self.bound


Event = tuple[float, int, "Run", Callable[..., None], tuple[Any, ...]]
Rule = Callable[["Run", Agent, bool], tuple[Any, ...]]


def ours(run: "Run", agent: Agent, throttled: bool) -> tuple[Any, ...]:
    """By what is really known: what the phase and the agent have shown so far."""
    past = run.account.estimator.paths.asked(
        agent.row.key, phase=agent.row.phase, turns_done=agent.next, now=run.now
    )
    return priority(
        throttled=throttled, turns_done=agent.next, order=agent.order, past=past
    )


def longest_known(run: "Run", agent: Agent, throttled: bool) -> tuple[Any, ...]:
    """Longest remaining chain, all declared up front."""
    ahead = sum(run.seconds_of(turn) for turn in agent.turns[agent.next :])
    return (not throttled, -ahead)


@dataclass
class Run:
    """One run on virtual time."""

    terms: Terms
    agents: list[Agent]
    seed: int = 1
    rule: Rule = ours
    foreign: float = 0.0
    """Share of the limits that somebody else uses."""
    known: bool = False
    ceiling: int | None = None
    cap: float = 20_000.0
    check: Callable[["Run", Decision], None] | None = None
    sent_said: bool = True
    shared: Service | None = None
    pools: Callable[[Agent], str] = lambda _: "m"

    def __post_init__(self) -> None:
        self.chance = random.Random(self.seed)
        self.service = self.shared or Service(self.terms, self.chance.random)
        known = [
            LimitsLearned(
                pool="m",
                requests=self.terms.requests,
                input_tokens=self.terms.input,
                output_tokens=self.terms.output,
            )
        ]
        self.account = Account(
            chance=self.chance.random, known=known if self.known else ()
        )
        self.account.set_user_ceiling(self.ceiling)
        self.now = 0.0
        self.heap: list[Event] = []
        self.numbers = count()
        self.calls = 0
        self.agent_of: dict[RowId, Agent] = {a.row: a for a in self.agents}
        self.flying: dict[int, Agent] = {}
        self.first_headers = False
        self.late_refusals = 0
        self.peak = 0
        self.wasted = 0
        self.waits: list[float] = []
        self.queued_at: dict[RowId, float] = {}
        self.sent_at: dict[int, float] = {}
        self.looking: float | None = None
        self.last_start = 0.0
        self.left = len(self.agents)
        self.charged = dict.fromkeys((REQUESTS, INPUT, OUTPUT), 0.0)

    def at(self, when: float, what: Callable[..., None], *args: Any) -> None:
        heapq.heappush(self.heap, (when, next(self.numbers), self, what, args))

    def way(self) -> float:
        return self.terms.way * (1 + self.chance.random())

    def seconds_of(self, turn: Turn) -> float:
        terms = self.terms
        first = terms.first_token + turn.input / terms.input_speed
        return first + turn.output / terms.speed + turn.tools

    def go(self) -> Result:
        return together([self])[0]

    def begin_all(self) -> None:
        for agent in self.agents:
            self.at(agent.at, self.enqueue, agent, False, agent.at)
        if self.foreign:
            self.at(0.0, self.others)

    def decide(self) -> None:
        decision = plan(self.account, self.now)
        if self.check is not None:
            self.check(self, decision)
        for ticket in decision.starts:
            self.start(ticket)
        if decision.look_again is not None and decision.look_again != self.looking:
            self.looking = decision.look_again
            self.at(max(self.now, decision.look_again), self.look, self.looking)

    def look(self, meant: float) -> bool:
        """The engine has one timer; a newer one has replaced this where it differs."""
        if meant != self.looking:
            return True
        self.looking = None
        return False

    def enqueue(self, agent: Agent, throttled: bool, ready: float) -> None:
        turn = agent.turns[agent.next]
        history = turn.cached
        ask = Ask(
            model="m",
            phase=agent.row.phase,
            turn=agent.next + 1,
            new_bytes=round(turn.input / agent.ratio),
            known_input=history,
            cached=history,
            max_tokens=8192,
        )
        ticket = Ticket(
            row=agent.row,
            pool=self.pools(agent),
            need=self.account.estimator.price(ask),
            ask=ask,
            priority=self.rule(self, agent, throttled),
            ready=ready,
        )
        self.queued_at.setdefault(agent.row, self.now)
        self.account.enqueue(ticket, self.now)

    def start(self, ticket: Ticket) -> None:
        self.calls += 1
        call, agent = self.calls, self.agent_of[ticket.row]
        self.account.admitted(call, ticket, self.now)
        self.waits.append(self.now - self.queued_at.pop(ticket.row))
        self.flying[call] = agent
        self.peak = max(self.peak, len(self.flying))
        self.last_start = max(self.now + 0.005, self.last_start + 0.01)
        self.at(self.last_start, self.send, call)

    def send(self, call: int) -> None:
        if self.sent_said:
            self.account.sent(call, self.now)
        self.sent_at[call] = self.now
        self.at(self.now + self.way(), self.arrive, call)

    def arrive(self, call: int) -> None:
        turn = self.turn_of(call)
        reply = self.service.admit(turn.input, self.now)
        if reply.status != 200:
            self.late_refusals += reply.status == 429 and self.first_headers
            self.at(self.now + self.way(), self.refused, call, reply)
            return
        first = self.terms.first_token + turn.input / self.terms.input_speed
        self.at(
            self.now + first * (0.8 + 0.4 * self.chance.random()),
            self.begin,
            call,
            reply,
        )

    def turn_of(self, call: int) -> Turn:
        agent = self.flying[call]
        return agent.turns[agent.next]

    def begin(self, call: int, reply: Reply) -> None:
        turn = self.turn_of(call)
        self.service.charge(INPUT, turn.input - reply.estimate, self.now)
        headers = reply.headers
        if self.terms.snapshot == "open":
            headers = self.service.headers(self.now)
        self.at(self.now + self.way(), self.opened, call, headers)
        cut = self.chance.random() < self.terms.cut
        self.stream(call, 0, cut)

    def opened(self, call: int, headers: dict[str, str]) -> None:
        self.first_headers = True
        limits = read_limits(headers)
        self.account.opened(call, limits, self.now, 0.0)
        turn = self.turn_of(call)
        usage = Usage(turn.input, 1, turn.cached, 0)
        self.account.input_known(call, usage, self.now)

    def stream(self, call: int, done: int, cut: bool) -> None:
        """The next piece is being written; a short last one takes less time."""
        pace = self.terms.speed * (0.8 + 0.4 * self.chance.random())
        left = self.turn_of(call).output - done
        more = min(left, max(1, round(pace * TICK)))
        self.at(self.now + more / pace, self.produce, call, done, more, cut)

    def produce(self, call: int, done: int, more: int, cut: bool) -> None:
        turn = self.turn_of(call)
        self.service.charge(OUTPUT, more, self.now)
        self.charged[OUTPUT] += more
        done += more
        if cut and done >= turn.output / 2:
            self.at(self.now + self.way(), self.ended, call, self.broken(turn, done))
            return
        if done >= turn.output:
            self.at(self.now + self.way(), self.ended, call, self.answer(turn))
            return
        seen = round(done * (0.9 + 0.2 * self.chance.random()))
        self.at(self.now + self.way(), self.progress, call, seen)
        self.stream(call, done, cut)

    def progress(self, call: int, seen: int) -> None:
        self.account.progressed(call, seen, self.now)

    def answer(self, turn: Turn) -> Answered:
        usage = Usage(turn.input, turn.output, turn.cached, 0)
        return Answered(
            message={}, usage=usage, request_id=None, limits=Limits(), seconds=1.0
        )

    def broken(self, turn: Turn, done: int) -> Broken:
        usage = Usage(turn.input, done, turn.cached, 0)
        return Broken(stage="stream", message="cut", usage=usage)

    def refused(self, call: int, reply: Reply) -> None:
        outcome = Refused(
            status=reply.status,
            type=reply.type,
            code=reply.code,
            message=reply.message,
            retry_after=read_retry_after(reply.headers, wall=0.0),
            limits=read_limits(reply.headers),
            request_id=None,
        )
        self.ended(call, outcome)

    def ended(self, call: int, outcome: Outcome) -> None:
        agent = self.flying.pop(call)
        turn = agent.turns[agent.next]
        if not isinstance(outcome, Refused):
            self.service.flying -= 1
            self.charged[INPUT] += turn.input
            self.charged[REQUESTS] += 1
        verdict = classify(outcome)
        self.account.ended(call, outcome, verdict, self.now, 0.0)
        if isinstance(outcome, Answered):
            seconds = self.now - self.sent_at[call]
            self.answered(agent, turn, outcome.usage, seconds)
            return
        if isinstance(outcome, Broken):
            self.wasted += turn.input
        open_seconds = self.account.open_seconds(self.now)
        agent.tries = agent.tries.after(verdict, open_seconds)
        retry = next_try(
            verdict,
            agent.tries,
            self.now,
            self.chance.random,
            open_seconds=open_seconds,
            away=self.account.breaker.open,
        )
        if retry.at is None:
            agent.lost = retry.reason
            self.left -= 1
            return
        self.enqueue(agent, True, retry.at)

    def answered(self, agent: Agent, turn: Turn, usage: Usage, seconds: float) -> None:
        self.account.estimator.learn(
            model="m",
            phase=agent.row.phase,
            turn=agent.next + 1,
            new_bytes=round(turn.input / agent.ratio),
            known_input=turn.cached,
            cached=turn.cached,
            usage=usage,
        )
        agent.tries = Tries()
        agent.next += 1
        self.account.estimator.paths.answered(
            agent.row.key,
            phase=agent.row.phase,
            turn=agent.next,
            seconds=seconds,
            goes_on=agent.next < len(agent.turns),
            now=self.now,
        )
        if agent.next == len(agent.turns):
            agent.done_at = self.now
            self.left -= 1
            return
        self.at(self.now + turn.tools, self.enqueue, agent, False, 0.0)

    def others(self) -> None:
        """Somebody else: calls of random size at random moments."""
        size = 12_000 * (0.2 + 1.6 * self.chance.random())
        size = min(size, self.terms.input * self.terms.burst / 4)
        self.service.others_take(size, size / 12, self.now)
        share = self.foreign * self.terms.scale(self.now)
        mean = min(12_000, self.terms.input * self.terms.burst / 4)
        gap = mean / (self.terms.input * share / 60)
        gap = max(gap, 60 / (self.terms.requests * share))
        self.at(self.now + self.chance.expovariate(1 / gap), self.others)

    def result(self) -> Result:
        return Result(
            seconds=self.now,
            bound=lower_bound(self),
            refused=self.service.refused,
            refused_after_first=self.late_refusals,
            lost=sum(a.done_at is None for a in self.agents),
            calls=self.calls,
            peak=self.peak,
            wasted_input=self.wasted,
            waits=self.waits,
            lowest=self.service.lowest,
            in_flight_end=self.account.in_flight,
        )


def together(runs: list[Run]) -> list[Result]:
    """Runs side by side on one virtual clock, until the last has ended."""
    heap, numbers = runs[0].heap, runs[0].numbers
    for run in runs:
        run.heap, run.numbers = heap, numbers
        run.begin_all()
    ended: dict[int, Result] = {}
    moved = False
    while heap and len(ended) < len(runs):
        now, _, run, what, args = heapq.heappop(heap)
        if now > run.cap:
            break
        if id(run) in ended:
            continue
        run.now = now
        moved |= not what(*args)
        if moved and not (heap and heap[0][0] == now):
            moved = False
            for each in runs:
                each.now = now
                each.decide()
        if not run.left:
            ended[id(run)] = run.result()
    return [ended.get(id(run)) or run.result() for run in runs]
