"""Everything `fanout-tui` does besides running a script."""

import argparse
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from fanout.decide.ending import COMPLETE, USAGE
from fanout.disk.rundir import find_run, read_manifest
from fanout.errors import UsageError
from fanout_tui.command import options as reading
from fanout_tui.command.browser import PORT, serve
from fanout_tui.command.say import write
from fanout_tui.command.settings import parse, read_layers
from fanout_tui.command.usage import usage

Environ = Mapping[str, str]
RUN_DIR = ".fanout"


def demo(arguments: Sequence[str], environ: Environ) -> int:
    """Run the example on the embedded account, and what it costs to do without."""
    from fanout_tui.command.demo import run_demo  # noqa: PLC0415

    return run_demo(arguments, environ)


def check(arguments: Sequence[str], environ: Environ) -> int:
    """Import a script and check its signature; nothing is sent."""
    from fanout_tui.command.checking import run_check  # noqa: PLC0415

    if not arguments:
        raise UsageError("check takes a script", hint="fanout-tui check script.py")
    return run_check(arguments, environ)


def resume(arguments: Sequence[str], environ: Environ) -> int:
    """Go on with a run; it knows its script, arguments and account."""
    parser = reading.parser()
    parser.usage = usage("resume")
    space = parse(parser, arguments, read_layers(environ, Path.cwd()))
    if len(space.rest) != 1:
        raise UsageError("resume takes one run", hint="fanout-tui resume last")
    folder = find_run(Path(space.run_dir).absolute(), space.rest[0])
    manifest = read_manifest(folder)
    if manifest is None:
        raise UsageError(
            f"{folder} has no readable manifest",
            hint="run the script again; finished work is reused",
        )
    space.rest = [manifest.script, *manifest.arguments]
    space.resume = str(folder)
    space.simulate = manifest.simulated
    if manifest.simulated and space.origins["profile"] != "command line":
        space.profile = manifest.endpoint.partition(":")[2]
    from fanout_tui.command.running import run_command  # noqa: PLC0415

    return run_command(reading.understand(space, environ), environ)


def report(arguments: Sequence[str], environ: Environ) -> int:
    """Print or write the completeness report of a run, live or ended."""
    from fanout_tui.command.reports import print_report  # noqa: PLC0415

    parser = _parser("report")
    parser.add_argument("run", nargs="?", default="last")
    parser.add_argument("--format", choices=("json", "md", "csv", "html"), default="md")
    parser.add_argument("--run-dir", default=_run_dir(environ))
    space = parser.parse_args(list(arguments))
    folder = find_run(Path(space.run_dir).absolute(), space.run)
    print_report(folder, space.format)
    return COMPLETE


def watch(arguments: Sequence[str], environ: Environ) -> int:
    """Follow a run that another process works on; changes nothing."""
    from fanout_tui.command import looking  # noqa: PLC0415

    parser = _parser("watch")
    parser.add_argument("--browser", action="store_true")
    parser.add_argument("--port", type=int, default=PORT)
    parser.add_argument("run", nargs="?", default="last")
    parser.add_argument("--no-tui", action="store_true")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--ascii", action="store_true")
    parser.add_argument("--run-dir", default=_run_dir(environ))
    space = parser.parse_args(list(arguments))
    folder = find_run(Path(space.run_dir).absolute(), space.run)
    if space.browser:
        serve(folder, space.port)
        return COMPLETE
    return looking.watch(
        folder,
        environ,
        tui=not (space.no_tui or space.json),
        json=space.json,
        ascii=space.ascii,
    )


def replay(arguments: Sequence[str], environ: Environ) -> int:
    """Play a recorded run on the screen: pause, speed, seek."""
    from fanout_tui.command import looking  # noqa: PLC0415

    parser = _parser("replay")
    parser.add_argument("run", nargs="?", default="last")
    parser.add_argument("--ascii", action="store_true")
    parser.add_argument("--run-dir", default=_run_dir(environ))
    space = parser.parse_args(list(arguments))
    folder = find_run(Path(space.run_dir).absolute(), space.run)
    return looking.replay(folder, environ, ascii=space.ascii)


def runs(arguments: Sequence[str], environ: Environ) -> int:
    """List the runs, or delete one."""
    from fanout_tui.command.listing import delete, show  # noqa: PLC0415

    parser = _parser("runs")
    parser.add_argument("--delete", metavar="RUN")
    parser.add_argument("--yes", action="store_true")
    parser.add_argument("--run-dir", default=_run_dir(environ))
    space = parser.parse_args(list(arguments))
    folder = Path(space.run_dir).absolute()
    if space.delete is not None:
        delete(folder, space.delete, yes=space.yes)
    else:
        show(folder)
    return COMPLETE


def simulate(arguments: Sequence[str], environ: Environ) -> int:
    """Serve the simulated account until interrupted."""
    del environ
    parser = _parser("simulate")
    parser.add_argument("--profile", default="evaluation")
    parser.add_argument("--port", default="0")
    parser.add_argument("--seed", default="0")
    space = parser.parse_args(list(arguments))
    command = [sys.executable, "-m", "fanout.simulator", "--profile", space.profile]
    command += ["--port", space.port, "--seed", space.seed]
    write("the simulated account serves until ctrl-c; use it with")
    write("  ANTHROPIC_BASE_URL=<url below> ANTHROPIC_API_KEY=any fanout-tui script.py")
    with ExitStack() as stack:
        child = stack.enter_context(subprocess.Popen(command))  # noqa: S603
        try:
            code = child.wait()
        except KeyboardInterrupt:
            child.terminate()
            return COMPLETE
    return COMPLETE if code in (0, -15) else USAGE


def config(arguments: Sequence[str], environ: Environ) -> int:
    """Show which settings hold here, and where each of them came from."""
    from fanout_tui.command.configuring import show_config  # noqa: PLC0415

    words = [word for word in arguments if word != "--json"]
    show_config(
        words,
        environ,
        read_layers(environ, Path.cwd()),
        as_json=len(words) < len(arguments),
    )
    return COMPLETE


def _run_dir(environ: Environ) -> str:
    """Return where runs are kept when no option says it."""
    held = read_layers(environ, Path.cwd()).held.get("run_dir")
    return RUN_DIR if held is None else str(held.value)


def _parser(verb: str) -> argparse.ArgumentParser:
    return reading.Parser(prog=f"fanout-tui {verb}", usage=usage(verb))
