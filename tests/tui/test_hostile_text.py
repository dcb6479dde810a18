"""Hostile text on everything that shows a run: seen, never obeyed."""

import base64
import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.cells import cell_len

from core.disk.test_hostile_reports import folder_of
from fanout.words.clean import clean
from fanout_tui.app import FanoutApp
from fanout_tui.cells import width
from fanout_tui.crash import keep_traceback
from fanout_tui.scenes.rows import NOW
from fanout_tui.text import one_line, wrap
from fanout_tui.view.copying import row_json, row_text
from fanout_tui.view.glyphs import UNICODE
from fanout_tui.view.look import Look
from figures import record_figure
from hostile import MARK, huge, payloads, risky
from tui.hostile_run import (
    BATCH,
    SCENES_SHOWN,
    HostileHandle,
    batches,
    poisoned,
    screens_of,
)
from tui.terminal import ROOT, Terminal


def test_lines_are_clean_and_as_wide_as_they_say() -> None:
    for text in payloads():
        assert risky(one_line(text), kept="") == []
        for line in wrap(text, 40):
            assert risky(line, kept="") == []
            assert width(line) <= 40
    assert wrap("two words and more", 9) == ["two words", "and more"]


def test_ten_megabytes_hold_nothing_up() -> None:
    for text in huge():
        begun = time.process_time()
        assert len(one_line(text)) < 250_000
        assert time.process_time() - begun < 0.5


@pytest.mark.long
@pytest.mark.soak
def test_ten_megabytes_are_wrapped_in_seconds() -> None:
    for text in huge()[:3]:
        begun = time.process_time()
        assert wrap(text, 80)
        assert time.process_time() - begun < 20


def test_floods_of_accents_are_cut_and_words_are_not() -> None:
    assert clean("e" + "\u0301" * 500) == "e" + "\u0301" * 8 + "<+492 marks>"
    for word in ("ḗtudé", "हिन्दी में", "ภาษาไทยที่นี่", "བོད་ཡིག", "שָׁלוֹם", "العَرَبِيَّة"):
        assert clean(word) == word


def test_what_is_copied_does_nothing_where_it_is_pasted() -> None:
    for batch in batches(payloads()):
        made = poisoned(batch)
        look = Look(made, NOW, 80, 24, UNICODE)
        for row in made.rows.values():
            assert risky(row_text(look, row)) == []
            assert risky(row_json(row)) == []


def test_a_kept_crash_can_be_shown(tmp_path: Path) -> None:
    for text in payloads()[::10]:
        kept = keep_traceback(ValueError(text), str(tmp_path))
        assert kept is not None
    assert risky(kept.read_text(), kept="\n\t") == []


@pytest.mark.anyio
async def test_a_share_of_it_on_every_screen() -> None:
    """What stands in the cells; the whole of it goes to a real terminal."""
    texts = payloads()[::30]
    handle = HostileHandle(poisoned(texts[:BATCH]))
    app = FanoutApp(handle, clock=lambda: NOW, ticking=False)
    shown = 0
    async with app.run_test(size=(100, 30)) as pilot:
        for number, batch in enumerate(batches(texts)):
            scene = SCENES_SHOWN[number % 3]
            handle.take(batch, scene)
            for keys in screens_of(scene):
                for key in keys:
                    app.simulate_key(key)
                    await pilot.pause(0)
                app.tick()
                await pilot.pause(0)
                await app.workers.wait_for_complete()
                await pilot.pause(0)
                for strip in app.screen._compositor.render_strips():
                    line = "".join(segment.text for segment in strip)
                    assert risky(line, kept="") == []
                    assert cell_len(line) == 100
                    shown += f"[{MARK}" in line or f";{MARK}" in line
    assert shown > 20
    assert app.left == ""


# -- on a real terminal ------------------------------------------------------------

PROGRAM = """
import sys
sys.path.insert(0, {tests!r})
from tui.hostile_run import main
main({kind!r}, {folder!r})
"""

SEQUENCE = re.compile(
    rb"\x1b\[([<-?]*)([0-9;:]*)([ -/]*)([@-~])"
    rb"|\x1b\]([^\x07\x1b]*)(?:\x07|\x1b\\)"
    rb"|\x1b([P_^X])[^\x1b]*\x1b\\"
    rb"|\x1b([ -/]*[0-~])"
)


def sent(kind: str, folder: Path, seconds: float) -> Iterator[bytes]:
    """Screen, then lines, as the terminal got them."""
    code = PROGRAM.format(tests=str(ROOT / "tests"), kind=kind, folder=str(folder))
    terminal = Terminal(code, (160, 50))
    try:
        terminal.read_all(seconds)
        assert terminal.wait() == 0, terminal.output[-2000:]
    finally:
        terminal.close()
    screen, left, after = terminal.output.partition(b"LEFT plain")
    assert left, after[-2000:]
    assert b"THE END" in after
    yield from (screen, after)


def shapes(output: bytes) -> set[tuple[bytes, ...]]:
    """Kinds of sequences, without their figures."""
    found = set()
    for match in SEQUENCE.finditer(output):
        lead, _, between, final, osc, other, single = match.groups()
        if osc is not None:
            # A title and what is copied: strangers' words, none of their controls.
            assert risky(osc.decode(), kept="") == [], osc
            found.add((b"osc", osc.split(b";")[0]))
        else:
            assert MARK.encode() not in match[0], match[0]
            found.add((lead or b"", between or b"", final or other or single))
    return found


@pytest.mark.long
@pytest.mark.soak
def test_nothing_hostile_reaches_a_terminal(tmp_path: Path) -> None:
    """Every payload on every screen, in every line and every report, on a pty."""
    folder = folder_of(tmp_path, payloads())
    usual, _ = sent("harmless", folder.parent, 300)
    screen, after = sent("hostile", folder.parent, 400)
    assert shapes(screen) <= shapes(usual)
    assert shapes(after) == shapes(b"")
    for part in (screen, after):
        text = SEQUENCE.sub(b"", part).decode()
        assert risky(text, kept="\r\n") == []
    copies = re.findall(rb"\x1b\]52;c;([^\x07\x1b]*)", screen)
    assert len(copies) > 10
    for copy in copies:
        assert risky(base64.b64decode(copy).decode()) == []
    for picture in ("␛[6666", "␛]0;6666", "<U+009B>", "<U+202E>", "[@click=app.quit]"):
        assert picture in SEQUENCE.sub(b"", screen).decode()
        assert picture in after.decode()
    record_figure(
        "hostile texts on a terminal",
        "≥ 2,000 on every screen and in every line; 0 raw controls, 0 crashes",
        f"{len(payloads()):,} texts, {len(screen) + len(after):,} bytes, 0 obeyed",
    )
