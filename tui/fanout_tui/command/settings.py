"""Options that need not be typed again: a file, the environment, the command line.

    fanout.toml, or [tool.fanout] of pyproject.toml    of this folder or one above
    FANOUT_MAX_USD=5, ANTHROPIC_MODEL=…                over the file
    --max-usd 5                                        over both

A setting has its option's name and takes what the option takes; what it becomes is
decided where the option is read. Which account a run spends on, its keys and its
address are no settings: a folder that was cloned must not choose them.
"""

import argparse
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fanout.errors import UsageError
from fanout.words.near import nearest

if TYPE_CHECKING:
    from fanout_tui.command.settingsmodel import Settings

PREFIX = "FANOUT_"
FILE = "fanout.toml"
PROJECT = "pyproject.toml"
NEVER = {
    "api_key": "set ANTHROPIC_API_KEY in the environment",
    "auth_token": "set ANTHROPIC_AUTH_TOKEN in the environment",
    "base_url": "set ANTHROPIC_BASE_URL in the environment",
    "simulate": "give --simulate with the command",
}
"""What a file may not say, and where it is said instead."""
MERGED = ("timeout", "max_tokens_total", "max_usd")
"""Lists of names and values: what is said of one name leaves the others alone."""
ALSO = {"model": "ANTHROPIC_MODEL"}
"""Variables of others that say the same; ours come first."""
MAX_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Held:
    """A value and where it came from."""

    value: Any
    origin: str
    parts: tuple[tuple[str, str], ...] = ()
    """Of a merged list: each part that holds, and where that came from."""


@dataclass(frozen=True, slots=True)
class Layers:
    """What file and environment say, by the option's name with `_`."""

    held: Mapping[str, Held] = field(default_factory=dict)
    file: Path | None = None


def read_layers(environ: Mapping[str, str], folder: Path) -> Layers:
    """Return the settings that hold in `folder`. Raises `UsageError`."""
    path, table = _file(folder)
    variables = {
        name: text
        for name, text in environ.items()
        if name.startswith(PREFIX) or name in ALSO.values()
    }
    if not table and not variables:
        return Layers(file=path)
    # Pydantic takes a sixth of a second to import; most runs have no settings.
    from fanout_tui.command.settingsmodel import NAMES, Settings  # noqa: PLC0415

    held: dict[str, Held] = {}
    if path is not None:
        checked = _checked(
            Settings, _plain_names(table, path, (*NAMES, "prices")), path
        )
        for name, value in _said(checked).items():
            own = _from(path.parent, name, value)
            held[name] = _over(None, name, own, str(path))
    for name in NAMES:
        for variable in (PREFIX + name.upper(), ALSO.get(name, "")):
            if text := variables.get(variable):
                checked = _checked(Settings, {name: text}, variable)
                held[name] = _over(held.get(name), name, _said(checked)[name], variable)
                break
    return Layers(held, path)


def parse(
    parser: argparse.ArgumentParser, words: Sequence[str], layers: Layers
) -> argparse.Namespace:
    """Parse the command line over the layers; `origins` says what came from where."""
    actions = [action for action in parser._actions if action.dest != "help"]  # noqa: SLF001
    space = argparse.Namespace(**{action.dest: None for action in actions})
    parser.parse_args(list(words), space)
    origins: dict[str, str] = {}
    parts: dict[str, tuple[tuple[str, str], ...]] = {}
    for action in actions:
        name = action.dest
        holds = layers.held.get(name)
        if (given := getattr(space, name)) is not None:
            holds = _over(holds, name, given, "command line")
        elif holds is None:
            default = action.default
            fresh = list(default) if isinstance(default, list) else default
            holds = Held(fresh, "default")
        setattr(space, name, holds.value)
        origins[name], parts[name] = holds.origin, holds.parts
    prices = layers.held.get("prices")
    space.prices = {} if prices is None else prices.value
    origins["prices"] = "default" if prices is None else prices.origin
    if space.rest is None:
        space.rest = []
    space.origins, space.parts = origins, parts
    return space


def _over(below: Held | None, name: str, value: Any, origin: str) -> Held:
    """Lay a value over what held before; of a merged list only what it names."""
    if name not in MERGED:
        return Held(value, origin)
    said = {_about(part): (part, origin) for part in _parts(name, value)}
    kept = [] if below is None else list(below.parts)
    both = (*(one for one in kept if _about(one[0]) not in said), *said.values())
    # The run's own comes first, as it is read.
    parts = tuple(sorted(both, key=lambda one: bool(_about(one[0]))))
    if below is not None:
        origin = f"{origin} over {below.origin}"
    return Held([part for part, _ in parts], origin, parts)


def _parts(name: str, value: Sequence[str]) -> list[str]:
    """Take a text of several timeouts apart; a comma in a sum is none between two."""
    if name != "timeout":
        return list(value)
    return [one.strip() for text in value for one in text.split(",")]


def _about(part: str) -> str:
    return part.rpartition("=")[0].strip()


def _file(folder: Path) -> tuple[Path | None, dict[str, Any]]:
    """Return the nearest file with settings, from `folder` upward, and its table."""
    for place in (folder, *folder.parents):
        own, project = place / FILE, place / PROJECT
        if own.is_file():
            return own, _toml(own)
        if project.is_file():
            table = _toml(project).get("tool", {}).get("fanout")
            if table is not None:
                return project, _table(table, project)
        if (place / ".git").exists():
            break
    return None, {}


def _toml(path: Path) -> dict[str, Any]:
    try:
        if path.stat().st_size > MAX_BYTES:
            raise UsageError(
                f"{path} has more than {MAX_BYTES:,} bytes",
                hint=f"settings belong into a small {FILE}",
            )
        return tomllib.loads(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UsageError(
            f"{path} cannot be read: {error}",
            hint="mend it, or move it away; no setting was taken from it",
        ) from error


def _table(table: object, path: Path) -> dict[str, Any]:
    if not isinstance(table, dict):
        raise UsageError(
            f"tool.fanout in {path} is no table",
            hint="write a line [tool.fanout], and the settings below it",
        )
    return table


def _plain_names(
    table: Mapping[str, Any], path: Path, known: Sequence[str]
) -> dict[str, Any]:
    """Take `max-usd` and `max_usd` alike, and refuse what is no setting."""
    made: dict[str, Any] = {}
    for given, value in table.items():
        name = given.replace("-", "_")
        if name in NEVER or name not in known:
            hint = NEVER.get(name) or _instead(name, known)
            raise UsageError(
                f"{_place(path, given)}: `{given}` is no setting", hint=hint
            )
        made[name] = value
    return made


def _instead(name: str, known: Sequence[str]) -> str:
    """Say what may have been meant by what is no setting."""
    from fanout_tui.command.options import parser  # noqa: PLC0415  it reads settings

    word = name.replace("_", "-")
    if f"--{word}" in parser()._option_string_actions:  # noqa: SLF001
        return f"it is of one run: give --{word} with the command"
    near = nearest(name, known).replace("_", "-")
    return f"did you mean `{near}`?" if near else "fanout-tui config lists them"


def _place(path: Path, name: str) -> str:
    """Return the file with the line that says `name`, if one does so plainly."""
    plain = re.escape(name.replace("_", "-")).replace(r"\-", "[-_]")
    said = re.compile(rf"""\s*(\[.*)?["']?{plain}["']?\s*[=.\]]""")
    within = path.name != PROJECT
    for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
        if path.name == PROJECT and line.lstrip().startswith("["):
            within = line.lstrip().startswith("[tool.fanout")
        if within and said.match(line):
            return f"{path}, line {number}"
    return str(path)


def _checked(
    model: "type[Settings]", values: Mapping[str, Any], origin: str | Path
) -> "Settings":
    from pydantic import ValidationError  # noqa: PLC0415  as above

    try:
        return model.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        # Of a list its name says enough; of prices, the model and the figure do.
        parts = first["loc"] if first["loc"][0] == "prices" else first["loc"][:1]
        name = ".".join(str(part) for part in parts).replace("_", "-")
        hint = f"it takes what the option --{name} takes; see fanout-tui --help"
        if name.startswith("prices"):
            hint = "for instance prices.my-model = { input = 1.0, output = 5.0 }"
        place = origin
        if isinstance(origin, Path):
            place = _place(origin, name.partition(".")[0])
        raise UsageError(
            f"{place}: `{name}` does not fit: {first['msg']}", hint=hint
        ) from error


def _said(settings: "Settings") -> dict[str, Any]:
    return settings.model_dump(include=settings.model_fields_set)


def _from(folder: Path, name: str, value: Any) -> Any:
    """Paths of a file start from the file's folder."""
    if name in ("run_dir", "out"):
        return str(folder / value)
    if name == "report":
        return [str(folder / one) for one in value]
    if name == "profile" and str(value).endswith(".toml"):
        return str(folder / value)
    return value
