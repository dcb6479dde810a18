"""Answers of megabytes: their end is shown, and the rest costs nothing."""

import pytest

from fanout_tui.bridge import TranscriptLine
from fanout_tui.scenes.rows import NOW
from fanout_tui.scenes.states import SCENES
from fanout_tui.view import agent
from fanout_tui.view.agent import LINES_MAX, transcript_lines
from fanout_tui.view.glyphs import UNICODE
from fanout_tui.view.look import Look

CELLS = 100


@pytest.mark.parametrize(
    "text",
    ["x" * 5_000_000, "word " * 500_000, "漢字" * 1_000_000, "a line\n" * 400_000],
    ids=["one word", "one line", "wide", "many lines"],
)
@pytest.mark.parametrize("tab", [0, 2])
def test_only_the_end_of_a_long_answer_is_wrapped(
    monkeypatch: pytest.MonkeyPatch, text: str, tab: int
) -> None:
    given: list[int] = []

    def counted(part: str, cells: int) -> list[str]:
        given.append(len(part))
        return whole(part, cells)

    whole = agent.wrap
    monkeypatch.setattr(agent, "wrap", counted)
    look = Look(SCENES["running"](), NOW, CELLS, 30, UNICODE, None, "live", "")
    entries = [TranscriptLine(NOW, "text", text + "\nthe very end")]
    lines = transcript_lines(look, entries, tab, NOW)
    assert len(lines) == LINES_MAX
    assert lines[-1][-1].text == "the very end"
    assert sum(given) <= LINES_MAX * CELLS
    said = "".join(span.text for line in lines for span in line).replace(" ", "")
    assert set(said) <= set(text + "the very end")
