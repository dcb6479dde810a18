"""`--dry-run`: `main` as far as it can go without spending, and what would follow.

The run takes place in a folder of its own that is gone afterwards; the runs that are
there are read and not touched. There is no connection to any account, so nothing can
be sent, not even by a defect.
"""

import json
import os
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from fanout.access import NOWHERE, Access, own_clients_at, planned
from fanout.decide.ending import (
    COMPLETE,
    DEFECT,
    SCRIPT_RAISED,
    SIGNALS,
    USAGE,
    script_said,
)
from fanout.errors import UsageError
from fanout.life import Life, Setting
from fanout.place import open_place
from fanout.script.loading import locate
from fanout.version import VERSION
from fanout.words.snapshot import Snapshot
from fanout.world.clock import SystemClock
from fanout_tui.command.handle import Handle
from fanout_tui.command.options import Options
from fanout_tui.command.say import problem, through, warn, write
from fanout_tui.command.signals import Signals
from fanout_tui.jsonlines import VERSION as FORM
from fanout_tui.stdio import Stdio
from fanout_tui.view.plan import plan_lines

POLL_SECONDS = 0.1


def run_dry(options: Options, environ: Mapping[str, str]) -> int:
    """Say what a run would do; returns the exit code. Raises `UsageError`."""
    clock = SystemClock()
    with ExitStack() as stack:
        signals = stack.enter_context(Signals())
        config = options.config
        loaded = locate(config.script, config.arguments)
        access = planned(config, environ)
        stack.enter_context(own_clients_at(NOWHERE, os.environ))
        aside = Path(stack.enter_context(TemporaryDirectory(prefix="fanout-dry-")))
        own = replace(config, run_dir=aside, out_dir=None, resume=None)
        place = open_place(own, access.endpoint, VERSION, clock)
        stack.callback(place.lock.release)
        # Earlier work is looked for where the run itself would look.
        place.runs = config.run_dir.absolute()
        life = Life(
            Setting(
                config=own,
                access=access,
                place=place,
                script=loaded,
                clock=clock,
                linger=False,
                export=lambda _snapshot, _paths: [],
                attended=False,
            )
        )
        handle = Handle(life.thread, place.folder, clock.awake)
        signals.attach(handle, plain=True, folder=place.folder)
        with Stdio(handle.send) as stdio, through(stdio.out, stdio.err):
            life.before_end, life.before_post = stdio.drain, stdio.settle
            life.start()
            while not handle.finished():
                handle.wait(POLL_SECONDS)
            life.thread.close()
        signals.over()
        return _said(life, handle.latest(), options, access)


def _said(
    life: Life, snapshot: Snapshot | None, options: Options, access: Access
) -> int:
    """Say what was found, and return the exit code."""
    engine, end = life.thread.engine, life.script_end
    if life.thread.error is not None or snapshot is None or engine is None:
        warn(f"fanout-tui itself failed: {life.thread.error!r}; nothing was sent")
        return DEFECT
    if end is not None and isinstance(end.error, UsageError):
        problem(end.text, end.error.hint)
        return USAGE
    plan = engine.desks.waves.plan
    foreseen = snapshot.foreseen
    told = None if foreseen is None else foreseen.last
    if options.json:
        found = {
            "v": FORM,
            "t": round(snapshot.at, 3),
            "event": "forecast",
            "dry_run": True,
            "endpoint": access.endpoint,
            "reused": 0 if told is None else told.reused,
            "kept": 0 if told is None else told.kept,
            "again": {} if told is None else dict(told.again),
            **plan.as_dict(),
        }
        write(json.dumps(found, ensure_ascii=True, separators=(",", ":")))
    else:
        name = snapshot.run.name
        write("\n".join(plan_lines(name, access.endpoint, told, plan)))
    if end is not None and end.outcome in {"raised", "exited", "incomplete"}:
        warn(end.traceback.rstrip() or script_said(end.outcome, end.text))
        return SCRIPT_RAISED
    stop = engine.core.state.stop
    return SIGNALS.get(stop.cause, COMPLETE) if stop is not None else COMPLETE
