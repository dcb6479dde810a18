"""Bugs to plant, each a small one that somebody could write.

The simulation must catch every one of them, or it proves less than it seems to.
"""

from collections import deque
from collections.abc import Callable
from typing import Any

from pytest import MonkeyPatch  # noqa: PT013  a type, nothing more

import fanout.world.calls as calls_module
import fanout.world.engine as engine_module
from core.engine.simulated_service import DelayedJournal
from fanout.decide.admission.account import Account
from fanout.disk.reuse import Reuse
from fanout.words.model import NO_USAGE
from fanout.world.agents import Agents
from fanout.world.calls import Calls
from fanout.world.clients import Clients
from fanout.world.core import Core
from fanout.world.rows import Rows, Work
from fanout.world.stopping import Stopping

Plant = Callable[[MonkeyPatch], None]


def _set(owner: Any, name: str, value: Any) -> Plant:
    return lambda patch: patch.setattr(owner, name, value)


def _at_once(_core: Core, _seq: int, then: Callable[[], None]) -> None:
    then()


def _told_at_once(patch: MonkeyPatch) -> None:
    def tell(self: Rows, row: Any, seq: int, value: Any, kept: Any) -> None:
        work = self.works.get(row)
        if work is not None:
            work.begin()
            work.on_end(self.outcome(row, value, kept))

    patch.setattr(Rows, "_tell", tell)


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


def _pause_is_deaf(patch: MonkeyPatch) -> None:
    real = engine_module.plan

    def plan(account: Account, now: float, **_: Any) -> Any:
        return real(account, now)

    patch.setattr(engine_module, "plan", plan)


def _silent_reopening(patch: MonkeyPatch) -> None:
    before = Agents.requeue

    def requeue(self: Agents, row: Any) -> bool:
        work = self._rows.works.get(row)
        if work is not None:
            work.on_reopen = lambda _: None
        return before(self, row)

    patch.setattr(Agents, "requeue", requeue)


def _told_twice(patch: MonkeyPatch) -> None:
    before = Rows._tell

    def tell(self: Rows, row: Any, seq: int, value: Any, kept: Any) -> None:
        work = self.works.get(row)
        before(self, row, seq, value, kept)
        if work is not None:
            outcome = self.outcome(row, value, kept)
            self._core.after(seq, lambda: work.on_end(outcome))

    patch.setattr(Rows, "_tell", tell)


def _keeps_its_place(patch: MonkeyPatch) -> None:
    def ended(self: Account, call: int, *_: Any) -> None:
        del self, call

    patch.setattr(Account, "ended", ended)


MUTANTS: dict[str, Plant] = {
    "sends before its intent is on disk": _set(Core, "after", _at_once),
    "tells before the end is on disk": _told_at_once,
    "tells every end twice": _told_twice,
    "a cancelled row goes on when its answer had come": _row_outlives_its_call,
    "late results count": _late_results_count,
    "a reopened row goes on twice": _goes_on_twice,
    "does not say that a row was reopened": _silent_reopening,
    "alike requests are taken for the same": _alike_is_same,
    "a request that was given up stays in line": _stays_in_line,
    "sends while paused": _pause_is_deaf,
    "a call's end keeps its place": _keeps_its_place,
    "a broken call costs nothing": _set(
        calls_module, "failed", lambda *_: (NO_USAGE, NO_USAGE)
    ),
    "a cancelled call costs nothing": _set(
        calls_module, "given_up", lambda *_, **__: (NO_USAGE, NO_USAGE)
    ),
    "unstarted rows stay open": _set(Stopping, "_end_unstarted", lambda _: None),
    "a stop has no cause": _set(Stopping, "cause", lambda _: None),
    "finished work is not found": _set(Reuse, "take", lambda *_: None),
    "half-done work is not found": _set(Reuse, "partial", lambda *_: None),
    "a disk is tried once": _set(DelayedJournal, "retry", lambda _: None),
    "rows that ended ahead are begun": _set(Rows, "already_ended", lambda *_: False),
    "turns are not taken over": _set(Agents, "_take_up", lambda *_: None),
    "a keyed client never ends": _set(Clients, "finish", lambda _: None),
}
