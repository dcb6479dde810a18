"""The screen on a real pty: who may write, and how the terminal is given back."""

import re
import signal
from pathlib import Path

from fanout_tui.stdio import CLEAR
from tui.screening import ALT_OFF, ALT_ON, CURSOR_ON, SCREEN, Start

STDIO = """
import os, subprocess, sys, termios
from fanout_tui.stdio import Stdio

before = termios.tcgetattr(0)
notes = []
with Stdio(notes.append) as stdio:
    print("from print")
    sys.stdout.flush()
    os.write(1, b"from the descriptor\\n")
    os.write(2, b"from stderr, no line end")
    subprocess.run([sys.executable, "-c", "print('from a child')"], check=True)
    stdin = sys.stdin.read()
    os.write(stdio.terminal.sink, b"ON THE TERMINAL\\n")
    size = stdio.terminal.size()
print("NOTES", [note.text for note in notes], repr(stdin), size)
print("SAME", termios.tcgetattr(0) == before, os.isatty(0), os.isatty(1))
"""


def test_whatever_is_written_becomes_a_log_line(start: Start) -> None:
    """`print`, the descriptors and a child's output; and stdin is empty."""
    terminal = start(STDIO)
    output = terminal.read_until(b"SAME True True True").decode()
    assert output.startswith("ON THE TERMINAL")
    notes = output[output.index("NOTES") :]
    for text in (
        "from print",
        "from the descriptor",
        "from stderr, no line end",
        "from a child",
    ):
        assert text in notes
    assert "'' (80, 24)" in notes
    assert terminal.wait() == 0


def test_quit_by_keys_gives_the_terminal_back(start: Start) -> None:
    """Nothing the script wrote was seen on the screen; it was logged."""
    terminal = start(SCREEN)
    terminal.read_until(b"RUNNING")
    terminal.read_until(b"bottleneck")
    terminal.type(b"q")
    terminal.read_until(b"leave the run?")
    terminal.type(b"b")
    output = terminal.read_until(b"END\r\n")
    screen, after = output.split(ALT_OFF, 1)
    assert CURSOR_ON in after
    assert b"LEFT plain" in after
    assert b"printed by the script" in after
    assert b"printed by the script" not in screen
    assert b"raw by the script" not in screen
    assert output.count(ALT_ON) == output.count(ALT_OFF) == 1
    assert b"\x1b[2J" not in screen
    # Of a screen that has grown meanwhile some terminals would keep lines.
    assert CLEAR.encode() in screen[-200:]
    assert terminal.wait() == 0


def test_a_signal_closes_the_screen(start: Start) -> None:
    """The handle says finished; the screen goes and the terminal is as before."""

    terminal = start(SCREEN)
    terminal.read_until(b"bottleneck")
    terminal.signal(signal.SIGTERM)
    output = terminal.read_until(b"END\r\n")
    assert b"LEFT signal" in output
    assert output.count(ALT_ON) == output.count(ALT_OFF) == 1
    assert terminal.wait() == 0


def test_a_crash_of_the_screen_leaves_the_run_alone(start: Start, tmp_path) -> None:
    """The terminal is restored, the traceback is in a file, without locals."""
    terminal = start(SCREEN, FAIL="1", FOLDER=str(tmp_path))
    output = terminal.read_until(b"END\r\n")
    assert b"LEFT crashed" in output
    assert b"Traceback" not in output
    assert output.count(ALT_ON) == output.count(ALT_OFF)
    kept = tmp_path / "screen-crash.txt"
    assert "broken on purpose" in kept.read_text()
    assert kept.stat().st_mode & 0o777 == 0o600
    assert terminal.wait() == 0


def test_interrupt_is_a_key(start: Start) -> None:
    """Ctrl-C drains, and a second one stops at once; no signal is raised."""
    terminal = start(SCREEN)
    terminal.read_until(b"bottleneck")
    terminal.type(b"\x03")
    terminal.read_until(b"draining")
    terminal.type(b"\x03")
    terminal.read_until(b"stopping")

    terminal.signal(signal.SIGTERM)
    output = terminal.read_until(b"END\r\n")
    assert b"mode='drain', cause='SIGINT'" in output
    assert b"mode='now', cause='SIGINT'" in output


HOSTILE = """
from fanout.words.model import RowId
from fanout_tui.bridge import TranscriptLine

EVIL = "\\x1b]0;EVIL\\x07\\x1b[2J\\x9b31m\\u202egnp[/red][@click=app.quit]x[/]"

class Hostile(SceneHandle):
    def __init__(self, snapshot):
        rows = {}
        for row in snapshot.rows.values():
            id_ = RowId(EVIL[:9], EVIL + row.id.key)
            end = row.end and replace(row.end, reason=EVIL, output=EVIL)
            wait = row.wait and replace(row.wait, detail=EVIL)
            rows[id_] = replace(row, id=id_, end=end, wait=wait)
        log = tuple(replace(line, text=EVIL, row=id_) for line in snapshot.log)
        gates = {k: replace(g, detail=EVIL) for k, g in snapshot.gates.items()}
        run = replace(snapshot.run, name=EVIL, endpoint=EVIL, folder=EVIL)
        super().__init__(
            replace(snapshot, rows=rows, log=log, gates=gates, run=run, live={})
        )

    def transcript(self, row):
        return [TranscriptLine(NOW, kind, EVIL) for kind in ("prompt", "text", "tool")]

handle = Hostile(made)
"""


def test_hostile_text_is_seen_and_not_obeyed(start: Start) -> None:
    """In names, reasons, log, transcript, dialogs: nothing reaches the terminal."""
    code = SCREEN.replace("handle = SceneHandle(made)\n", HOSTILE)
    terminal = start(code)
    terminal.read_until(b"bottleneck")
    for keys, wanted in (
        (b"\r", b"transcript"),
        (b"\x1b", b""),
        (b"l", b"newest line"),
        (b"e", b"Completeness"),
        (b"\x1b", b""),
        (b"x", b"cancel this row"),
        (b"n", b""),
        (b"R", b"requeue 2 missing"),
        (b"n", b""),
        (b"q", b"leave the run"),
    ):
        terminal.type(keys)
        terminal.read_until(wanted)
        terminal.settle()
    terminal.type(b"b")
    output = terminal.read_until(b"END\r\n")
    assert "␛]0;EVIL".encode() in output
    assert b"LEFT plain" in output
    for sequence in (b"\x1b]0;EVIL", b"\x1b[2J", b"\xc2\x9b31m", "\u202e".encode()):
        assert sequence not in output


def test_no_color_means_none(start: Start) -> None:
    """Under `NO_COLOR` only bold, dim and reverse are left."""
    code = SCREEN.replace("make=make)", "make=make, no_color=True)")
    terminal = start(code)
    terminal.read_until(b"bottleneck")
    terminal.type(b"\r")
    terminal.read_until(b"transcript")
    terminal.type(b"\x1b")
    terminal.settle()
    terminal.type(b"q")
    terminal.read_until(b"leave the run")
    terminal.type(b"b")
    output = terminal.read_until(b"END\r\n")
    codes = re.findall(rb"\x1b\[([\d;]*)m", output)
    assert len(codes) > 500
    assert {code for each in codes for code in each.split(b";")} <= {
        b"", b"0", b"1", b"2", b"7", b"39", b"49"
    }  # fmt: skip


def test_the_pager_gets_the_terminal_and_gives_it_back(start: Start) -> None:
    """The transcript in `$PAGER`; afterwards the screen is there again."""
    terminal = start(SCREEN, PAGER="cat")
    terminal.read_until(b"bottleneck")
    terminal.type(b"\r")
    terminal.read_until(b"rate them lower")
    terminal.output = b""
    terminal.type(b"o")
    terminal.read_until(b"--- tool")
    terminal.read_until(b"back from the pager")
    assert terminal.output.count(ALT_OFF) == terminal.output.count(ALT_ON) == 1
    terminal.type(b"\x1b")
    terminal.settle()
    terminal.type(b"m")
    terminal.read_until(b"select freely")
    terminal.type(b"q")
    terminal.read_until(b"leave the run?")
    terminal.type(b"b")
    output = terminal.read_until(b"END\r\n")
    assert output.count(ALT_ON) + 1 == output.count(ALT_OFF)
    assert terminal.wait() == 0


def test_a_terminal_that_goes_away_ends_only_the_screen(
    start: Start, tmp_path: Path
) -> None:
    """The window is closed: the screen ends, what comes after it still happens."""
    told = tmp_path / "told"
    code = SCREEN + f"\nopen({str(told)!r}, 'w').write(left)\n"
    code = code.replace("print(", "(lambda *_: 0)(")
    terminal = start(
        "import signal; signal.signal(signal.SIGHUP, lambda *_: 0)\n" + code
    )
    terminal.read_until(b"bottleneck")
    terminal.hang_up()
    assert terminal.exit_code() == 0
    assert told.read_text() in {"crashed", "signal"}


def test_being_continued_starts_no_second_reader(start: Start) -> None:
    """After `SIGCONT` the screen is drawn again, and one key is one key."""
    terminal = start(SCREEN)
    terminal.read_until(b"bottleneck")
    terminal.settle()
    terminal.output = b""
    terminal.signal(signal.SIGCONT)
    terminal.read_until(b"bottleneck")
    terminal.settle()
    terminal.type(b"+")
    terminal.read_until(b"ceiling 24")
    terminal.type(b"q")
    terminal.read_until(b"leave the run?")
    terminal.type(b"b")
    output = terminal.read_until(b"END\r\n")
    assert output.count(b"ChangeCeiling") == 1
    assert terminal.wait() == 0


def test_being_continued_after_the_screen_is_closed_does_nothing(start: Start) -> None:
    """`timeout` sends `SIGCONT` behind every signal that it passes on."""
    code = SCREEN.replace(RUN, RUN_AND_GO_ON)
    terminal = start(code)
    terminal.read_until(b"bottleneck")
    terminal.type(b"q")
    terminal.read_until(b"leave the run?")
    terminal.type(b"b")
    output = terminal.read_until(b"END\r\n")
    assert output.count(ALT_ON) == output.count(ALT_OFF) == 1
    assert b"Traceback" not in output
    assert terminal.wait() == 0


RUN = "left = run_screen(handle, clock=lambda: NOW, make=make)"
RUN_AND_GO_ON = """
from fanout_tui.stdio import Stdio
with Stdio(handle.send) as stdio:
    left = run_screen(handle, clock=lambda: NOW, make=make, stdio=stdio)
    for _ in range(2):
        os.kill(os.getpid(), signal.SIGCONT)
"""


ANSWERED = b"\x1b[?62;22c\x1b]11;rgb:1e1e/1e1e/1e1e\x07\x1b[0n\x1bP>|some 1.0\x1b\\"


def test_answers_of_the_terminal_and_bytes_of_no_alphabet_do_nothing(
    start: Start,
) -> None:
    """They were asked for by what ran before; and the next key still works."""
    terminal = start(SCREEN)
    terminal.read_until(b"bottleneck")
    terminal.settle()
    terminal.output = b""
    terminal.type(ANSWERED + b"\xff\xe9")
    terminal.settle()
    terminal.type(b"q")
    terminal.read_until(b"leave the run?")
    terminal.type(b"b")
    output = terminal.read_until(b"END\r\n")
    assert b"LEFT plain" in output
    assert b"SENT []" in output
    assert terminal.wait() == 0
