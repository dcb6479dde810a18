"""What terminals send that is no key: it does nothing, and no key is lost by it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual import constants, events
from textual._xterm_parser import XTermParser

from fanout_tui.typed import PASTE_MAX, PATIENCE, Keyboard, Typed, is_key

ANSWERS = (
    b"\x1b[?62;22c",
    b"\x1b[>41;354;0c",
    b"\x1b]11;rgb:1e1e/1e1e/1e1e\x1b\\",
    b"\x1b]11;rgb:1e1e/1e1e/1e1e\x07",
    b"\x1b]52;c;" + b"cHhyUQ==" * 5_000 + b"\x07",
    b"\x1bP>|tmux 3.3a\x1b\\",
    b"\x1bP1+r" + b"70" * 60 + b"\x1b\\",
    b"\x1b_Gi=1;OK\x1b\\",
    b"\x1b[12;40R",
    b"\x1b[0n",
    b"\x1b[?997;1n",
    b"\x1b[8;24;80t",
    b"\x1b[?25u",
    b"\x1b[20;2$y",
    b"\x1b[?2031;1$y",
    b"\x1b[M\x20\xc1\xd2",
    b"\x1b[97:65;1:3u",
    b"\x1b[99999999u",
)
KEYS = (
    b"j", b"\x03", b"\r", b"\xc3\xa9", b"\x1b[A", b"\x1bOA", b"\x1b[1;5A", b"\x1b[[A",
    b"\x1b[6~", b"\x1b[97;;97u", b"\x1b[27u", b"\x1b[7$", b"\x1b[<0;3;4M",
    b"\x1bx", b"\x1b[I", b"\x1b[O", b"\x1b[48;24;80;480;800t", b"\x1b[?2026;2$y",
)  # fmt: skip


def through(*pieces: bytes) -> bytes:
    """What is left of what was read piece by piece."""
    typed = Typed()
    return b"".join(map(typed.feed, pieces))


@pytest.mark.parametrize("answer", ANSWERS)
def test_what_a_terminal_says_of_itself_is_no_key(answer: bytes) -> None:
    assert through(b"a" + answer + b"b") == b"ab"
    cut = len(answer) // 2
    assert through(answer[:1], answer[1:cut], answer[cut:], b"b") == b"b"


@pytest.mark.parametrize("key", KEYS)
def test_a_key_goes_on_as_it_came(key: bytes) -> None:
    assert through(key) == key
    assert through(b"".join(KEYS) + key) == b"".join(KEYS) + key
    assert through(*(key[at : at + 1] for at in range(len(key)))) == key


@pytest.mark.parametrize("start", [b"\x1b", b"\x1b[", b"\x1b]", b"\x1bO", b"\x1bP"])
def test_a_key_that_could_begin_an_answer_is_one_when_nothing_follows(start) -> None:
    typed = Typed()
    assert typed.feed(start) == b""
    assert typed.quiet() == start
    assert typed.feed(b"q") == b"q"


@pytest.mark.parametrize(
    "start", [b"\x1b[?62", b"\x1b]11;rgb", b"\x1bP1+r70", b"\x1b[M"]
)
def test_an_answer_that_never_ends_keeps_no_key_for_ever(start: bytes) -> None:
    typed = Typed()
    assert typed.feed(start) == b""
    assert [typed.quiet() for _ in range(PATIENCE)] == [b""] * PATIENCE
    assert typed.feed(b"q") == b"q"
    # And what stops the run is heard at once.
    assert through(start, b"\x03")[-1:] == b"\x03" or start == b"\x1b[M"


def test_of_megabytes_pasted_the_start_is_kept_and_nothing_acts() -> None:
    paste = b"\x1b[200~" + b"x\x1b[31m" * 500_000 + b"\x1b[201~"
    pieces = [paste[at : at + 4096] for at in range(0, len(paste), 4096)]
    left = through(*pieces, b"j")
    assert left.startswith(b"\x1b[200~x[31m")
    assert left.endswith(b"\x1b[201~j")
    assert left.count(b"\x1b") == 2
    assert len(left) < PASTE_MAX + 20


def test_a_paste_that_never_ends_is_one_after_a_while() -> None:
    typed = Typed()
    assert typed.feed(b"\x1b[200~abc") == b"\x1b[200~"
    left = [typed.quiet() for _ in range(PATIENCE)]
    assert left[-1] == b"abc\x1b[201~"
    assert typed.feed(b"q") == b"q"


@given(
    st.lists(
        st.binary(max_size=12)
        | st.sampled_from(ANSWERS)
        | st.sampled_from(KEYS)
        | st.sampled_from([b"\x1b[200~", b"\x1b[201~", b"\x1b[", b"\x1b]0;"])
    )
)
def test_whatever_comes_nothing_fails_and_keys_come_through(
    pieces: list[bytes],
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(constants, "ESCAPE_DELAY", 0.0)
        keyboard = Keyboard()
        taken = [
            message
            for piece in (*pieces, *[b""] * (PATIENCE + 1), b"q", b"")
            for message in keyboard.events(piece)
        ]
    last = taken[-1]
    assert isinstance(last, events.Key)
    assert last.key == "q"


@given(st.binary(max_size=20))
def test_what_is_a_key_is_taken_without_fail(inside: bytes) -> None:
    sequence = b"\x1b[" + inside
    if is_key(sequence):
        assert list(XTermParser().feed(sequence.decode("ascii"))) is not None
