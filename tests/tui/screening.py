"""A program that shows a fixed scene on a real terminal, and what terminals are told."""

from collections.abc import Callable

from tui.terminal import Terminal

Start = Callable[..., Terminal]

ALT_ON, ALT_OFF = b"\x1b[?1049h", b"\x1b[?1049l"
CURSOR_ON = b"\x1b[?25h"
TITLE_BACK = b"\x1b[23;2t"

SCREEN = """
import os, signal, sys, threading, time
from fanout_tui.launch import run_screen, restore_terminal
from fanout_tui.app import FanoutApp
from fanout_tui.scenes.handle import SceneHandle
from fanout_tui.scenes.rows import NOW
from fanout_tui.scenes.states import SCENES
from dataclasses import replace

made = SCENES["running"]()
folder = os.environ.get("FOLDER", "/nonexistent")
made = replace(made, run=replace(made.run, folder=folder))
handle = SceneHandle(made)

class Printing(FanoutApp):
    def on_mount(self):
        threading.Thread(target=work).start()

class Failing(Printing):
    def tick(self):
        raise KeyError("broken on purpose")

def stop(number, frame):
    os.write(2, b"handler\\n")
    handle.snapshot = replace(
        SCENES["finished"](), end=replace(SCENES["finished"]().end, exit_code=143)
    )
    handle.over = True

def work():
    print("printed by the script")
    os.write(1, b"raw by the script\\n")

signal.signal(signal.SIGTERM, stop)
make = Failing if os.environ.get("FAIL") else Printing
started = time.monotonic()
left = run_screen(handle, clock=lambda: NOW, make=make)
print("LEFT", left, [c.text for c in handle.sent if hasattr(c, "text")])
print("SENT", [c for c in handle.sent if not hasattr(c, "text")])
print("END")
"""
