"""From words on the command line to an exit code."""

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from fanout.decide.ending import ACCOUNT, COMPLETE, SIGNALS, USAGE
from fanout.disk.files import is_there
from fanout.errors import AccountError, FanoutError, UsageError
from fanout.version import VERSION
from fanout.words.near import nearest
from fanout_tui.command import options as reading
from fanout_tui.command.say import Ended, problem, whole_descriptors, write
from fanout_tui.command.settings import parse, read_layers
from fanout_tui.command.usage import USAGE_OF

Verb = Callable[[Sequence[str], Mapping[str, str]], int]


def entry(arguments: Sequence[str], environ: Mapping[str, str] = os.environ) -> int:
    """Run the command; what a person can mend is one sentence and a hint."""
    whole_descriptors()
    try:
        return _dispatch(list(arguments), environ)
    except AccountError as error:
        problem(str(error), error.hint)
        return ACCOUNT
    except (UsageError, FanoutError) as error:
        problem(str(error), error.hint)
        return USAGE
    except Ended as error:
        problem(str(error))
        return error.code
    except KeyboardInterrupt:
        return SIGNALS["SIGINT"]
    except BrokenPipeError:
        # Whoever read our output is gone; Python must not complain about it.
        with suppress(OSError):
            sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115
        return COMPLETE


def _dispatch(arguments: list[str], environ: Mapping[str, str]) -> int:
    if arguments and arguments[0] in USAGE_OF:
        verb = _verb(arguments[0])
        if {"-h", "--help"} & set(arguments[1:2]):
            from fanout_tui.command.verbparsers import parser_of  # noqa: PLC0415

            write(parser_of(arguments[0]).format_help().rstrip())
            return COMPLETE
        return verb(arguments[1:], environ)
    space = parse(reading.parser(), arguments, read_layers(environ, Path.cwd()))
    if space.version:
        write(f"fanout-tui {VERSION}")
        return COMPLETE
    if not space.rest:
        raise UsageError(
            "no script was named",
            hint="fanout-tui script.py runs one; fanout-tui demo shows how it looks",
        )
    _hold_to_verbs(arguments, space.rest)
    options = reading.understand(space, environ)
    from fanout_tui.command.running import run_command  # noqa: PLC0415  not for --help

    return run_command(options, environ)


def _hold_to_verbs(arguments: Sequence[str], rest: Sequence[str]) -> None:
    """A verb behind options, or misspelt, is no script that is not there."""
    word = rest[0]
    if word in USAGE_OF:
        from fanout_tui.command.verbparsers import misplaced  # noqa: PLC0415

        raise misplaced(word, arguments[: len(arguments) - len(rest)], rest[1:])
    if not is_there(word) and (verb := nearest(word, USAGE_OF)):
        raise UsageError(
            f"there is no script `{word}`", hint=f"did you mean `fanout-tui {verb}`?"
        )


def _verb(name: str) -> Verb:
    # Each verb's imports are its own affair.
    from fanout_tui.command import verbs  # noqa: PLC0415

    found: Verb = getattr(verbs, name)
    return found
