"""What may stand on the command line, and what it becomes.

Options before the script belong to fanout-tui, everything after it to the
script. A first word that is a verb is one; a script of such a name is `./runs`.
"""

import argparse
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from fanout.config import DEFAULT_MODEL, Config
from fanout.decide.batching import LANES
from fanout.decide.ending import Tolerance
from fanout.decide.selection import Selection
from fanout.disk.files import is_folder
from fanout.errors import UsageError
from fanout.words.near import meant
from fanout.words.timeouts import Timeouts, read_timeouts
from fanout_tui.command.money import NONE, RUN, positive, read_budgets, read_prices
from fanout_tui.command.say import warn
from fanout_tui.command.usage import USAGE_OF

TYPED = "command line"
"""What options are from; settings are from elsewhere."""
SUFFIXES = (".json", ".md", ".csv", ".html")


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """One command line, understood."""

    config: Config
    tui: bool
    json: bool
    ascii: bool
    exit_when_done: bool
    theme: str = "auto"


class Parser(argparse.ArgumentParser):
    """Errors as one sentence, with exit code 2, and as exceptions until then."""

    def error(self, message: str) -> NoReturn:
        """Say it as every other mistake is said."""
        raise UsageError(message, hint=f"see {self.prog} --help")

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse all words; of those that are not known, say what was meant."""
        space, strays = self.parse_known_args(args, namespace)
        for word in strays:
            name = word.partition("=")[0]
            near = meant(name, self._option_string_actions)
            raise UsageError(
                f"there is no option `{name}`"
                if word.startswith("-")
                else f"`{word}` is one word too many",
                hint=near or f"see {self.prog} --help",
            )
        return space


def parser(*, script: bool = True) -> argparse.ArgumentParser:
    """Return the parser of `fanout-tui [options] script.py [arguments]`.

    Without a script, options may stand behind what is in its place.
    """
    top = Parser(
        prog="fanout-tui",
        usage="fanout-tui [options] script.py [script arguments]\n"
        "       fanout-tui VERB …   with VERB one of " + ", ".join(USAGE_OF),
        description="Run a fan-out of Claude agents at the account's real speed, "
        "and watch it. Options after the script are the script's own. "
        "fanout-tui VERB --help says what a verb takes.",
        allow_abbrev=False,
    )
    _account_options(top)
    _limit_options(top)
    _plan_options(top)
    _place_options(top)
    _output_options(top)
    rest = argparse.REMAINDER if script else "*"
    top.add_argument("rest", nargs=rest, help=argparse.SUPPRESS)
    return top


def _account_options(top: argparse.ArgumentParser) -> None:
    group = top.add_argument_group("account")
    group.add_argument(
        "--simulate",
        action="store_true",
        help="use the embedded simulated account; every real credential is ignored",
    )
    group.add_argument(
        "--profile",
        metavar="NAME|FILE",
        default="evaluation",
        help="which simulated account: demo, evaluation (default), start, build, "
        "scale, or a TOML file of limits and faults",
    )
    group.add_argument(
        "--model",
        metavar="NAME",
        help="model for agents that name none; else ANTHROPIC_MODEL, "
        f"else {DEFAULT_MODEL}",
    )


def _limit_options(top: argparse.ArgumentParser) -> None:
    group = top.add_argument_group("limits")
    group.add_argument(
        "--concurrency",
        metavar="N|auto",
        default="auto",
        help="a ceiling on calls in flight; auto (default) finds it",
    )
    group.add_argument(
        "--max-tokens-total",
        metavar="N|PHASE=N",
        action="append",
        default=[],
        help="budget of tokens, all four classes, over all lives of the run, or of "
        "one phase; repeatable",
    )
    group.add_argument(
        "--max-usd",
        metavar="X|PHASE=X",
        action="append",
        default=[],
        help="budget in dollars, of the run or of one phase; repeatable",
    )
    group.add_argument(
        "--allow-missing",
        metavar="N|P%|PHASE=…",
        action="append",
        default=[],
        help="how many holes are acceptable, in all or in one phase; default none",
    )
    group.add_argument(
        "--lane",
        metavar="live|batch",
        help="batch sends single-turn agents through message batches, at half the "
        "price and within hours; default live",
    )
    _time_options(group)


def _time_options(group: Any) -> None:
    group.add_argument(
        "--timeout",
        metavar="NAME=TIME,…",
        action="append",
        default=[],
        help="how long to wait for what: connect (10s), first-byte (5m), idle (2m, "
        "pings are life), call as a whole (1h, or none); else FANOUT_TIMEOUT; "
        "repeatable",
    )


def _plan_options(top: argparse.ArgumentParser) -> None:
    """What is done before, or instead of, all of it; none of these is a setting."""
    group = top.add_argument_group("a few first")
    group.add_argument(
        "--only",
        metavar="PHASE/KEY,…",
        action="append",
        default=[],
        help="send nothing but these rows; * and ? stand for anything, PHASE alone "
        "for all of it; repeatable. The others end missing: resume runs the whole",
    )
    group.add_argument(
        "--limit", metavar="N", help="send only the first N rows of each phase"
    )
    group.add_argument(
        "--dry-run",
        action="store_true",
        help="say what would run, its tokens, dollars and minutes; send nothing",
    )
    group.add_argument(
        "--yes",
        action="store_true",
        help="do not ask; else asked above 2M tokens or $5 known ahead, on an account "
        "that is not simulated",
    )


def _place_options(top: argparse.ArgumentParser) -> None:
    group = top.add_argument_group("runs")
    group.add_argument(
        "--fresh", action="store_true", help="ignore earlier work; begin a new run"
    )
    group.add_argument("--resume", metavar="RUN", help="name the run to go on with")
    group.add_argument(
        "--run-dir",
        metavar="DIR",
        default=".fanout",
        help="where runs are kept (default .fanout/)",
    )
    group.add_argument(
        "--out", metavar="DIR", help="where outputs go (default <run>/out/)"
    )
    group.add_argument(
        "--report",
        metavar="FILE",
        action="append",
        default=[],
        help="write the completeness report; .json, .md, .csv or .html; repeatable",
    )


def _output_options(top: argparse.ArgumentParser) -> None:
    group = top.add_argument_group("output")
    group.add_argument(
        "--no-tui", action="store_true", help="plain lines instead of the screen"
    )
    group.add_argument(
        "--json", action="store_true", help="one JSON event a line instead"
    )
    group.add_argument(
        "--ascii", action="store_true", help="draw with ASCII characters only"
    )
    group.add_argument(
        "--theme",
        metavar="NAME",
        choices=("auto", "dark", "light", "ansi"),
        default="auto",
        help="colours: auto (default), dark, light, or ansi, the terminal's own",
    )
    group.add_argument(
        "--exit-when-done",
        action="store_true",
        help="leave the screen when the run has ended",
    )
    group.add_argument("--version", action="store_true", help="print the version")


def understand(space: argparse.Namespace, environ: Mapping[str, str]) -> Options:
    """Turn parsed words into options. Raises `UsageError`."""
    try:
        return _understood(space, environ)
    except UsageError as error:
        text = str(error)
        if place := _elsewhere(space, text):
            raise UsageError(f"{text}, in {place}", hint=error.hint) from error
        raise


def _elsewhere(space: argparse.Namespace, text: str) -> str:
    """Return where the value of a wrong option stands, if it was not typed here."""
    option = re.match(r"--([a-z-]+)", text)
    name = "" if option is None else option[1].replace("-", "_")
    origin: str = getattr(space, "origins", {}).get(name, TYPED)
    for part, its in getattr(space, "parts", {}).get(name, ()):
        if part.rpartition("=")[2] in text:
            origin = its
    return "" if origin in (TYPED, "default") else origin


def _understood(space: argparse.Namespace, environ: Mapping[str, str]) -> Options:
    script, *arguments = space.rest
    _warn_of_strays(arguments)
    budgets = read_budgets(space.max_tokens_total, space.max_usd)
    config = Config(
        script=Path(script),
        arguments=tuple(arguments),
        simulate=space.simulate,
        profile=space.profile,
        model=space.model or DEFAULT_MODEL,
        concurrency=_concurrency(space.concurrency),
        budget=budgets.pop(RUN, NONE),
        phase_budgets=budgets,
        prices=read_prices(getattr(space, "prices", None)),
        tolerance=_tolerance(space.allow_missing, _said_in(space, "allow_missing")),
        selection=_selection(space),
        dry=bool(space.dry_run),
        lane=_lane(space.lane),
        yes=bool(space.yes),
        fresh=space.fresh,
        resume=space.resume,
        run_dir=Path(space.run_dir),
        out_dir=Path(space.out) if space.out else None,
        reports=tuple(_report(name) for name in space.report),
        timeouts=_timeouts(space.timeout),
    )
    return Options(
        config=config,
        tui=not (space.no_tui or space.json),
        json=space.json,
        ascii=space.ascii or _needs_ascii(environ),
        exit_when_done=space.exit_when_done,
        theme=_theme(space.theme),
    )


def _warn_of_strays(arguments: Sequence[str]) -> None:
    """An option of ours behind the script is the script's: say so, it may cost."""
    ours = {name for action in parser()._actions for name in action.option_strings}  # noqa: SLF001
    for word in arguments:
        if word.partition("=")[0] in ours:
            warn(
                f"fanout-tui: `{word}` stands after the script and is the script's own"
                "\nhint: options of fanout-tui go before the script"
            )


def _needs_ascii(environ: Mapping[str, str]) -> bool:
    return environ.get("TERM") == "linux"


def _theme(name: str) -> str:
    """A file's word is not checked by the parser."""
    known = ("auto", "dark", "light", "ansi")
    if name not in known:
        raise UsageError(
            f"--theme takes {', '.join(known)}, not `{name}`",
            hint="auto goes by what the terminal says of itself",
        )
    return name


def _concurrency(text: str) -> int | None:
    if text == "auto":
        return None
    return positive(text, "--concurrency", "auto, or for instance 20")


def _said_in(space: argparse.Namespace, name: str) -> str:
    """Return where a setting was said: its option, or its name and its place."""
    option = name.replace("_", "-")
    origin = getattr(space, "origins", {}).get(name, TYPED)
    return f"--{option}" if origin == TYPED else f"{option} of {origin}"


def _tolerance(stated: Sequence[str], said_in: str) -> Tolerance:
    overall: str | None = None
    by_phase: dict[str, str] = {}
    for text in stated:
        phase, equals, amount = text.rpartition("=")
        figure = amount.removesuffix("%")
        try:
            value = float(figure) if amount.endswith("%") else int(figure)
        except ValueError:
            value = -1
        if value < 0 or (amount.endswith("%") and value > 100):  # noqa: PLR2004
            raise UsageError(
                f"{said_in} takes N, P% or PHASE=N|P%, not `{text}`",
                hint="for instance --allow-missing 2 or --allow-missing audit=5%",
            )
        if equals:
            by_phase[phase] = amount
        else:
            overall = amount
    return Tolerance(overall=overall, by_phase=by_phase, said_in=said_in)


def _selection(space: argparse.Namespace) -> Selection:
    patterns = [one.strip() for text in space.only for one in text.split(",")]
    if any(not one or one.endswith("/") for one in patterns):
        raise UsageError(
            "--only takes PHASE/KEY, and one of them is empty",
            hint="for instance --only audit/core-07 or --only 'audit/core-*'",
        )
    limit = positive(space.limit, "--limit", "for instance --limit 3")
    return Selection(only=tuple(dict.fromkeys(patterns)), limit=limit)


def _lane(text: str | None) -> str | None:
    if text is None or text in LANES:
        return text
    raise UsageError(
        f"--lane takes live or batch, not `{text}`",
        hint="batch is half the price and takes up to a day, most often an hour",
    )


def _timeouts(stated: Sequence[str]) -> Timeouts:
    try:
        return read_timeouts(stated)
    except UsageError as error:
        raise UsageError(f"--timeout: {error}", hint=error.hint) from error


def _report(name: str) -> Path:
    path = Path(name)
    if path.suffix not in SUFFIXES:
        raise UsageError(
            f"--report `{name}` names no known format",
            hint=f"end it in {', '.join(SUFFIXES)}",
        )
    if not is_folder(path.absolute().parent):
        raise UsageError(
            f"the folder of --report `{name}` does not exist",
            hint=f"make it first: mkdir -p {os.path.dirname(name)}",  # noqa: PTH120
        )
    return path
