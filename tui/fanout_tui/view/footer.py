"""The last line: the keys that do something here, and what they do."""

from collections.abc import Mapping

from fanout.words.snapshot import CRASHED
from fanout_tui.cells import width
from fanout_tui.keytable import footer_keys
from fanout_tui.view.look import Look
from fanout_tui.view.spans import Line, Span, fit, spread

LAST = ("help", "quit")
"""These stand at the right edge and stay the longest."""

PAIRS = {"more": "+-", "more_5": "[]"}
"""Two keys that stand for one another are shown together."""

AFTERWARDS = frozenset({"quit", "write", "requeue"})
"""Of the keys that change something, those that still do once a run is over."""
AFTER_A_CRASH = frozenset({"quit", "write"})
"""Those that need no engine."""


def footer_line(screen: str, look: Look, words: Mapping[str, str]) -> Line:
    """As many keys as fit; `words` says those that depend on the state."""
    cells = look.width
    after = AFTER_A_CRASH if look.snapshot.state == CRASHED else AFTERWARDS
    keys = [
        key
        for key in footer_keys(screen, look.how)
        if (not look.over or key.looks or key.name in after)
        and (key.name != "requeue" or look.snapshot.counts.missing)
    ]
    tail: list[Span] = []
    for key in keys:
        if key.name in LAST:
            tail += [Span("  "), Span(key.shown, "key"), Span(" " + key.foot)]
    tail.append(Span(" "))
    room = cells - sum(width(span.text) for span in tail) - 1
    head: list[Span] = []
    for key in keys:
        if key.name in LAST:
            continue
        shown = PAIRS.get(key.name, key.shown)
        text = words.get(key.name, key.foot)
        size = width(shown) + width(text) + 3
        if size > room:
            break
        room -= size
        head += [Span("  " if head else " "), Span(shown, "key"), Span(" " + text)]
    return spread(head, tail, cells)


def message_line(text: str, cells: int, style: str = "message") -> Line:
    """A short answer to a key, in the footer's place."""
    spans = fit((Span(f" {text}", style),), cells)
    fill = cells - sum(width(span.text) for span in spans)
    return (*spans, Span(" " * fill, style))
