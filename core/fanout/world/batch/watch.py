"""One batch after the other at the service: handed in, found, looked at, read.

    planned ─▶ creating ─▶ waiting ⇄ (a look) ─▶ reading ─▶ over
                  │   ▲       ▲                      │
      no answer ──▼   │not    │                      └─▶ again, when it was cut
              searching ──────┘ found

Nothing is handed in twice while it may be there: a hand-in without an answer is
searched for in the list of batches first. What the service says about limits or
about itself is waited out; only a refusal for good ends the rows.
"""

from collections.abc import Callable, Coroutine
from typing import Any

from fanout.decide.admission.retry import (
    TROUBLE_SECONDS_MAX,
    Tries,
    classify,
    next_try,
)
from fanout.decide.batching import (
    ENDED,
    GRACE_SECONDS,
    TRIES_MAX,
    Seen,
    custom_id,
    next_look,
    params_of,
)
from fanout.decide.fold.open_batches import OpenBatch
from fanout.words.batched import BatchEnded, BatchGone, BatchOpened, BatchPlanned
from fanout.words.events import Noted
from fanout.words.model import Cause, MissingKind
from fanout.words.outcome import Broken, Refused
from fanout.words.snapshot import Live
from fanout.world.batch.held import Doing, Held
from fanout.world.batch.line import BatchLine
from fanout.world.batch.results import NO_RESULT, BatchResults
from fanout.world.core import Core
from fanout.world.messages import BatchCame, BatchRead

NOT_FOUND = 404
VANISHES = f"handed in {TRIES_MAX} times without an answer, and never listed"
RETRY_SECONDS_MAX = 3600.0
TROUBLE_DAYS_MAX = 24 * TROUBLE_SECONDS_MAX
"""As long as a batch may live: the service may be away for a part of it."""
LIMITED_SECONDS_MAX = 60.0
"""Longest wait after a 429 that names no time."""

GiveUp = Callable[[Held, MissingKind, str, bool], None]


class BatchWatch:
    """Does what is to be done with each batch."""

    def __init__(
        self,
        core: Core,
        line: BatchLine,
        *,
        results: BatchResults,
        chance: Callable[[], float],
        on_account: Callable[[str], None],
        give_up: GiveUp,
        over: Callable[[Held], None],
    ) -> None:
        """`give_up` ends all rows of a batch; told whether it may have cost."""
        self._core = core
        self._line = line
        self._results = results
        self._chance = chance
        self._on_account = on_account
        self._give_up = give_up
        self._over = over

    def known(self, held: Held) -> OpenBatch | None:
        """The batch as the journal knows it; None once nothing is open in it."""
        return self._core.state.batches.by_number.get(held.number)

    def name(self, held: Held) -> str:
        """The service's name for it, or ours."""
        known = self.known(held)
        if known is not None and known.id:
            return known.id
        return held.seen.id if held.seen is not None else f"batch {held.number}"

    def _spawn(self, held: Held, work: Coroutine[Any, Any, Any]) -> None:
        step = held.step

        async def perform() -> None:
            self._core.put(BatchCame(held.number, step, await work))

        held.task = self._core.spawn(perform(), f"batch {held.number}: {held.doing}")

    def later(self, held: Held, seconds: float, act: Callable[[Held], None]) -> None:
        """Do something with a batch in a while, unless it goes elsewhere first."""
        step = held.step

        def then() -> None:
            if held.step == step and held.requests:
                act(held)

        self._core.at(self._core.clock.now() + seconds, then)

    def _names(self, held: Held) -> dict[str, int]:
        known = self.known(held)
        if known is None:
            return {}
        return {custom_id(known.run, m.row, c): c for c, m in known.members.items()}

    # -- handing in ----------------------------------------------------------

    def hand_in(self, held: Held) -> None:
        """Send it; its intent is on disk."""
        held.begin(Doing.CREATING)
        run = self._core.state.run
        requests = [
            {
                "custom_id": custom_id(run, request.row, call),
                "params": params_of(request.body()),
            }
            for call, request in held.requests.items()
        ]
        self._spawn(held, self._line.hand_in(requests))

    def search(self, held: Held) -> None:
        """Find out whether the service has it."""
        known = self.known(held)
        if known is None:
            self._over(held)
            return
        assert known.planned_at is not None, "never handed in"
        held.begin(Doing.SEARCHING)
        self._land(held)
        wait = known.planned_at + GRACE_SECONDS - self._core.clock.wall()
        wait = min(wait, GRACE_SECONDS)
        self.show(held, "may have been handed in: looks for it")
        if held.looks == 0 and wait > 0:
            self.later(held, wait, self._search)
        else:
            self._search(held)

    def _search(self, held: Held) -> None:
        known = self.known(held)
        if known is None or known.planned_at is None:
            return
        held.looks += 1
        ids = frozenset(self._names(held))
        strangers = held.strangers | self._core.state.batches.ids()
        size = known.size or len(ids)
        work = self._line.search(known.planned_at, ids, strangers, size=size)
        self._spawn(held, work)
        held.strangers = strangers

    # -- looking and reading -------------------------------------------------

    def look(self, held: Held) -> None:
        """See where it stands."""
        known = self.known(held)
        if known is None or not known.id:
            return
        held.begin(Doing.WAITING)
        held.looks += 1
        self._spawn(held, self._line.look(known.id))

    def wait(self, held: Held) -> None:
        """Look again after a while."""
        known = self.known(held)
        held.begin(Doing.WAITING)
        seconds = known.seconds if known is not None else None
        self.later(held, next_look(held.looks, seconds, self._chance), self.look)

    def read(self, held: Held) -> None:
        """Take its results in."""
        known = self.known(held)
        if known is None:
            return
        step = held.begin(Doing.READING)
        held.late = False
        held.names = self._names(held)
        self._core.flying.update(held.rows)
        number = held.number

        def deliver(lines: list[str]) -> None:
            self._core.put(BatchRead(number, step, tuple(lines)))

        self._spawn(held, self._line.read(known.id, deliver))

    # -- what came back ------------------------------------------------------

    def came(self, held: Held, told: Any) -> None:
        """Go on, by what the service said."""
        held.task = None
        if isinstance(told, Refused | Broken):
            self._trouble(held, told)
            return
        held.tries = Tries()
        match held.doing:
            case Doing.CREATING:
                self._found(held, told)
            case Doing.SEARCHING:
                self._searched(held, told)
            case Doing.READING:
                self._has_read(held)
            case _:
                self._looked(held, told)

    def _found(self, held: Held, seen: Seen) -> None:
        self._core.record(
            BatchOpened(batch=held.number, id=seen.id, seconds=seen.seconds)
        )
        held.looks = 0
        self._land(held)
        self._looked(held, seen)

    def _land(self, held: Held) -> None:
        """From here on it goes on without us."""
        self._core.flying.difference_update(held.rows)

    def _searched(self, held: Held, told: Seen | list[Seen]) -> None:
        if isinstance(told, Seen):
            self._found(held, told)
        elif told:
            text = f"may be {told[0].id}: waits until that has ended"
            self.show(held, text)
            seconds = next_look(held.looks, told[0].seconds, self._chance)
            self.later(held, seconds, self._search)
        else:
            self._not_there(held)

    def _not_there(self, held: Held) -> None:
        """It was never taken in: what is waited for goes out anew, the rest does not.

        The new hand-in is an intent of its own, on disk before it is sent.
        """
        core, known = self._core, self.known(held)
        assert known is not None, "searched for, and not open"
        held.vanished += 1
        if held.vanished >= TRIES_MAX:
            self._land(held)
            self._give_up(held, MissingKind.TIMEOUT, VANISHES, True)
            return
        for member in list(known.members.values()):
            if member.left:
                self._results.never_sent(member)
        text = f"batch {held.number} had not been taken in: it is handed in again"
        core.record(Noted(source="log", text=text))
        held.looks = 0
        self.plan(held)

    def plan(self, held: Held) -> None:
        """Have the intent to hand it in on disk, then do so."""
        core = self._core
        step = held.begin(Doing.PLANNED)
        core.flying.update(held.rows)
        self.show(held, "is being handed in")
        planned = BatchPlanned(batch=held.number, count=len(held.requests))

        def then() -> None:
            if held.step == step:
                self.hand_in(held)

        core.after(core.record(planned), then)

    def _looked(self, held: Held, seen: Seen) -> None:
        held.seen = seen
        if not held.requests:
            return
        total = seen.total or len(held.requests)
        self.show(held, f"{seen.done}/{total}")
        if seen.status != ENDED:
            self.wait(held)
            return
        known = self.known(held)
        if known is not None and not known.ended:
            counts = dict(seen.counts)
            self._core.record(
                BatchEnded(batch=held.number, counts=counts, took=seen.took)
            )
        if seen.has_results:
            self.read(held)
        else:
            self._gone(held, "its results are not kept any more")

    def _has_read(self, held: Held) -> None:
        self._land(held)
        if not held.requests:
            self._over(held)
            return
        held.reads += 0 if held.late else 1
        if held.late or held.reads < TRIES_MAX:
            held.begin(Doing.WAITING)
            self.later(held, 1.0, self.read)
        else:
            self._give_up(held, MissingKind.NO_OUTPUT, NO_RESULT, True)

    def _gone(self, held: Held, reason: str) -> None:
        text = f"{self.name(held)}: {reason}"
        self._give_up(held, MissingKind.REJECTED, text, True)
        if self.known(held) is not None:
            self._core.record(BatchGone(batch=held.number, reason=text))

    # -- trouble -------------------------------------------------------------

    def _trouble(self, held: Held, failed: Refused | Broken) -> None:
        core, now = self._core, self._core.clock.now()
        verdict = classify(failed)
        if isinstance(failed, Broken) and held.doing is Doing.CREATING:
            self.search(held)
            return
        held.tries = held.tries.after(verdict, now)
        if verdict.stops_run:
            sure = held.doing is Doing.CREATING
            self._give_up(held, MissingKind.ACCOUNT, verdict.reason, not sure)
            self._on_account(verdict.reason)
            return
        if verdict.missing is not None:
            self._refused(held, failed, verdict.reason)
            return
        retry = next_try(
            verdict, held.tries, now, self._chance, trouble_max=TROUBLE_DAYS_MAX
        )
        if retry.at is None:
            self._give_up(held, MissingKind.TIMEOUT, retry.reason, True)
            return
        limited = min(LIMITED_SECONDS_MAX, 2.0 * held.tries.limits)
        wait = max(retry.at - now, verdict.retry_after or limited, 1.0)
        wait = min(wait, RETRY_SECONDS_MAX)
        text = f"batch {held.number}: {verdict.reason}; tries again in {wait:.0f} s"
        core.record(Noted(source="engine", text=text))
        again = {
            Doing.CREATING: self.plan,
            Doing.SEARCHING: self._search,
            Doing.READING: self.read,
        }.get(held.doing, self.look)
        self._land(held)
        if held.doing is Doing.CREATING:
            # Certainly not there: until it goes out anew it is only an intent.
            held.begin(Doing.PLANNED)
        self.later(held, wait, again)

    def _refused(self, held: Held, failed: Refused | Broken, reason: str) -> None:
        """A refusal for good."""
        if held.doing is Doing.CREATING:
            self._give_up(held, MissingKind.REJECTED, f"its batch: {reason}", False)
        elif getattr(failed, "status", 0) == NOT_FOUND:
            self._gone(held, f"the service does not have it any more ({reason})")
        else:
            self._give_up(held, MissingKind.REJECTED, reason, True)

    def show(self, held: Held, text: str) -> None:
        """What its rows are doing; one value for all of them."""
        core = self._core
        # The news first: narrow columns cut the end.
        note = f"batch {text} · {self.name(held)}"
        live = Live(cause=Cause.BATCH, note=note, active_at=core.clock.wall())
        core.live.update(dict.fromkeys(held.rows, live))
