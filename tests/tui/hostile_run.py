"""Everything that shows a run, shown once for each batch of hostile texts.

A program for a pty, and the snapshots that tests in this process use as well.
"""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from textual.pilot import Pilot

from fanout.words.model import RowId, Status
from fanout.words.snapshot import Live, Snapshot
from fanout_tui.app import FanoutApp
from fanout_tui.bridge import TranscriptLine
from fanout_tui.command.entry import entry
from fanout_tui.command.say import problem, warn, write
from fanout_tui.jsonlines import JsonLines
from fanout_tui.launch import run_screen
from fanout_tui.plain import PlainOutput
from fanout_tui.scenes.handle import SceneHandle
from fanout_tui.scenes.rows import NOW
from fanout_tui.scenes.states import SCENES
from fanout_tui.summary import summary
from hostile import Poison, payloads

BATCH = 40
HARMLESS = tuple(f"harmless text {n}" for n in range(6 * 40))
KINDS = ("prompt", "text", "tool", "result", "note")
SCREENS: tuple[tuple[str, ...], ...] = (
    (),
    ("m",),
    ("enter",),
    ("2",),
    ("3",),
    ("4",),
    ("y",),
    ("escape",),
    ("l",),
    ("e",),
    ("escape",),
    ("x",),
    ("n",),
    ("R",),
    ("n",),
    ("slash", "a", "escape"),
    ("question_mark", "escape"),
    ("q", "escape"),
)
"""Keys, and after each the frame that they lead to."""
BRIEFLY = ((), ("enter",), ("l",), ("e",), ("escape",), ("x",), ("n",))
SCENES_SHOWN = ("running", "finished", "paused")


def screens_of(scene: str) -> tuple[tuple[str, ...], ...]:
    """All of them, except for what would leave a run that is over."""
    return SCREENS[:-1] if scene == "finished" else SCREENS


def poisoned(texts: Sequence[str], scene: str = "running") -> Snapshot:
    """A scene in which every text is one of these."""
    made, poison = SCENES[scene](), Poison(list(texts))
    kept = list(made.rows.values())
    # Each batch has rows of every status, each text a key's once.
    chosen = (kept[:20] + kept[34:54] + kept[-20:])[: max(len(texts), 12)]
    rows = {}
    for text, row in zip([*texts] * 12, chosen, strict=False):
        new = poison(row)
        id_ = RowId(poison.text(), f"{text}{len(rows)}")
        rows[id_] = replace(new, id=id_)
    running = [row for row in rows.values() if row.status is Status.RUNNING]
    gates = {name: poison(gate) for name, gate in made.gates.items()}
    changed: dict[str, Any] = {
        "run": poison(made.run),
        "rows": rows,
        "phases": tuple(dict.fromkeys(row.phase for row in rows)),
        "pools": poison(made.pools),
        "gates": {gate.pool: gate for gate in gates.values()},
        "log": tuple(
            replace(made.log[0], number=n, text=text, row=next(iter(rows)))
            for n, text in enumerate(texts)
        ),
        "live": {row.id: poison(live_of(made)) for row in running},
        "end": poison(made.end),
    }
    return replace(made, **changed)


def live_of(made: Snapshot) -> Live:
    return next(iter(made.live.values()), Live(cause=None, note="x"))  # type: ignore[arg-type]


class HostileHandle(SceneHandle):
    """A run that changes into another with every batch."""

    texts: Sequence[str] = ()

    def take(self, texts: Sequence[str], scene: str) -> None:
        self.texts = texts
        self.snapshot = poisoned(texts, scene)

    def transcript(self, row: RowId) -> list[TranscriptLine]:
        texts = list(self.texts)
        return [
            TranscriptLine(NOW, KINDS[n % len(KINDS)], text)
            for n, text in enumerate(texts)
        ]


def batches(texts: Sequence[str], size: int = BATCH) -> Iterator[Sequence[str]]:
    for at in range(0, len(texts), size):
        yield texts[at : at + size]


class Driven(FanoutApp):
    """Is shown every batch on every screen, then leaves."""

    texts: Sequence[str] = ()

    def run(self, **options: Any) -> None:
        super().run(auto_pilot=self.drive, **options)

    async def drive(self, pilot: Pilot[None]) -> None:
        handle = self.handle
        assert isinstance(handle, HostileHandle)
        for number, batch in enumerate(batches(self.texts)):
            scene = SCENES_SHOWN[number % 3]
            handle.take(batch, scene)
            # What is left out shows the same texts by the same means.
            shown = screens_of(scene) if number % 8 < 2 else BRIEFLY
            for keys in shown:
                for key in keys:
                    self.simulate_key(key)
                    await pilot.pause(0)
                self.tick()
                await pilot.pause(0)
                await self.workers.wait_for_complete()
                await pilot.pause(0)
        self.leave("plain")


def lines(texts: Sequence[str]) -> None:
    """The same without a screen: plain lines, JSON, summary, warnings."""
    for batch in batches(texts):
        for make in (PlainOutput, JsonLines):
            output = make(write, lambda: NOW)
            output.update(SCENES["running"]())
            output.update(poisoned(batch))
            output.close(poisoned(batch, "finished"))
        write(summary(poisoned(batch, "finished"), batch))
        for text in batch:
            warn(text)
            problem(text, text)
            word = text.replace("\0", "")  # no argument of a process can have one
            entry([word])
            entry(["--allow-missing", word, "no.py"])
            entry(["report", word, "--run-dir", "/nonexistent"])


def main(kind: str, folder: str) -> None:
    """Show it all on this terminal; `kind` is `hostile` or `harmless`."""
    texts = payloads() if kind == "hostile" else HARMLESS
    Driven.texts = texts
    handle = HostileHandle(poisoned(texts[:BATCH]))
    left = run_screen(handle, clock=lambda: NOW, make=partial(Driven, ticking=False))
    print(f"LEFT {left} {len(handle.sent)}")
    sys.stdout.flush()
    if kind == "hostile":
        lines(texts)
        entry(["runs", "--run-dir", str(Path(folder))])
        for form in ("md", "csv", "html", "json"):
            entry(["report", "last", "--run-dir", str(Path(folder)), "--format", form])
    print("THE END")
