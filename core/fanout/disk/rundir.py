"""The runs folder and what is in it.

    .fanout/                      mode 0700, with a .gitignore of `*`
      audit-20261130-2315-7f3a/
        manifest.json             what the run is; written once, atomically
        run.lock  journal/  blobs/  out/  results.jsonl  result.json

A run's id begins with its script's name and the minute (UTC) it was made, so
that a listing sorts and a prefix is enough to name it.
"""

import errno
import json
import os
import re
import secrets
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from fanout.disk.files import DISK, Files, is_folder, write_all, write_atomic
from fanout.disk.jsonline import to_json
from fanout.errors import UsageError

MANIFEST = "manifest.json"
FORMAT = 1
"""Version of what a run folder looks like."""
SPACE_MIN = 64 * 1024 * 1024
"""Bytes that must be free before a run begins."""
NAME_MAX = 24

_TRIES = 20
_PROBE_BYTES = 4_096


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """What a run is: everything that its lives have in common."""

    run: str
    script: str
    """Absolute path."""
    arguments: tuple[str, ...]
    endpoint: str
    simulated: bool
    version: str
    created: float
    format: int = FORMAT


def open_runs_folder(path: Path, *, space_min: int = SPACE_MIN) -> Path:
    """Make the runs folder if need be, and see that it can be written.

    Raises `UsageError` naming what is wrong: no access, read-only, full.
    """
    try:
        if not path.is_dir():
            path.mkdir(parents=True, mode=0o700)
        ignore = path / ".gitignore"
        if not ignore.exists():
            ignore.write_text("*\n", encoding="ascii")
        probe(path, space_min=space_min)
    except OSError as exc:
        raise UsageError(
            f"runs cannot be kept in {path}: {_said(exc)}",
            hint="name another folder with --run-dir, or make room",
        ) from exc
    return path.absolute()


def probe(folder: Path, *, space_min: int = SPACE_MIN, files: Files = DISK) -> None:
    """Write, sync, rename and remove a file; raises the OSError that prevents it."""
    stat = os.statvfs(folder)
    free = stat.f_bavail * stat.f_frsize
    if free < space_min:
        mib = 1024 * 1024
        raise OSError(
            errno.ENOSPC, f"{free // mib:,} MiB are free, {space_min // mib:,} needed"
        )
    path = folder / f".probe-{os.getpid()}-{secrets.token_hex(4)}"
    renamed = path.with_suffix(".ok")
    fd = files.create(path)
    try:
        write_all(files, fd, bytes(_PROBE_BYTES))
        files.sync(fd)
        files.rename(path, renamed)
    finally:
        files.close(fd)
        for left in (path, renamed):
            with suppress(OSError):
                files.remove(left)


def run_id(script: str, now: float, token: str) -> str:
    """Return `audit-20261130-2315-7f3a` for a script `audit.py`."""
    name = re.sub(r"[^a-z0-9]+", "-", Path(script).stem.lower()).strip("-")
    minute = datetime.fromtimestamp(now, UTC).strftime("%Y%m%d-%H%M")
    return f"{name[:NAME_MAX].strip('-') or 'run'}-{minute}-{token}"


def create_run(
    runs: Path,
    *,
    script: str,
    arguments: tuple[str, ...],
    endpoint: str,
    simulated: bool,
    version: str,
    now: float,
    token: Callable[[], str] = lambda: secrets.token_hex(2),
) -> Path:
    """Make a new run's folder, with its manifest on disk."""
    for _ in range(_TRIES):
        folder = runs / run_id(script, now, token())
        try:
            folder.mkdir(mode=0o700)
        except FileExistsError:
            continue
        manifest = Manifest(
            run=folder.name,
            script=script,
            arguments=arguments,
            endpoint=endpoint,
            simulated=simulated,
            version=version,
            created=now,
        )
        text = json.dumps(json.loads(to_json(asdict(manifest))), indent=2)
        write_atomic(folder / MANIFEST, (text + "\n").encode())
        DISK.sync_folder(runs)
        return folder
    raise UsageError(f"no free run id in {runs}", hint="try again in a minute")


def read_manifest(folder: Path) -> Manifest | None:
    """Return a run's manifest; None when the folder is not a run's."""
    try:
        data = json.loads((folder / MANIFEST).read_bytes())
        return _manifest(data)
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return None


def _manifest(data: Any) -> Manifest:
    if not isinstance(data, dict):
        raise TypeError("not a manifest")
    known = {f.name for f in fields(Manifest)}
    values = {name: value for name, value in data.items() if name in known}
    values["arguments"] = tuple(str(a) for a in values["arguments"])
    manifest = Manifest(**values)
    # Whatever a hand or a disk changed, these are used as what they are said to be.
    if not isinstance(manifest.script, str) or not isinstance(manifest.run, str):
        raise TypeError("not a manifest")
    float(manifest.created)
    return manifest


def run_folders(runs: Path) -> list[Path]:
    """Folders of all runs, the oldest first."""
    if not is_folder(runs):
        return []
    found = []
    for folder in runs.iterdir():
        manifest = read_manifest(folder) if folder.is_dir() else None
        if manifest is not None:
            found.append((manifest.created, folder.name, folder))
    return [folder for _, _, folder in sorted(found)]


def find_run(runs: Path, name: str) -> Path:
    """Return the folder of the run called `name`: id, unique prefix, path, `last`."""
    if os.sep in name or name in {".", ".."}:
        return _at_path(Path(name))
    folders = run_folders(runs)
    if name == "last" and folders:
        return folders[-1]
    exact = [f for f in folders if f.name == name]
    matching = exact or [f for f in folders if name and f.name.startswith(name)]
    if len(matching) == 1:
        return matching[0]
    if matching:
        some = ", ".join(f.name for f in matching[-3:])
        raise UsageError(
            f"`{name}` could be {len(matching)} runs, among them {some}",
            hint="give more of the id",
        )
    known = f"{len(folders)} others" if folders else "no run"
    raise UsageError(
        f"no run is called `{name}`; {runs} has {known}",
        hint="`fanout-tui runs` lists them; --run-dir names another folder",
    )


def _at_path(folder: Path) -> Path:
    try:
        known = read_manifest(folder) is not None or (folder / "journal").is_dir()
    except (OSError, ValueError):
        known = False
    if not known:
        raise UsageError(
            f"{folder} is not the folder of a run",
            hint="it should hold a manifest.json and a journal",
        )
    return folder.absolute()


def _said(exc: OSError) -> str:
    return exc.strerror or str(exc)
