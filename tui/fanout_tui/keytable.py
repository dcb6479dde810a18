"""Every key, once: bindings, footers, help and the palette are made from here.

A key that only looks (`looks=True`) must never send a command; a property test
holds all of them to it.
"""

from fanout_tui.keys import (
    AGENT,
    ALWAYS,
    LISTS,
    LIVE,
    LOG,
    MAIN,
    REPLAY,
    REPORT,
    Key,
    key,
)

TABS = ("transcript", "prompt", "result", "calls")
"""What of an agent is shown, behind the keys 1 to 4."""
STATUSES = ("running", "throttled", "queued", "missing", "done")
"""Which rows are, behind the keys 1 to 5."""

KEYS: tuple[Key, ...] = (
    key(
        "open",
        "enter right",
        "enter",
        "open the agent",
        on={MAIN, LOG, REPORT},
        foot="open",
    ),
    key(
        "back",
        "escape left backspace",
        "esc",
        "back, clear the filter",
        on={MAIN, AGENT, LOG, REPORT},
        foot="back",
    ),
    key("down", "j down", "j ↓", "down", on=LISTS, family="move"),
    key("up", "k up", "k ↑", "up", on=LISTS, family="move"),
    key(
        "page_down", "pagedown ctrl+f", "PgDn", "a page down", on=LISTS, family="a page"
    ),
    key("page_up", "pageup ctrl+b", "PgUp", "a page up", on=LISTS, family="a page"),
    key("top", "g home", "g", "to the top", on=LISTS, family="to the top, to the end"),
    key(
        "bottom", "G end", "G", "to the end", on=LISTS, family="to the top, to the end"
    ),
    key("follow", "F", "F", "follow the row"),
    key("side", "w", "w", "side panel on or off"),
    key("pool", "M", "M", "gauges of the next pool"),
    key(
        "next",
        "n",
        "n",
        "next agent",
        on={AGENT},
        foot="next",
        family="next, previous agent",
    ),
    key(
        "previous",
        "N",
        "N",
        "previous agent",
        on={AGENT},
        foot="previous",
        family="next, previous agent",
    ),
    *(
        key(f"tab_{n}", f"{n}", f"{n}", does, on={AGENT}, family=" ".join(TABS))
        for n, does in enumerate(TABS, 1)
    ),
    key(
        "filter",
        "slash",
        "/",
        "x !x try>1 phase:x why:x",
        group="Find",
        foot="find",
    ),
    key(
        "filter",
        "slash",
        "/",
        "what has these words",
        group="Find",
        on={LOG, AGENT},
        foot="find",
    ),
    *(
        key(f"only_{n}", f"{n}", f"{n}", does, group="Find", family=", ".join(STATUSES))
        for n, does in enumerate(STATUSES, 1)
    ),
    key("only_0", "0", "0", "all statuses", group="Find"),
    key(
        "sort",
        "s",
        "s",
        "sort by the next column",
        group="Find",
        family="sort column, reverse",
    ),
    key(
        "reverse",
        "S",
        "S",
        "reverse the order",
        group="Find",
        family="sort column, reverse",
    ),
    key(
        "pause",
        "p",
        "p",
        "pause / resume",
        group="Act",
        looks=False,
        on={MAIN, AGENT},
        foot="pause",
    ),
    key(
        "more",
        "plus equals_sign",
        "+",
        "ceiling up by 1",
        group="Act",
        looks=False,
        foot="ceiling",
        family="ceiling by 1",
    ),
    key(
        "fewer",
        "minus",
        "-",
        "ceiling down by 1",
        group="Act",
        looks=False,
        family="ceiling by 1",
    ),
    key(
        "more_5",
        "right_square_bracket",
        "]",
        "ceiling up by 5",
        group="Act",
        looks=False,
        family="ceiling by 5",
    ),
    key(
        "fewer_5",
        "left_square_bracket",
        "[",
        "ceiling down by 5",
        group="Act",
        looks=False,
        family="ceiling by 5",
    ),
    key("auto", "A", "A", "ceiling back to auto", group="Act", looks=False),
    key(
        "mark",
        "space",
        "space",
        "mark the row",
        group="Act",
        family="mark a row, unmark all",
    ),
    key("unmark", "U", "U", "unmark all", group="Act", family="mark a row, unmark all"),
    key("mark_all", "a", "a", "mark all that are listed", group="Act"),
    key(
        "requeue",
        "r",
        "r",
        "requeue row or marked",
        group="Act",
        looks=False,
        on={MAIN, AGENT},
        foot="requeue",
    ),
    key(
        "requeue_all",
        "R",
        "R",
        "requeue all missing",
        group="Act",
        looks=False,
        on={MAIN, REPORT},
    ),
    key(
        "cancel", "x", "x", "cancel the row", group="Act", looks=False, on={MAIN, AGENT}
    ),
    key(
        "answer",
        "c",
        "c",
        "answer what is asked",
        group="Act",
        looks=False,
        on={MAIN, AGENT},
    ),
    key(
        "report",
        "e",
        "e",
        "completeness report",
        group="Out",
        on={MAIN, AGENT, LOG},
        foot="report",
    ),
    key(
        "write",
        "w",
        "w",
        "write the report's files",
        group="Out",
        looks=False,
        on={REPORT},
        foot="write files",
    ),
    key("pager", "o", "o", "transcript in $PAGER", group="Out", on={AGENT}),
    key(
        "mouse",
        "m",
        "m",
        "mouse: release or take",
        group="Out",
        on={MAIN, AGENT, LOG, REPORT},
    ),
    key(
        "log", "l", "l", "event log", group="Out", on={MAIN, AGENT, REPORT}, foot="log"
    ),
    key(
        "copy",
        "y",
        "y",
        "copy the row (OSC 52)",
        group="Out",
        on={MAIN, AGENT},
        family="copy the row, as JSON",
    ),
    key(
        "copy_json",
        "Y",
        "Y",
        "copy the row as JSON",
        group="Out",
        on={MAIN, AGENT},
        family="copy the row, as JSON",
    ),
    key(
        "palette",
        "colon ctrl+p",
        ": ^P",
        "every action by name",
        group="Out",
        on={MAIN, AGENT, LOG, REPORT},
    ),
    key(
        "help",
        "question_mark",
        "?",
        "this help",
        group="Out",
        on={MAIN, AGENT, LOG, REPORT},
        foot="help",
    ),
    key(
        "quit",
        "q",
        "q",
        "leave",
        group="Out",
        looks=False,
        on={MAIN},
        foot="quit",
        when=ALWAYS,
    ),
    key("back_q", "q", "q", "back", group="Out", on={AGENT, LOG, REPORT}),
    key(
        "interrupt",
        "ctrl+c",
        "^C",
        "drain; again: at once",
        group="Out",
        looks=False,
        on={MAIN, AGENT, LOG, REPORT},
    ),
    key(
        "pause",
        "p",
        "p",
        "stand still / go on",
        group="Act",
        on={MAIN, AGENT},
        foot="stand/go",
        when={REPLAY},
    ),
    key(
        "more",
        "plus equals_sign",
        "+",
        "faster",
        group="Act",
        foot="speed",
        family="faster, slower",
        when={REPLAY},
    ),
    key(
        "fewer",
        "minus",
        "-",
        "slower",
        group="Act",
        family="faster, slower",
        when={REPLAY},
    ),
    key(
        "more_5",
        "right_square_bracket",
        "]",
        "go on by some",
        group="Act",
        foot="seek",
        family="seek on, back",
        when={REPLAY},
    ),
    key(
        "fewer_5",
        "left_square_bracket",
        "[",
        "go back by some",
        group="Act",
        family="seek on, back",
        when={REPLAY},
    ),
    key("auto", "A", "A", "as fast as it was", group="Act", when={REPLAY}),
)

GROUPS = ("Look", "Find", "Act", "Out")


def keys_on(screen: str, how: str = LIVE) -> tuple[Key, ...]:
    """The keys that work on a screen, as the run is looked at."""
    return tuple(one for one in KEYS if screen in one.on and how in one.when)


def bound_on(screen: str) -> tuple[Key, ...]:
    """The keys of a screen however a run is looked at, each action once."""
    found = {one.name: one for one in reversed(KEYS) if screen in one.on}
    return tuple(reversed(found.values()))


def footer_keys(screen: str, how: str = LIVE) -> tuple[Key, ...]:
    """The keys a screen's footer shows, in the order of the table."""
    here = [one for one in keys_on(screen, how) if one.foot]
    if screen == MAIN:
        here = [one for one in here if one.name != "back"]
    return tuple(here)
