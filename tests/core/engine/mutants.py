"""Bugs to plant, each a small one that somebody could write.

The simulation must catch every one of them, or it proves less than it seems to.
"""

import os
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from pytest import MonkeyPatch  # noqa: PT013  a type, nothing more

import core.engine.bench as bench_module
import fanout.decide.fold.state as state_module
import fanout.files.safefile as safefile_module
import fanout.testing.memory_journal as journal_module
import fanout.world.agent.agents as agents_module
import fanout.world.calls as calls_module
import fanout.world.engine as engine_module
import fanout.world.requeues as requeues_module
from core.engine.simulated_disk import DelayedJournal
from fanout.decide.admission.account import Account
from fanout.decide.admission.breaker import Breaker
from fanout.decide.admission.bucket import Bucket
from fanout.decide.admission.holds import Hold
from fanout.decide.conversation import Check, Conversation, End, text_of
from fanout.decide.fingerprint import Shared
from fanout.decide.fold.run_state import RunState
from fanout.decide.money.budget import Purses
from fanout.disk.harvest import Harvest, Partial
from fanout.disk.port import is_durable
from fanout.disk.reuse import Reuse
from fanout.words.events import CallAnswered, CallRefused, LifeStarted
from fanout.words.model import NO_USAGE, Dimension, MissingKind
from fanout.world.agent.agents import Agents
from fanout.world.agent.performers import Performers
from fanout.world.calls import Calls
from fanout.world.clients import Clients
from fanout.world.core import Core
from fanout.world.requeues import Requeues
from fanout.world.rows import Rows, Work
from fanout.world.snapshots import Publisher
from fanout.world.spend.budgets import Budgets
from fanout.world.stale import Stale
from fanout.world.stopping import Stopping

Plant = Callable[[MonkeyPatch], None]


def _set(owner: Any, name: str, value: Any) -> Plant:
    return lambda patch: patch.setattr(owner, name, value)


def _nothing(*_: Any, **__: Any) -> None:
    pass


# -- what is on disk, and when ------------------------------------------------


def _at_once(_core: Core, _seq: int, then: Callable[[], None]) -> None:
    then()


def _told_at_once(patch: MonkeyPatch) -> None:
    def tell(self: Rows, row: Any, seq: int, value: Any, kept: Any) -> None:
        work = self.works.get(row)
        if work is not None:
            work.begin()
            work.on_end(self.outcome(row, value, kept))

    patch.setattr(Rows, "_tell", tell)


def _shown_at_once(patch: MonkeyPatch) -> None:
    def publish(self: Publisher) -> None:
        if self.wanted:
            self.wanted, self.latest = False, self.build()

    patch.setattr(Publisher, "publish", publish)


def _forgets_answers(patch: MonkeyPatch) -> None:
    before = DelayedJournal.append

    def append(self: DelayedJournal, event: Any, at: float) -> Any:
        record = before(self, event, at)
        if isinstance(event, CallAnswered) and self._random.random() < 0.01:
            self._waiting = [r for r in self._waiting if r.seq != record.seq]
        return record

    patch.setattr(DelayedJournal, "append", append)


def _acknowledges_unsynced(patch: MonkeyPatch) -> None:
    before = DelayedJournal._commit

    def commit(self: DelayedJournal) -> None:
        before(self)
        if self._waiting and not self._told:
            self._waiters.commit(self._waiting[-1].seq)
            self._on_commit(self._waiting[-1].seq)

    patch.setattr(DelayedJournal, "_commit", commit)


def _answers_unsynced(patch: MonkeyPatch) -> None:
    def durable(event: Any) -> bool:
        return is_durable(event) and not isinstance(event, CallAnswered)

    patch.setattr(journal_module, "is_durable", durable)


def _unsynced_outputs(patch: MonkeyPatch) -> None:
    class Lazy:
        def __getattr__(self, name: str) -> Any:
            return _nothing if name == "fsync" else getattr(os, name)

    patch.setattr(safefile_module, "os", Lazy())


# -- rows and turns -----------------------------------------------------------


def _row_outlives_its_call(patch: MonkeyPatch) -> None:
    before = Calls._give_up

    def give_up(self: Calls, *given: Any, ends_row: bool) -> None:
        before(self, *given, ends_row=False)

    patch.setattr(Calls, "_give_up", give_up)


def _late_results_count(patch: MonkeyPatch) -> None:
    def expecting(self: Agents, message: Any) -> Work | None:
        self._core.flying.discard(message.row)
        work = self._rows.works.get(message.row)
        return work if work and self._rows.is_open(message.row) else None

    patch.setattr(Agents, "_expecting", expecting)


def _goes_on_twice(patch: MonkeyPatch) -> None:
    def go_on(self: Agents, work: Work, seq: int) -> None:
        self._core.after(seq, lambda: self.advance(work.order.row))

    patch.setattr(Agents, "_go_on", go_on)


def _alike_is_same(patch: MonkeyPatch) -> None:
    def gone(self: Clients, message: Any) -> None:
        for line in self._lines.values():
            line.queue = deque(w for w in line.queue if w.order != message.order)

    patch.setattr(Clients, "gone", gone)


def _stays_in_line(patch: MonkeyPatch) -> None:
    def give_up(self: Calls, row: Any, kind: Any, reason: str) -> bool:
        found = [c for c, f in self._flying.items() if f.request.row == row]
        for call in found:
            flying = self._flying[call]
            self._give_up(call, flying, kind, reason, ends_row=True)
        return bool(found)

    patch.setattr(Calls, "give_up", give_up)


def _silent_reopening(patch: MonkeyPatch) -> None:
    before = Requeues.requeue

    def requeue(self: Requeues, row: Any) -> bool:
        work = self._rows.works.get(row)
        if work is not None:
            work.on_reopen = lambda _: None
        return before(self, row)

    patch.setattr(Requeues, "requeue", requeue)


def _told_twice(patch: MonkeyPatch) -> None:
    before = Rows._tell

    def tell(self: Rows, row: Any, seq: int, value: Any, kept: Any) -> None:
        work = self.works.get(row)
        before(self, row, seq, value, kept)
        if work is not None:
            outcome = self.outcome(row, value, kept)
            self._core.after(seq, lambda: work.on_end(outcome))

    patch.setattr(Rows, "_tell", tell)


def _refusals_are_answers(patch: MonkeyPatch) -> None:
    before = agents_module.next_step

    def next_step(conversation: Conversation) -> Any:
        step = before(conversation)
        if isinstance(step, End) and step.kind is MissingKind.REFUSED:
            return Check(text_of(conversation.entries[-1]["content"]) or "no")
        return step

    patch.setattr(agents_module, "next_step", next_step)


def _misfits_are_fine(patch: MonkeyPatch) -> None:
    before = Performers._judge

    def judge(self: Performers, work: Work, text: str, step: int) -> Any:
        checked = before(self, work, text, step)
        if checked.problem and checked.kind is None:
            return replace(checked, problem="", value=text)
        return checked

    patch.setattr(Performers, "_judge", judge)


def _corrections_untold(patch: MonkeyPatch) -> None:
    before = Agents._send_back

    def send_back(self: Agents, work: Work, problem: str) -> None:
        said = work.conversation
        before(self, work, problem)
        work.conversation = said

    patch.setattr(Agents, "_send_back", send_back)


# -- admission ----------------------------------------------------------------


def _pause_is_deaf(patch: MonkeyPatch) -> None:
    real = engine_module.plan

    def plan(account: Account, now: float, **_: Any) -> Any:
        return real(account, now)

    patch.setattr(engine_module, "plan", plan)


def _keeps_its_place(patch: MonkeyPatch) -> None:
    def ended(self: Account, call: int, *_: Any) -> None:
        del self, call

    patch.setattr(Account, "ended", ended)


def _unsent_is_sent(patch: MonkeyPatch) -> None:
    before = Calls.give_up_all

    def give_up_all(self: Calls, *given: Any, unsent_only: bool = False) -> None:
        if not unsent_only:
            before(self, *given)

    patch.setattr(Calls, "give_up_all", give_up_all)


def _half_a_wait(patch: MonkeyPatch) -> None:
    before = Hold.refused

    def refused(
        self: Hold, *given: Any, retry_after: float | None, **more: Any
    ) -> bool:
        half = None if retry_after is None else retry_after / 2
        return before(self, *given, retry_after=half, **more)

    patch.setattr(Hold, "refused", refused)


def _no_charge(of: Dimension) -> Plant:
    def plant(patch: MonkeyPatch) -> None:
        before = Bucket.charge

        def charge(self: Bucket, amount: float, now: float) -> None:
            before(self, 0.0 if self.dimension is of else amount, now)

        def follow(self: Bucket, *_: Any, **__: Any) -> None:
            del self

        patch.setattr(Bucket, "charge", charge)
        patch.setattr(Bucket, "follow", follow)

    return plant


def _breaker_is_open(patch: MonkeyPatch) -> None:
    patch.setattr(Breaker, "failed", lambda *_, **__: False)


# -- money --------------------------------------------------------------------


def _reserved_late(patch: MonkeyPatch) -> None:
    reserve = Purses.reserve
    perform = Calls._perform

    async def late(self: Calls, call: int, flying: Any) -> None:
        request = flying.request
        reserve(self._purse, request.row, call, request.model, request.worst)
        await perform(self, call, flying)

    patch.setattr(Purses, "reserve", _nothing)
    patch.setattr(Calls, "_perform", late)


def _settled_early(patch: MonkeyPatch) -> None:
    perform = Calls._perform

    async def settled(self: Calls, call: int, flying: Any) -> None:
        self._purse.settle(flying.request.row, call)
        await perform(self, call, flying)

    patch.setattr(Calls, "_perform", settled)


def _wasted_is_useful(patch: MonkeyPatch) -> None:
    before = state_module._HANDLERS[CallRefused]

    def refused(state: RunState, at: float, event: CallRefused) -> None:
        before(state, at, replace(event, wasted=NO_USAGE))
        state.ledger.useful.add(event.wasted)

    handlers = {**state_module._HANDLERS, CallRefused: refused}
    patch.setattr(state_module, "_HANDLERS", handlers)


def _doubt_is_forgotten(patch: MonkeyPatch) -> None:
    before = state_module.interrupt

    def interrupt(state: RunState, at: float) -> None:
        for row in list(state.rows.values()):
            if row.flight is not None:
                state.rows[row.id] = replace(row, flight=None)
        before(state, at)

    patch.setattr(state_module, "interrupt", interrupt)


def _taken_up_twice(patch: MonkeyPatch) -> None:
    before = state_module.take_up

    def take_up(state: RunState, row: Any, tally: Any) -> Any:
        state.ledger.useful.add(state.set_aside.get(row, NO_USAGE))
        return before(state, row, tally)

    patch.setattr(state_module, "take_up", take_up)


# -- going on -----------------------------------------------------------------


def _ignores(part: str) -> Plant:
    def plant(patch: MonkeyPatch) -> None:
        before = Shared.fingerprint

        def fingerprint(
            self: Shared, account: str, opening: Any, input_digests: Any
        ) -> str:
            if part == "tools":
                return before(
                    replace(self, tools="[]"), account, opening, input_digests
                )
            return before(self, account, opening, ())

        patch.setattr(Shared, "fingerprint", fingerprint)

    return plant


def _counts_calls_anew(patch: MonkeyPatch) -> None:
    before = state_module._HANDLERS[LifeStarted]

    def started(state: RunState, at: float, event: LifeStarted) -> None:
        before(state, at, event)
        state.next_call = 1

    handlers = {**state_module._HANDLERS, LifeStarted: started}
    patch.setattr(state_module, "_HANDLERS", handlers)


def _turns_turned_round(patch: MonkeyPatch) -> None:
    before = Partial.load_entries

    def load(self: Partial) -> tuple[Any, ...]:
        entries = before(self)
        return (*entries[2:], *entries[:2]) if len(entries) > 3 else entries

    patch.setattr(Partial, "load_entries", load)


MUTANTS: dict[str, Plant] = {
    "sends before its intent is on disk": _set(Core, "after", _at_once),
    "tells before the end is on disk": _told_at_once,
    "shows a row as done before that is on disk": _shown_at_once,
    "one answer in a hundred is not journaled": _forgets_answers,
    "acknowledges what is not synced": _acknowledges_unsynced,
    "answers are not synced": _answers_unsynced,
    "outputs are not synced": _unsynced_outputs,
    "a disk is tried once": _set(DelayedJournal, "retry", lambda _: None),
    "tells every end twice": _told_twice,
    "a cancelled row goes on when its answer had come": _row_outlives_its_call,
    "late results count": _late_results_count,
    "a reopened row goes on twice": _goes_on_twice,
    "does not say that a row was reopened": _silent_reopening,
    "a reopened row loses its turns": _set(
        requeues_module, "_must_start_over", lambda _: True
    ),
    "alike requests are taken for the same": _alike_is_same,
    "a request that was given up stays in line": _stays_in_line,
    "a refusal is taken for an answer": _refusals_are_answers,
    "an answer that does not fit is taken": _misfits_are_fine,
    "a correction is not told": _corrections_untold,
    "a stale row stays done": _set(Stale, "late", _nothing),
    "a result that crossed an order makes nothing stale": _set(
        Stale, "crossed", _nothing
    ),
    "unstarted rows stay open": _set(Stopping, "_end_unstarted", lambda _: None),
    "a keyed client never ends": _set(Clients, "finish", lambda _: None),
    "a stop has no cause": _set(Stopping, "cause", lambda _: None),
    "a stop lets out what was not sent": _unsent_is_sent,
    "admits while paused": _pause_is_deaf,
    "a call's end keeps its place": _keeps_its_place,
    "requests are not counted": _no_charge(Dimension.REQUESTS),
    "input is not counted": _no_charge(Dimension.INPUT),
    "a service that is away is asked all the time": _breaker_is_open,
    "waits half of retry-after": _half_a_wait,
    "a hold is forgotten at a restart": _set(Account, "hold_again", _nothing),
    "the budget is reserved after the send": _reserved_late,
    "a reservation is settled when its call is sent": _settled_early,
    "nothing in flight is reserved in the budget": _set(Purses, "reserve", _nothing),
    "phases have no ceilings": _set(Budgets, "bound_phase", lambda _s, _p, told: told),
    "a broken call costs nothing": _set(
        calls_module, "failed", lambda *_: (NO_USAGE, NO_USAGE)
    ),
    "a cancelled call costs nothing": _set(
        calls_module, "given_up", lambda *_, **__: (NO_USAGE, NO_USAGE)
    ),
    "what was wasted counts as useful": _wasted_is_useful,
    "what was in flight at a kill is not in doubt": _doubt_is_forgotten,
    "turns taken up count twice": _taken_up_twice,
    "finished work is not found": _set(Reuse, "take", lambda *_: None),
    "half-done work is not found": _set(Reuse, "partial", lambda *_: None),
    "rows that ended ahead are begun": _set(Rows, "already_ended", lambda *_: False),
    "turns are not taken over": _set(Agents, "_take_up", lambda *_: None),
    "turns are taken over in another order": _turns_turned_round,
    "what tools gave is not kept": _set(Harvest, "_ran", _nothing),
    "fingerprints ignore tools": _ignores("tools"),
    "fingerprints ignore inputs": _ignores("input_digests"),
    "a lost output is not put back": _set(bench_module, "restore", lambda *_: True),
    "calls are numbered anew in each life": _counts_calls_anew,
}
