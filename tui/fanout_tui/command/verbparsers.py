"""What each verb takes, with what it does: for its help, and for what it refuses.

An option that the command has too is the same one, and is explained as there.
"""

import argparse
import shlex
from collections.abc import Callable, Iterable, Sequence

from fanout.errors import UsageError
from fanout_tui.command import options as reading
from fanout_tui.command.browser import PORT
from fanout_tui.command.settingsmodel import NAMES
from fanout_tui.command.usage import RUN, usage

LAST = f"{RUN} (default last)"
OF_A_DEMO = ("--no-tui", "--json", "--ascii", "--report")
KNOWN_TO_A_RUN = ("--simulate", "--resume", "--fresh", "--version")
"""What resuming goes by itself, so that its help does not offer it."""


def parser_of(verb: str) -> argparse.ArgumentParser:
    """Return the parser of a verb; `rest` of one that resumes is the run."""
    made = _MAKERS[verb](verb)
    made.usage = usage(verb)
    made.prog = f"fanout-tui {verb}"
    return made


def misplaced(verb: str, before: Sequence[str], after: Sequence[str]) -> UsageError:
    """Return what to say of a verb that stands behind options, and what would work."""
    words = shlex.join([verb, *after, *_taken(verb, before)])
    return UsageError(
        f"the verb `{verb}` comes first, and its options after it",
        hint=f"fanout-tui {words}   (a script of such a name is ./{verb})",
    )


def _taken(verb: str, words: Sequence[str]) -> list[str]:
    """Return those of the command's options that the verb offers as well."""
    ours = _options(reading.parser())
    offered = {
        name
        for name, action in _options(parser_of(verb)).items()
        if action.help != argparse.SUPPRESS
    }
    kept: list[str] = []
    keeps = takes = False
    for word in words:
        if not takes:
            name, equals, _ = word.partition("=")
            keeps = name in offered
            takes = name in ours and ours[name].nargs is None and not equals
        else:
            takes = False
        if keeps:
            kept.append(word)
    return kept


def _options(parser: argparse.ArgumentParser) -> dict[str, argparse.Action]:
    return {
        name: action
        for action in parser._actions  # noqa: SLF001
        for name in action.option_strings
    }


def _bare(verb: str) -> reading.Parser:
    return reading.Parser(description=_described(verb), allow_abbrev=False)


def _described(verb: str) -> str | None:
    # The verbs' own functions say it; they import what they run.
    from fanout_tui.command import verbs  # noqa: PLC0415

    said: str | None = getattr(verbs, verb).__doc__
    return said


def _like(parser: argparse.ArgumentParser, *names: str) -> None:
    """Give a parser options of the command, explained as there."""
    ours = _options(reading.parser())
    for name in names:
        known = ours[name]
        if known.nargs == 0:
            parser.add_argument(name, action="store_true", help=known.help)
        else:
            parser.add_argument(name, metavar=str(known.metavar), help=known.help)


def _check(verb: str) -> argparse.ArgumentParser:
    made = _bare(verb)
    made.add_argument("script", nargs="?", metavar="script.py", help="the script")
    made.add_argument(
        "arguments",
        nargs=argparse.REMAINDER,
        metavar="…",
        help="what `main` would be called with",
    )
    return made


def _runs(verb: str) -> argparse.ArgumentParser:
    made = _bare(verb)
    made.add_argument(
        "--delete",
        metavar="RUN",
        help="delete one with all it holds, outputs as well; asks before. RUN is "
        + RUN,
    )
    made.add_argument("--yes", action="store_true", help="delete without a question")
    _like(made, "--run-dir")
    return made


def _report(verb: str) -> argparse.ArgumentParser:
    made = _bare(verb)
    made.add_argument("run", nargs="?", default="last", metavar="RUN", help=LAST)
    made.add_argument(
        "--format",
        choices=("json", "md", "csv", "html"),
        default="md",
        help="how it is written (default md); html has a timeline of the run",
    )
    _like(made, "--run-dir")
    return made


def _watch(verb: str) -> argparse.ArgumentParser:
    made = _bare(verb)
    made.add_argument("run", nargs="?", default="last", metavar="RUN", help=LAST)
    _like(made, "--no-tui", "--json")
    made.add_argument(
        "--browser",
        action="store_true",
        help="show it in a browser on this machine; needs the extra "
        "fanout-tui[browser]",
    )
    made.add_argument(
        "--port",
        type=int,
        metavar="N",
        default=PORT,
        help=f"where the browser finds it (default {PORT})",
    )
    _like(made, "--ascii", "--run-dir")
    return made


def _replay(verb: str) -> argparse.ArgumentParser:
    made = _bare(verb)
    made.add_argument("run", nargs="?", default="last", metavar="RUN", help=LAST)
    _like(made, "--ascii", "--run-dir")
    return made


def _simulate(verb: str) -> argparse.ArgumentParser:
    made = _bare(verb)
    _like(made, "--profile")
    made.set_defaults(profile="evaluation")
    made.add_argument(
        "--port", metavar="N", default="0", help="where it listens; 0 (default) is any"
    )
    made.add_argument(
        "--seed",
        metavar="N",
        default="0",
        help="what its chance goes by (default 0); the same gives the same",
    )
    return made


def _resume(verb: str) -> argparse.ArgumentParser:
    made = reading.parser(script=False)
    made.description = f"{_described(verb)} RUN is {RUN}; options may stand after it."
    _hide(made, KNOWN_TO_A_RUN)
    return made


def _demo(verb: str) -> argparse.ArgumentParser:
    made = reading.parser()
    made.description = _described(verb)
    _hide(made, _options(made).keys() - {*OF_A_DEMO, "-h", "--help"})
    return made


def _config(verb: str) -> argparse.ArgumentParser:
    made = reading.parser()
    made.description = (
        f"{_described(verb)} With options it shows what would hold with them."
    )
    settings = {f"--{name.replace('_', '-')}" for name in NAMES}
    own = {*settings, "--json", "-h", "--help"}
    _hide(made, _options(made).keys() - own)
    _options(made)["--json"].help = "the same as one JSON object"
    return made


def _hide(parser: argparse.ArgumentParser, names: Iterable[str]) -> None:
    options = _options(parser)
    for name in names:
        options[name].help = argparse.SUPPRESS


_MAKERS: dict[str, Callable[[str], argparse.ArgumentParser]] = {
    "demo": _demo,
    "check": _check,
    "runs": _runs,
    "report": _report,
    "resume": _resume,
    "watch": _watch,
    "replay": _replay,
    "config": _config,
    "simulate": _simulate,
}
