"""What a terminal sends, sorted: keys and the mouse go on, its answers do not.

A terminal also tells of itself: its name, its colours, where its cursor is. Such an
answer may have been asked for by whatever ran before; taken for keys, `ESC [ ? 62 c`
would lower the ceiling and ask for help. So what is no key is dropped in whole, also
where it arrives in pieces, and whatever bytes come nothing here fails.
"""

import re
from codecs import getincrementaldecoder
from collections.abc import Iterator

from textual import events
from textual._ansi_sequences import ANSI_SEQUENCES_KEYS
from textual._xterm_parser import XTermParser
from textual.message import Message

PASTE_MAX = 4_000
"""Bytes of a pasted text that are kept; only filters take any, and one line."""
ANSWER_MAX = 4_000
PATIENCE = 10
"""Moments without news after which the rest of an answer is not waited for."""
SHORT = 2
"""Bytes that may as well be a key with Alt, if nothing follows them."""

ESC, BEL, _SPACE, _DOLLAR = 0x1B, 0x07, 0x20, 0x24
_FIGURES, _FINAL = range(0x20, 0x40), range(0x40, 0x7F)
_STRINGS = b"]PX^_"
"""What begins an answer of any length after `ESC`: it ends with `ESC \\` or a bell."""
_PASTE, _PASTED = b"\x1b[200~", b"\x1b[201~"
_LATER = {b"\x1b[M": 3}
"""Bytes that come behind a sequence and belong to it: the oldest kind of mouse."""

_KEY = re.compile(
    rb"\x1b\[(?:"
    rb"\d{0,6}(?:;\d{0,3}(?:;\d{0,6}(?::\d{1,6}){0,8})?)?[u~ABCDEFHPQRS]"
    rb"|<\d{1,6};-?\d{1,6};-?\d{1,6}[Mm]"
    rb"|48;\d{1,5};\d{1,5};\d{1,5};\d{1,5}t"
    rb"|\?(?:2026|2048);\d\$y"
    rb"|[IO])"
)
"""Keys in all their writings, the mouse, sizes, modes that were asked for, focus."""
_CONTROL = re.compile(rb"[\x00-\x1f]")
_PLACE = re.compile(rb"\x1b\[\d+;\d+R")
"""Where the cursor is, or F3 with a modifier: no key here."""


def is_key(sequence: bytes) -> bool:
    """Whether this whole sequence means something to the screen."""
    if _PLACE.fullmatch(sequence):
        return False
    known = sequence.decode("ascii", "replace") in ANSI_SEQUENCES_KEYS
    return known or _KEY.fullmatch(sequence) is not None


class Typed:
    """Bytes in, what is left of them out; keeps what is not whole yet."""

    def __init__(self) -> None:
        self._held = bytearray()
        self._rest = 0
        self._pasting = False
        self._answering = False
        """Within an answer of any length."""
        self._waited = 0

    def feed(self, data: bytes) -> bytes:
        """The keys and pastes in what has been read."""
        self._waited = 0
        self._held += data
        kept = bytearray()
        while (part := self._next()) is not None:
            kept += part
        return bytes(kept)

    def quiet(self) -> bytes:
        """Nothing has come for a moment: what may be a key by itself is one."""
        self._waited += 1
        held = bytes(self._held)
        if self._waited < PATIENCE and (
            self._pasting or self._answering or not 0 < len(held) <= SHORT
        ):
            return b""
        pasted = self._pasting
        self._pasting = self._answering = False
        self._rest = 0
        self._held.clear()
        if pasted:
            return _plain(held) + _PASTED
        return held if len(held) <= SHORT else b""

    def _next(self) -> bytes | None:
        """Take one key, run of plain bytes, or answer; None: more has to come."""
        if not self._held:
            return None
        if self._pasting:
            return self._paste()
        if self._answering:
            return self._answer()
        if self._rest:
            taken = min(self._rest, len(self._held))
            self._rest -= taken
            return self._take(taken, keep=False)
        if self._held[0] != ESC:
            end = self._held.find(ESC)
            return self._take(len(self._held) if end < 0 else end)
        return self._sequence()

    def _take(self, count: int, *, keep: bool = True) -> bytes:
        taken = bytes(self._held[:count])
        del self._held[:count]
        return taken if keep else b""

    def _sequence(self) -> bytes | None:
        held = self._held
        if len(held) == 1:
            return None
        if held[1] == ESC:
            return self._take(1)
        if len(held) == SHORT and held[1] in b"[O" + _STRINGS:
            return None
        if held[1] in _STRINGS and held[SHORT] >= _SPACE:
            self._answering = True
            return self._take(SHORT, keep=False)
        if held[1:2] == b"[":
            return self._control()
        return self._take(3 if held[1:2] == b"O" and held[SHORT] != ESC else SHORT)

    def _control(self) -> bytes | None:
        """`ESC [`, figures, and a letter that ends it; some keys end otherwise."""
        if self._held[SHORT : SHORT + 1] == b"[":
            return None if len(self._held) == SHORT + 1 else self._take(SHORT + 2)
        for at, byte in enumerate(bytes(self._held[SHORT:]), SHORT):
            if byte == _DOLLAR and is_key(bytes(self._held[: at + 1])):
                return self._take(at + 1)
            if byte in _FINAL:
                sequence = self._take(at + 1)
                self._rest = _LATER.get(sequence, 0)
                self._pasting = sequence == _PASTE
                return sequence if self._pasting or is_key(sequence) else b""
            if byte not in _FIGURES:
                # Broken off: what breaks it off is typed, or begins another one.
                return self._take(at, keep=at == SHORT)
        if len(self._held) > ANSWER_MAX:
            return self._take(len(self._held), keep=False)
        return None

    def _answer(self) -> bytes | None:
        """Drop what belongs to an answer; what breaks it off is typed."""
        found = _CONTROL.search(self._held)
        if found is None:
            return self._take(len(self._held), keep=False)
        at = found.start()
        if self._held[at] == ESC and at + 1 == len(self._held):
            return None
        self._answering = False
        ends = {BEL: 1, ESC: 2 if self._held[at + 1 : at + 2] == b"\\" else 0}
        return self._take(at + ends.get(self._held[at], 0), keep=False)

    def _paste(self) -> bytes | None:
        end = self._held.find(_PASTED)
        if end < 0:
            # Its end may have come in part; of what is too long the start is enough.
            del self._held[PASTE_MAX : -len(_PASTED)]
            return None
        self._pasting = False
        text = _plain(self._take(end))
        return text + self._take(len(_PASTED))


def _plain(pasted: bytes) -> bytes:
    """The start of a pasted text; nothing in it is a sequence of its own."""
    return pasted[:PASTE_MAX].replace(b"\x1b", b"")


class Keyboard:
    """What a terminal sends, as the events Textual makes of it."""

    def __init__(self) -> None:
        self._typed, self._parser = Typed(), XTermParser()
        # Strictly decoded, one byte of a wrongly set terminal would be the end.
        self._decode = getincrementaldecoder("utf-8")("replace").decode

    def events(self, data: bytes) -> Iterator[Message]:
        """The events of what was read; `data` is empty if nothing came for a moment."""
        yield from self._parser.tick()
        left = self._typed.feed(data) if data else self._typed.quiet()
        if left == bytes([ESC]) and not data:
            yield events.Key("escape", "\x1b")
        elif text := self._decode(left):
            # An empty text would be the end of all to it.
            yield from self._parser.feed(text)
