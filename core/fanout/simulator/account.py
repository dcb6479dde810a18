"""The account: every decision about a request, with the time as an argument.

Checks run in the service's order: spend, concurrency, ramp, limiter, overload. A
request that passes gets a `Ticket`; its input is corrected and its cache writes
published when the answer begins, its output is charged while it is written.
"""

from dataclasses import dataclass, field
from typing import Any

from fanout.simulator import chance, errors, headers, prices, staged
from fanout.simulator.batch_work import BatchWork
from fanout.simulator.batches import BatchOffice
from fanout.simulator.books import Books, Entry
from fanout.simulator.buckets import Bucket
from fanout.simulator.cache import PromptCache, Split
from fanout.simulator.call import Call
from fanout.simulator.errors import Refusal
from fanout.simulator.faults import FaultPlan, FaultRule, Target
from fanout.simulator.headers import Snapshot
from fanout.simulator.limiter import Limits, PoolLimiter
from fanout.simulator.models import POOLS
from fanout.simulator.profile import Profile
from fanout.simulator.ramp import Ramp

ORGANIZATION = "00000000-5157-4c1a-9d0f-51a1a7edacc0"
WORKSPACE = "wrkspc_simulatedaccount00000000"
UNITS = {
    "requests": "requests",
    "input_tokens": "input tokens",
    "output_tokens": "output tokens",
}


@dataclass(slots=True, kw_only=True)
class Ticket:
    """An admitted request until its answer has ended."""

    call: Call
    entry: Entry
    split: Split
    estimate: float
    """Input charged at admission; replaced by the truth at the start."""
    started_at: float
    admission: Snapshot
    """The pool right after it was admitted."""
    target: Target
    header_faults: list[FaultRule] = field(default_factory=list)


class Account:
    """One organisation's limits, cache, money, faults and books."""

    def __init__(self, profile: Profile, seed: int, now: float) -> None:
        self.profile = profile
        self.seed = seed
        self._started_at = now
        self._pools = {
            name: PoolLimiter(
                profile.limits_of(name).numbers(), profile.burst.numbers(), now
            )
            for name in POOLS
        }
        count_limit = profile.limiter.count_tokens_requests
        self._counting = Bucket(
            limit=count_limit, capacity=count_limit, level=count_limit, settled_at=now
        )
        batch_limit = profile.batches.requests
        self._batching = Bucket(
            limit=batch_limit, capacity=batch_limit, level=batch_limit, settled_at=now
        )
        work = BatchWork(self)
        self.batches = BatchOffice(
            lambda: self.profile.batches, seed, work.perform, work.expires
        )
        self._cache = PromptCache()
        self._ramp = _ramp(profile)
        self.faults = FaultPlan(profile.faults, seed, now)
        self.books = Books(profile.server.request_book)
        self._seen: dict[str, int] = {}
        self._requests = 0
        self._changes_from, self._changes_done = now, 0
        self._shown: dict[str, Snapshot] = {}
        self._walls: dict[str, float] = {}
        self._load(now)

    def _load(self, now: float) -> None:
        for limiter in self._pools.values():
            limiter.set_foreign_load(now, self.profile.foreign_load.numbers())

    def configure(self, profile: Profile, now: float) -> None:
        """Go on under another profile; what was used and charged stays so.

        Only what differs is touched; other changes count their seconds from `now`.
        """
        old, self.profile = self.profile, profile
        if (old.limits, old.pools, old.burst) != (
            profile.limits,
            profile.pools,
            profile.burst,
        ):
            for name, limiter in self._pools.items():
                limits = profile.limits_of(name).numbers()
                limiter.set_limits(now, limits, profile.burst.numbers())
        limit = profile.limiter.count_tokens_requests
        self._counting.resize(now, limit=limit, capacity=limit)
        limit = profile.batches.requests
        self._batching.resize(now, limit=limit, capacity=limit)
        if old.changes != profile.changes:
            self._changes_from, self._changes_done = now, 0
        if old.ramp != profile.ramp:
            self._ramp = _ramp(profile)
        self._load(now)

    def restart_faults(self, now: float) -> None:
        """Let the profile's fault rules begin anew, their seconds from `now`."""
        self.faults = FaultPlan(self.profile.faults, self.seed, now)

    def raise_wall(self, kind: str, until: float) -> None:
        """Refuse every request (`overloaded`) or connection until that second."""
        self._walls[kind] = until

    def refuses_connections(self, now: float) -> bool:
        """Whether new connections are to be refused now."""
        walled = now < self._walls.get("refuse_connections", 0.0)
        return walled or self.faults.refuses_connections(now)

    def next_request_id(self) -> str:
        """`req_` and 24 characters, another one each time."""
        self._requests += 1
        return "req_" + chance.letters(24, "request", self.seed, self._requests)

    def seen_again(self, name: str) -> int:
        """How often something was seen before; this time counts from now on."""
        before = self._seen.get(name, 0)
        self._seen[name] = before + 1
        return before

    def target(self, call: Call) -> Target:
        """What fault rules may look at; the body counts as seen once more."""
        occurrence = self.seen_again(call.digest)
        return Target(
            endpoint=call.endpoint,
            digest=call.digest,
            occurrence=occurrence,
            text=call.text,
            last_text=call.user_texts[-1] if call.user_texts else "",
            row=call.row,
        )

    def admit(
        self, call: Call, target: Target, entry: Entry, now: float
    ) -> Ticket | Refusal:
        """Charge and admit a message request, or say why not."""
        self._apply_changes(now)
        limiter = self._pools[call.model.pool]
        split = self._split(call, now)
        estimate = self._estimate(split, target)
        refusal = (
            self._ordered(call)
            or self._spent()
            or self._staged("refusal", call, target, now)
            or self._crowded()
            or self._steep(call, split, now)
            or self._short(call, limiter, estimate, now)
            or self._staged("overload", call, target, now)
        )
        if refusal is not None:
            return refusal
        limiter.charge_admission(now, estimate)
        if self._ramp is not None:
            self._ramp.charge(now, split.charged)
        self._cache.touch(split, now)
        self.books.admit(entry)
        return Ticket(
            call=call,
            entry=entry,
            split=split,
            estimate=estimate,
            started_at=now,
            admission=self.snapshot(call, now),
            target=target,
            header_faults=self.faults.strikes("headers", target, now),
        )

    def _split(self, call: Call, now: float) -> Split:
        return self._cache.split(
            f"{WORKSPACE}/{call.model.id}/{call.body.get('speed', 'standard')}",
            call.blocks,
            call.model.cache_minimum_tokens,
            now,
        )

    def admit_batching(self, now: float, *, creates: bool) -> Refusal | None:
        """Admit a request about batches on their own bucket, or say why not."""
        refusal = self._spent() if creates else None
        if refusal is None and not self._batching.fits(now, 1):
            refusal = errors.batch_limit(
                limit=int(self._batching.limit),
                unit="batch requests per minute",
                retry_after=self._batching.seconds_until_fits(now, 1),
            )
        if refusal is None:
            self._batching.take(now, 1)
        return refusal

    def read_in_batch(
        self, call: Call, target: Target, entry: Entry, now: float
    ) -> Split | Refusal:
        """Charge what a request in a batch reads, or say why it is not answered."""
        refusal = (
            self._ordered(call)
            or self._staged("refusal", call, target, now)
            or self._staged("overload", call, target, now)
        )
        if refusal is not None:
            return refusal
        split = self._split(call, now)
        self._cache.touch(split, now)
        self._cache.publish(split, now)
        usd = prices.of_input(call, split) * prices.BATCH_FACTOR
        self.books.charge_input(entry, split, usd)
        self.books.batched.add_input(split, usd)
        return split

    def write_in_batch(self, call: Call, entry: Entry, count: int) -> None:
        """Charge what a request in a batch has written."""
        usd = prices.of_output(call, count) * prices.BATCH_FACTOR
        self.books.charge_output(entry, count, usd)
        self.books.batched.add_output(count, usd)

    def admit_count(self, call: Call, target: Target, now: float) -> Refusal | None:
        """Admit a `count_tokens` request on its own bucket, or say why not."""
        self._apply_changes(now)
        refusal = self._staged("refusal", call, target, now) or self._staged(
            "overload", call, target, now
        )
        if refusal is None and not self._counting.fits(now, 1):
            refusal = self._limiter_refusal(
                call, "requests", self._counting.seconds_until_fits(now, 1)
            )
        if refusal is None:
            self._counting.take(now, 1)
        return refusal

    def _estimate(self, split: Split, target: Target) -> float:
        error = self.profile.limiter.input_estimate_error
        luck = chance.between(-error, error, "estimate", self.seed, target.digest)
        return split.charged * (1 + luck)

    def _ordered(self, call: Call) -> Refusal | None:
        status = call.directive.error
        return staged.by_status(status) if status else None

    def _spent(self) -> Refusal | None:
        spend, usd = self.profile.spend, self.books.charged.usd
        if spend.balance_usd is not None and usd >= spend.balance_usd:
            return errors.NAMED["billing"]
        if spend.own_limit_usd is not None and usd >= spend.own_limit_usd:
            return errors.own_spend_limit()
        if spend.contract_usd is not None and usd >= spend.contract_usd:
            return errors.spend_limit("contract_spend_limit_reached")
        if spend.limit_usd is not None and usd >= spend.limit_usd:
            return errors.spend_limit()
        return None

    def _crowded(self) -> Refusal | None:
        most = self.profile.limiter.concurrency
        return errors.concurrency() if 0 < most <= self.books.in_flight else None

    def _steep(self, call: Call, split: Split, now: float) -> Refusal | None:
        steep = None if self._ramp is None else self._ramp.steepness(now, split.charged)
        if steep is None:
            return None
        return errors.ramp(
            ceiling=steep.ceiling,
            following=steep.following,
            organization=ORGANIZATION,
            model=call.model.id,
            retry_after=steep.retry_after,
        )

    def _short(
        self, call: Call, limiter: PoolLimiter, estimate: float, now: float
    ) -> Refusal | None:
        shortage = limiter.shortage(now, estimate)
        if shortage is None:
            return None
        if self.profile.limiter.charge_refused:
            limiter.requests.take(now, 1)
        return self._limiter_refusal(
            call, shortage.dimension, shortage.retry_after, shortage.limit
        )

    def _limiter_refusal(
        self, call: Call, dimension: str, wait: int, limit: int | None = None
    ) -> Refusal:
        return errors.limiter(
            limit=int(self._counting.limit) if limit is None else limit,
            unit=UNITS[dimension],
            organization=ORGANIZATION,
            model=call.model.id,
            retry_after=wait,
        )

    def _staged(
        self, stage: str, call: Call, target: Target, now: float
    ) -> Refusal | None:
        if stage == "overload" and now < self._walls.get("overloaded", 0.0):
            return errors.NAMED["overloaded"]
        rule = self.faults.first(stage, target, now)
        if rule is None:
            return None
        return staged.refusal(
            rule,
            input_limit=int(self._pools[call.model.pool].input_tokens.limit),
            organization=ORGANIZATION,
            model=call.model.id,
        )

    def begin(self, ticket: Ticket, now: float) -> None:
        """The answer begins: correct the input, publish cache writes, charge."""
        call, split = ticket.call, ticket.split
        limiter = self._pools[call.model.pool]
        limiter.correct_input(now, ticket.estimate, split.charged)
        self._cache.publish(split, ticket.started_at)
        usd = prices.of_input(call, split)
        self.books.charge_input(ticket.entry, split, usd)

    def write(self, ticket: Ticket, now: float, tokens: int) -> None:
        """Charge output as it is produced."""
        model = ticket.call.model
        self._pools[model.pool].charge_output(now, tokens)
        usd = prices.of_output(ticket.call, tokens)
        self.books.charge_output(ticket.entry, tokens, usd)

    def end(self, ticket: Ticket, now: float, how: str) -> None:
        """Close an admitted request."""
        self.books.end(ticket.entry, how, now - ticket.started_at)

    def snapshot(self, call: Call, now: float) -> Snapshot:
        """What the headers of a response to `call` would show now."""
        minute = self.profile.limiter.remaining == "minute"
        return headers.snapshot(self._pools[call.model.pool], now, minute=minute)

    def swap_shown(self, call: Call, shot: Snapshot) -> Snapshot:
        """Remember what is shown for a pool; return what was shown before."""
        before = self._shown.get(call.model.pool, shot)
        self._shown[call.model.pool] = shot
        return before

    def _apply_changes(self, now: float) -> None:
        changes = sorted(self.profile.changes, key=lambda change: change.at)
        while self._changes_done < len(changes):
            change = changes[self._changes_done]
            if now - self._changes_from < change.at:
                return
            self._changes_done += 1
            for limiter in self._pools.values():
                old = limiter.buckets()
                wanted = {
                    name: getattr(change, name) or int(bucket.limit)
                    for name, bucket in old.items()
                }
                limiter.set_limits(now, Limits(**wanted), self.profile.burst.numbers())

    def state(self, now: float, last: int) -> dict[str, Any]:
        """The whole truth, ready for JSON, with the `last` requests one by one."""
        self._apply_changes(now)
        self.batches.settle(now)
        return {
            "profile": self.profile.name,
            "now": now,
            "uptime_seconds": now - self._started_at,
            "pools": {
                name: {
                    dimension: bucket.levels(now)
                    for dimension, bucket in limiter.buckets().items()
                }
                for name, limiter in self._pools.items()
            },
            "count_tokens": self._counting.levels(now),
            "batching": self._batching.levels(now),
            "batches": self.batches.state(),
            "faults": self.faults.struck(),
            **self.books.totals(),
            "requests": self.books.last(last),
        }


def _ramp(profile: Profile) -> Ramp | None:
    if profile.ramp is None:
        return None
    return Ramp(start=profile.ramp.start, step=profile.ramp.step)
