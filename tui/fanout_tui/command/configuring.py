"""`fanout-tui config`: what holds here, and where each of it came from."""

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fanout.access import OFFICIAL
from fanout.config import DEFAULT_MODEL
from fanout.errors import UsageError
from fanout.words.prices import Prices
from fanout_tui.command import options as reading
from fanout_tui.command.say import write
from fanout_tui.command.settings import FILE, PREFIX, PROJECT, Layers, parse
from fanout_tui.command.settingsmodel import NAMES, Settings
from fanout_tui.text import one_line

Row = tuple[str, str, str]
WIDE = 40


def show_config(
    words: list[str], environ: Mapping[str, str], layers: Layers, *, as_json: bool
) -> None:
    """Print the settings as a run with these options would have them.

    Raises `UsageError` for what a run would refuse.
    """
    space = parse(reading.parser(), words, layers)
    if space.rest:
        raise UsageError(
            f"config takes options only, not `{space.rest[0]}`",
            hint="fanout-tui config --help lists them",
        )
    space.rest = ["script.py"]
    options = reading.understand(space, environ)
    space.model = space.model or DEFAULT_MODEL
    rows = [row for name in NAMES for row in _rows(name, space)]
    rows.append(("prices", _prices(options.config.prices), space.origins["prices"]))
    if as_json:
        settings = {
            name: {"value": getattr(space, name), "from": space.origins[name]}
            for name in (*NAMES, "prices")
        }
        account = {
            name: {"value": value, "from": origin}
            for name, value, origin in _account(environ)
        }
        file = None if layers.file is None else str(layers.file)
        write(json.dumps({"file": file, "settings": settings, "account": account}))
        return
    write(_table([*rows, *_account(environ)]))
    write("")
    write(_where(layers))


def show_settings() -> None:
    """Print what can be set, where it cannot be said what holds."""
    fields = Settings.model_fields
    width = max(map(len, fields))
    write("what can be set:")
    for name, field in fields.items():
        write(f"  {name.replace('_', '-'):<{width}}  {field.description}")
    write("")


def _rows(name: str, space: argparse.Namespace) -> list[Row]:
    """What holds of a setting; of one that was said in parts, each with its place."""
    head = name.replace("_", "-")
    if parts := space.parts[name]:
        heads = [head, *[""] * (len(parts) - 1)]
        return [(h, *part) for h, part in zip(heads, parts, strict=True)]
    return [(head, _shown(getattr(space, name)), space.origins[name])]


def _shown(value: Any) -> str:
    if value is None or value in ([], ""):
        return "-"
    if isinstance(value, list):
        return ", ".join(value)
    return str(value).lower() if isinstance(value, bool) else str(value)


def _prices(prices: Prices) -> str:
    """Whose figures, and of when."""
    text = f"built in, as of {prices.as_of} ({prices.source})"
    if prices.overridden:
        text += f"; overridden for {', '.join(prices.overridden)}"
    return text


def _account(environ: Mapping[str, str]) -> list[Row]:
    """Whose account; of a key only that there is one."""
    url = environ.get("ANTHROPIC_BASE_URL")
    rows = [("address", url or OFFICIAL, "ANTHROPIC_BASE_URL" if url else "default")]
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"):
        if environ.get(name):
            return [*rows, ("key", "set", name)]
    return [*rows, ("key", "not set", "environment")]


def _table(rows: list[Row]) -> str:
    widths = [max(len(one_line(row[at])) for row in rows) for at in (0, 1)]
    return "\n".join(
        f"{name:<{widths[0]}}  {one_line(value):<{min(widths[1], WIDE)}}  "
        f"{one_line(origin)}"
        for name, value, origin in rows
    )


def _where(layers: Layers) -> str:
    if layers.file is not None:
        file = one_line(str(layers.file))
        return f"settings of {file}; {PREFIX}… and options go before it"
    here = one_line(str(Path.cwd()))
    return (
        f"no {FILE}, and no [tool.fanout] in a {PROJECT}, in {here} or above\n"
        "a file holds, for instance:  max-usd = 5  and  allow-missing = { audit = 2 }"
    )
