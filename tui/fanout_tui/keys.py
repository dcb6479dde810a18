"""Every key, once: bindings, footers, help and the palette are made from here.

A key that only looks (`looks=True`) must never send a command; a property test
holds all of them to it.
"""

from dataclasses import dataclass

MAIN, AGENT, LOG, REPORT = "main", "agent", "log", "report"
LISTS = frozenset({MAIN, LOG, REPORT, AGENT})


@dataclass(frozen=True, slots=True)
class Key:
    """What one key does."""

    name: str
    """The action: `action_<name>` of the screens it works on."""
    keys: tuple[str, ...]
    """By Textual's names."""
    shown: str
    """As people write them."""
    does: str
    group: str
    on: frozenset[str]
    looks: bool = True
    """False: it changes the run, or asks to."""
    foot: str = ""
    """Short word in the footer; empty: not there."""
    family: str = ""
    """Help shows a family on one line, with this text."""


def _key(
    name: str,
    keys: str,
    shown: str,
    does: str,
    *,
    group: str = "Look",
    on: frozenset[str] | set[str] = frozenset({MAIN}),
    looks: bool = True,
    foot: str = "",
    family: str = "",
) -> Key:
    return Key(
        name,
        tuple(keys.split()),
        shown,
        does,
        group,
        frozenset(on),
        looks,
        foot,
        family,
    )


KEYS: tuple[Key, ...] = (
    _key("open", "enter right", "enter", "open the agent", foot="open"),
    _key(
        "back",
        "escape left backspace",
        "esc",
        "back, clear the filter",
        on={MAIN, AGENT, LOG, REPORT},
        foot="back",
    ),
    _key("down", "j down", "j ↓", "down", on=LISTS, family="move"),
    _key("up", "k up", "k ↑", "up", on=LISTS, family="move"),
    _key(
        "page_down",
        "pagedown ctrl+f",
        "PgDn",
        "a page down",
        on=LISTS,
        family="a page",
    ),
    _key("page_up", "pageup ctrl+b", "PgUp", "a page up", on=LISTS, family="a page"),
    _key(
        "top",
        "g home",
        "g",
        "to the top",
        on=LISTS,
        family="to the top, to the end",
    ),
    _key(
        "bottom",
        "G end",
        "G",
        "to the end",
        on=LISTS,
        family="to the top, to the end",
    ),
    _key("follow", "F", "F", "follow the row"),
    _key("side", "w", "w", "side panel on or off"),
    _key("pool", "M", "M", "gauges of the next pool"),
    _key(
        "next",
        "n",
        "n",
        "next agent",
        on={AGENT},
        foot="next",
        family="next, previous agent",
    ),
    _key(
        "previous",
        "N",
        "N",
        "previous agent",
        on={AGENT},
        foot="previous",
        family="next, previous agent",
    ),
    _key(
        "tab_1",
        "1",
        "1",
        "transcript",
        on={AGENT},
        family="transcript prompt result calls",
    ),
    _key(
        "tab_2", "2", "2", "prompt", on={AGENT}, family="transcript prompt result calls"
    ),
    _key(
        "tab_3", "3", "3", "result", on={AGENT}, family="transcript prompt result calls"
    ),
    _key(
        "tab_4",
        "4",
        "4",
        "calls and refusals",
        on={AGENT},
        family="transcript prompt result calls",
    ),
    _key(
        "filter",
        "slash",
        "/",
        "x !x try>1 phase:x why:x",
        group="Find",
        on={MAIN, LOG},
        foot="find",
    ),
    _key(
        "only_1",
        "1",
        "1",
        "running",
        group="Find",
        family="running, throttled, queued, missing, done",
    ),
    _key(
        "only_2",
        "2",
        "2",
        "throttled",
        group="Find",
        family="running, throttled, queued, missing, done",
    ),
    _key(
        "only_3",
        "3",
        "3",
        "queued",
        group="Find",
        family="running, throttled, queued, missing, done",
    ),
    _key(
        "only_4",
        "4",
        "4",
        "missing",
        group="Find",
        family="running, throttled, queued, missing, done",
    ),
    _key(
        "only_5",
        "5",
        "5",
        "done",
        group="Find",
        family="running, throttled, queued, missing, done",
    ),
    _key("only_0", "0", "0", "all statuses", group="Find"),
    _key(
        "sort",
        "s",
        "s",
        "sort by the next column",
        group="Find",
        family="sort column, reverse",
    ),
    _key(
        "reverse",
        "S",
        "S",
        "reverse the order",
        group="Find",
        family="sort column, reverse",
    ),
    _key(
        "pause",
        "p",
        "p",
        "pause / resume",
        group="Act",
        looks=False,
        on={MAIN, AGENT},
        foot="pause",
    ),
    _key(
        "more",
        "plus equals_sign",
        "+",
        "ceiling up by 1",
        group="Act",
        looks=False,
        foot="ceiling",
        family="ceiling by 1",
    ),
    _key(
        "fewer",
        "minus",
        "-",
        "ceiling down by 1",
        group="Act",
        looks=False,
        family="ceiling by 1",
    ),
    _key(
        "more_5",
        "right_square_bracket",
        "]",
        "ceiling up by 5",
        group="Act",
        looks=False,
        family="ceiling by 5",
    ),
    _key(
        "fewer_5",
        "left_square_bracket",
        "[",
        "ceiling down by 5",
        group="Act",
        looks=False,
        family="ceiling by 5",
    ),
    _key("auto", "A", "A", "ceiling back to auto", group="Act", looks=False),
    _key(
        "mark",
        "space",
        "space",
        "mark the row",
        group="Act",
        family="mark a row, unmark all",
    ),
    _key(
        "unmark", "U", "U", "unmark all", group="Act", family="mark a row, unmark all"
    ),
    _key("mark_all", "a", "a", "mark all that are listed", group="Act"),
    _key(
        "requeue",
        "r",
        "r",
        "requeue row or marked",
        group="Act",
        looks=False,
        on={MAIN, AGENT},
        foot="requeue",
    ),
    _key(
        "requeue_all",
        "R",
        "R",
        "requeue all missing",
        group="Act",
        looks=False,
        on={MAIN, REPORT},
    ),
    _key(
        "cancel",
        "x",
        "x",
        "cancel the row",
        group="Act",
        looks=False,
        on={MAIN, AGENT},
    ),
    _key(
        "report",
        "e",
        "e",
        "completeness report",
        group="Out",
        on={MAIN, AGENT, LOG},
        foot="report",
    ),
    _key(
        "write",
        "w",
        "w",
        "write the report's files",
        group="Out",
        looks=False,
        on={REPORT},
        foot="write files",
    ),
    _key("pager", "o", "o", "transcript in $PAGER", group="Out", on={AGENT}),
    _key(
        "mouse",
        "m",
        "m",
        "mouse: release or take",
        group="Out",
        on={MAIN, AGENT, LOG, REPORT},
    ),
    _key(
        "log", "l", "l", "event log", group="Out", on={MAIN, AGENT, REPORT}, foot="log"
    ),
    _key(
        "copy",
        "y",
        "y",
        "copy the row (OSC 52)",
        group="Out",
        on={MAIN, AGENT},
        family="copy the row, as JSON",
    ),
    _key(
        "copy_json",
        "Y",
        "Y",
        "copy the row as JSON",
        group="Out",
        on={MAIN, AGENT},
        family="copy the row, as JSON",
    ),
    _key(
        "palette",
        "colon ctrl+p",
        ": ^P",
        "every action by name",
        group="Out",
        on={MAIN, AGENT, LOG, REPORT},
    ),
    _key(
        "help",
        "question_mark",
        "?",
        "this help",
        group="Out",
        on={MAIN, AGENT, LOG, REPORT},
        foot="help",
    ),
    _key(
        "quit",
        "q",
        "q",
        "leave",
        group="Out",
        looks=False,
        on={MAIN},
        foot="quit",
    ),
    _key("back_q", "q", "q", "back", group="Out", on={AGENT, LOG, REPORT}),
    _key(
        "interrupt",
        "ctrl+c",
        "^C",
        "drain; again: at once",
        group="Out",
        looks=False,
        on={MAIN, AGENT, LOG, REPORT},
    ),
)

GROUPS = ("Look", "Find", "Act", "Out")


def keys_on(screen: str) -> tuple[Key, ...]:
    """The keys that work on a screen."""
    return tuple(key for key in KEYS if screen in key.on)


def footer_keys(screen: str) -> tuple[Key, ...]:
    """The keys a screen's footer shows, in the order of the table."""
    here = [key for key in keys_on(screen) if key.foot]
    if screen == MAIN:
        here = [key for key in here if key.name != "back"]
    return tuple(here)
