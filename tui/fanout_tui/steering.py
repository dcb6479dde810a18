"""What acting keys lead to: a command with an answer, or a question first.

A run that is only looked at takes no command; the keys then steer the player, or
say that there is nothing to steer.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from textual.widgets import Input

from fanout.words.budgets import Short
from fanout.words.commands import (
    Answer,
    CancelRow,
    ChangeCeiling,
    Command,
    Export,
    KeepBudget,
    Pause,
    RaiseBudget,
    Requeue,
    Resume,
    SetCeiling,
    Stop,
)
from fanout.words.model import Row
from fanout.words.snapshot import CRASHED
from fanout_tui.screens.base import RunScreen
from fanout_tui.screens.dialog import AskScreen
from fanout_tui.text import plural
from fanout_tui.view import ask, overspent
from fanout_tui.view.look import OVER
from fanout_tui.view.picking import NO_ROW
from fanout_tui.view.questions import Question

if TYPE_CHECKING:
    from fanout_tui.app import FanoutApp
    from fanout_tui.bridge import Player, Viewing

SIGNAL_EXITS = frozenset({129, 130, 143})
"""Exit codes after which nobody is there to read a finished screen."""
LOOKING = "this screen only looks on: nothing is changed"


class Steering:
    """The keys that change something, on whatever run the app shows."""

    def __init__(
        self, app: "FanoutApp", viewing: "Viewing | None", player: "Player | None"
    ) -> None:
        self._app = app
        self._viewing = viewing
        self._player = player
        self._asked = 0
        """Number of the question that was shown last."""
        self._shorts: set[int] = set()
        """The same of those about budgets: several may be open."""

    def _only_looks(self) -> bool:
        """Say so, if this run is none of ours to change."""
        if self._viewing is None:
            return False
        self._app.say(LOOKING)
        return True

    def ceiling(self, change: int | None) -> None:
        """Change the ceiling by so much, or give it back to auto; or the player."""
        if self._player is not None:
            self._app.say(self._player_moves(self._player, change))
            return
        snapshot = self._app.snapshot
        if snapshot is None:
            return
        command = SetCeiling(None) if change is None else ChangeCeiling(change)
        self.act(command, ask.ceiling_answer(snapshot, change))

    @staticmethod
    def _player_moves(player: "Player", change: int | None) -> str:
        if change is None:
            return player.real_time()
        step = 1 if change > 0 else -1
        return player.faster(step) if abs(change) == 1 else player.seek(step)

    def act(self, command: Command, answer: str) -> None:
        """Send a command and say what it will do."""
        if self._only_looks():
            return
        snapshot = self._app.snapshot
        crashed = snapshot is not None and snapshot.state == CRASHED
        if crashed and not isinstance(command, Export):
            self._app.say("the engine has failed: leave with q, then resume")
            return
        self._app.handle.send(command)
        self._app.handle.ask()
        self._app.say(answer)

    def toggle_pause(self) -> None:
        """Pause, or resume; the player, if there is one."""
        if self._player is not None:
            self._app.say(self._player.toggle())
            return
        if self._app.snapshot is None or self._app.snapshot.state in OVER:
            self._app.say("the run is over")
        elif self._app.snapshot.state == "paused":
            self.act(Resume(), "resumed")
        else:
            flying = plural(self._app.snapshot.ceiling.in_flight, "call")
            self.act(Pause(), f"paused: nothing new is sent, {flying} in flight go on")

    def ask_requeue(self, rows: Sequence[Row] | None) -> None:
        """Ask, then reopen these missing rows; None: all of them."""
        if self._app.snapshot is None or self._only_looks():
            return
        if rows is not None and not rows:
            self._app.say(NO_ROW)
            return
        every = rows is None
        missing = ask.reopenable(
            list(self._app.snapshot.rows.values()) if rows is None else rows
        )
        if not missing:
            self._app.say(self._none_missing(every=every))
            return
        command = Requeue(None if every else tuple(row.id for row in missing))

        def answered(answer: str | None) -> None:
            if answer == "y":
                self._app.picking.marks.clear()
                self.act(command, f"{plural(len(missing), 'row')} requeued")

        snapshot = self._app.snapshot
        self._ask(
            lambda: ask.ask_requeue(self._app.snapshot or snapshot, missing), answered
        )

    def _none_missing(self, *, every: bool) -> str:
        """Why a requeue has nothing to do: of all, of the marked, of the row."""
        marked = len(self._app.picking.marks)
        if every:
            return "nothing is missing"
        if marked:
            return f"{plural(marked, 'row')} marked, none missing; U unmarks"
        return "this row is not missing"

    def ask_cancel(self, row: Row | None) -> None:
        """Ask, then give a row up."""
        if self._only_looks():
            return
        if row is None or row.end is not None:
            self._app.say(NO_ROW if row is None else "this row has ended")
            return
        target = row.id

        def answered(answer: str | None) -> None:
            if answer == "y":
                self.act(CancelRow(target), f"{target} cancelled")

        def asked() -> Question | None:
            snapshot = self._app.snapshot
            now = row if snapshot is None else snapshot.rows.get(target, row)
            return ask.ask_cancel(now) if now.end is None else None

        self._ask(asked, answered)

    def ask_money(self, *, again: bool = False) -> None:
        """Show the question that is open, if one is: about a budget, or spending."""
        snapshot = self._app.snapshot
        shorts = () if snapshot is None else snapshot.shorts
        fresh = [short for short in shorts if short.number not in self._shorts]
        if fresh or (again and shorts):
            self._ask_budget((fresh or list(shorts))[0], again=again)
        else:
            self._ask_spend(again=again)

    def _ask_spend(self, *, again: bool) -> None:
        """Show the question that rows wait for: once, or again if somebody wants."""
        snapshot = self._app.snapshot
        asking = None if snapshot is None else snapshot.asking
        if asking is None or self._viewing is not None:
            if again:
                self._app.say("nothing is asked")
            return
        if self._busy() or (asking.number == self._asked and not again):
            return
        self._asked = number = asking.number

        def answered(answer: str | None) -> None:
            if answer == "y":
                self.act(Answer(number, yes=True), "confirmed: the rows go")
            elif answer == "n":
                self.act(Answer(number, yes=False), "declined: the run stops")

        def asked() -> Question | None:
            now = self._app.snapshot.asking if self._app.snapshot else None
            open_yet = now is not None and now.number == number
            return ask.ask_spend(now) if now is not None and open_yet else None

        self._ask(asked, answered, unasked=not again)

    def _busy(self) -> bool:
        """Something else has the keys: what is asked waits, lest they answer it."""
        typed = isinstance(self._app.focused, Input)
        return typed or not isinstance(self._app.screen, RunScreen)

    def _ask_budget(self, short: Short, *, again: bool) -> None:
        """Show what one budget asks."""
        if self._viewing is not None or self._busy():
            return
        self._shorts.add(short.number)

        def answered(answer: str | None) -> None:
            if answer == "w":
                self.act(KeepBudget(short.phase), "the run goes on without them")
            elif answer in ("d", "a"):
                mode = "drain" if answer == "d" else "now"
                self.act(Stop(mode, "budget", short.reason), "the run stops")
            elif answer is not None:
                self._raise_budget(short, answer)

        def asked() -> Question | None:
            now, newest = self._app.snapshot, self._open(short)
            return overspent.ask_budget(now, newest) if now and newest else None

        self._ask(asked, answered, unasked=not again)

    def _open(self, short: Short) -> Short | None:
        """The same question with the figures of the moment; None: it is settled."""
        shorts = () if self._app.snapshot is None else self._app.snapshot.shorts
        return next((one for one in shorts if one.number == short.number), None)

    def _raise_budget(self, short: Short, answer: str) -> None:
        now, newest = self._app.snapshot, self._open(short)
        if now is None or newest is None:
            return
        for key, budget in overspent.raises(now, newest):
            if key == answer:
                command = RaiseBudget(budget.tokens, budget.dollars, short.phase)
                self.act(command, f"budget raised to {overspent.budget_words(budget)}")

    def ask_quit(self) -> None:
        """Leave at once when the run is over, else ask how."""
        if self._nothing_to_stop():
            self._app.leave("quit")
            return

        def answered(answer: str | None) -> None:
            match answer:
                case "d":
                    self._stop("drain", "quit")
                case "a":
                    self._stop("now", "quit")
                case "b":
                    self._app.leave("plain")

        def asked() -> Question | None:
            snapshot = self._app.snapshot
            if snapshot is None or self._nothing_to_stop():
                return None
            return ask.ask_quit(snapshot)

        self._ask(asked, answered)

    def _ask(
        self,
        make: Callable[[], Question | None],
        answered: Callable[[str | None], None],
        *,
        unasked: bool = False,
    ) -> None:
        """Ask with the figures of the moment; no question, no dialog."""
        first = make()
        if first is not None:
            screen = AskScreen(
                first, make, plain_border=self._app.ascii, unasked=unasked
            )
            self._app.push_screen(screen, answered)

    def _stop(self, mode: str, cause: str) -> None:
        self._app.leaving = mode
        words = "draining: what flies finishes" if mode == "drain" else "stopping"
        self.act(Stop(mode, cause), f"{words}; the screen closes then")

    def interrupt(self) -> None:
        """Ctrl-C: drain, then at once; leaves a run that is over."""
        if self._nothing_to_stop() or self._app.snapshot is None:
            self._app.leave("quit")
        elif self._app.leaving or self._app.snapshot.state in {"draining", "stopping"}:
            self._stop("now", "SIGINT")
        else:
            self._stop("drain", "SIGINT")

    def nobody_looks(self) -> bool:
        """The terminal is gone, or whoever only looks was asked to end."""
        terminal, viewing = self._app.terminal, self._viewing
        gone = terminal is not None and terminal.gone
        return gone or (viewing is not None and viewing.called_off())

    def called_away(self) -> bool:
        """The run was ended from outside, or nobody looks any more."""
        handle = self._app.handle
        if self._viewing is not None or self.nobody_looks():
            return self.nobody_looks()
        handle.ask()
        newest = handle.latest()
        end = None if newest is None else newest.end
        crashed = newest is not None and newest.state == CRASHED
        signalled = end is not None and end.exit_code in SIGNAL_EXITS
        return signalled or (handle.finished() and not crashed)

    def _nothing_to_stop(self) -> bool:
        snapshot = self._app.snapshot
        over = snapshot is None or snapshot.state in OVER
        return over or self._viewing is not None
