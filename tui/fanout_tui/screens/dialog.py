"""Overlays: a question with its answers, and the help."""

from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar, cast

from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container
from textual.screen import ModalScreen

from fanout_tui.cells import width
from fanout_tui.screens.base import Answer, ClosesOnce
from fanout_tui.view.glyphs import Glyphs
from fanout_tui.view.help import help_lines
from fanout_tui.view.questions import Question, question_lines
from fanout_tui.widgets.lines import Block, LineList

if TYPE_CHECKING:
    from fanout_tui.app import FanoutApp

_BOX_CSS = """
{name} {{ align: center middle; background: $background 40%; }}
{name} > Container {{ height: auto; max-height: 100%; max-width: 100%;
    border: {border} $fan-faint; padding: 0 1; background: $fan-band; }}
"""


CALM_S = 0.7
"""So long nothing may have been typed before a key answers what came up unasked: who
goes on typing has not meant it."""
SETTLED = "It is settled meanwhile: there is nothing to answer any more."


class Overlay(ModalScreen[Answer], ClosesOnce[Answer]):
    """Lies over a screen; the app hands it each key as it comes."""

    def take_key(self, event: events.Key) -> None:
        """Do what a key does here."""
        raise NotImplementedError


class AskScreen(Overlay[str | None]):
    """A question; dismissed with the key of the answer, None for esc."""

    DEFAULT_CSS = _BOX_CSS.format(name="AskScreen", border="round")

    def __init__(
        self,
        question: Question,
        make: Callable[[], Question | None],
        *,
        plain_border: bool,
        unasked: bool = False,
    ) -> None:
        """`make` says it anew with the figures of the moment; None: it is settled.

        `unasked`: no key has asked for it, it came up by itself.
        """
        super().__init__()
        self._make = make
        self._question = question
        self._plain_border = plain_border
        self._calm = CALM_S if unasked else 0.0
        self._settled = False
        self._open_from = float("inf")
        """Keys that were typed before were not meant for this question."""

    def compose(self) -> ComposeResult:
        """The box."""
        with Container():
            yield Block(id="ask")

    def on_mount(self, event: events.Mount) -> None:
        """Draw the question as wide as it needs."""
        self._open_from = event.time + self._calm
        if self._plain_border:
            self.query_one(Container).styles.border = ("ascii", "white")
        self._draw()

    def refresh_figures(self) -> None:
        """Draw it anew if its figures have changed meanwhile."""
        newest = None if self._settled else self._make()
        if newest is None:
            # It stays: who is about to answer would have the key do something else.
            self._settled = True
            newest = Question(self._question.title, (SETTLED,), (("esc", "go back"),))
        if newest != self._question and self.is_mounted:
            self._question = newest
            self._draw()

    def _draw(self) -> None:
        box = self.query_one(Container)
        room = self.app.size.width - 4
        lines = question_lines(self._question, room, self.app.size.height)
        needed = max(sum(width(span.text) for span in line) for line in lines)
        box.styles.width = min(room, needed) + 4
        self.query_one("#ask", Block).show(lines)

    def take_key(self, event: events.Key) -> None:
        """An answer, or back."""
        unseen = cast("FanoutApp", self.app).holding.unseen
        if event.time < self._open_from or unseen:
            self._open_from = max(self._open_from, event.time + self._calm)
            return
        if self._settled:
            self.dismiss(None)
            return
        if event.key in {"escape", "q"}:
            self.dismiss(None)
        elif event.key in {key for key, _ in self._question.answers}:
            self.dismiss(event.key)


class HelpScreen(Overlay[None]):
    """The keys of a screen; any other key closes it."""

    BINDINGS: ClassVar[list[BindingType]] = []
    DEFAULT_CSS = _BOX_CSS.format(name="HelpScreen", border="round")

    def __init__(self, kind: str, glyphs: Glyphs, how: str) -> None:
        super().__init__()
        self._kind = kind
        self._how = how
        self._glyphs = glyphs
        self._list = LineList(id="keys")

    def compose(self) -> ComposeResult:
        """The box."""
        with Container():
            yield self._list

    def on_mount(self) -> None:
        """Draw as much as fits; the rest scrolls."""
        if self._glyphs.ascii:
            self.query_one(Container).styles.border = ("ascii", "white")
        self._draw()

    def on_resize(self) -> None:
        """Draw anew in the new room."""
        self._draw()

    def _draw(self) -> None:
        box = self.query_one(Container)
        room = min(self.app.size.width - 5, 100)
        lines = help_lines(self._kind, room, self._glyphs, self._how)
        box.styles.width = room + 5
        self._list.styles.height = min(len(lines), self.app.size.height - 2)
        self._list.list(len(lines), lambda y: (lines[y], False))
        self.call_after_refresh(self._list.look_again)

    def take_key(self, event: events.Key) -> None:
        """Scroll, or close."""
        page, whole = self._list.page(), self._list.count
        steps = {"j": 1, "down": 1, "k": -1, "up": -1}
        steps |= {"pagedown": page, "ctrl+f": page, "pageup": -page, "ctrl+b": -page}
        steps |= {"G": whole, "end": whole, "g": -whole, "home": -whole}
        if event.key in steps:
            self._list.jump(self._list.scroll_offset.y + steps[event.key])
            self._list.look_again()
        else:
            self.dismiss(None)
