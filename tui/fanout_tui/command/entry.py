"""From words on the command line to an exit code."""

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from fanout.decide.ending import ACCOUNT, COMPLETE, SIGNALS, USAGE
from fanout.errors import AccountError, FanoutError, UsageError
from fanout.version import VERSION
from fanout_tui.command import options as reading
from fanout_tui.command.say import Ended, problem, whole_descriptors, write
from fanout_tui.command.settings import parse, read_layers
from fanout_tui.command.usage import USAGE_OF, usage

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
            write(f"usage: {usage(arguments[0])}\n\n{verb.__doc__}")
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
    options = reading.understand(space, environ)
    from fanout_tui.command.running import run_command  # noqa: PLC0415  not for --help

    return run_command(options, environ)


def _verb(name: str) -> Verb:
    # Each verb's imports are its own affair.
    from fanout_tui.command import verbs  # noqa: PLC0415

    found: Verb = getattr(verbs, name)
    return found
