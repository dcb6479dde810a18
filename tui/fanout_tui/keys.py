"""What a key is; `keytable` has them all."""

from dataclasses import dataclass

MAIN, AGENT, LOG, REPORT = "main", "agent", "log", "report"
LISTS = frozenset({MAIN, LOG, REPORT, AGENT})
LIVE, WATCH, REPLAY = "live", "watch", "replay"
ALWAYS = frozenset({LIVE, WATCH, REPLAY})
"""How a run is looked at: it lives here, elsewhere, or is over and played again."""


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
    when: frozenset[str] = ALWAYS
    """How the run must be looked at for the key to do this."""


def key(
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
    when: frozenset[str] | set[str] | None = None,
) -> Key:
    """Return a key; `keys` are several names of Textual's with spaces between."""
    if when is None:
        when = ALWAYS if looks else {LIVE}
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
        frozenset(when),
    )
