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
from fanout_tui.command.browser import serve
from fanout_tui.command.say import write
from fanout_tui.command.settings import parse, read_layers
from fanout_tui.command.verbparsers import parser_of

Environ = Mapping[str, str]
RUN_DIR = ".fanout"


def demo(arguments: Sequence[str], environ: Environ) -> int:
    """Run the example on the embedded account, and what it costs to do without."""
    from fanout_tui.command.demo import run_demo  # noqa: PLC0415

    return run_demo(arguments, environ)


def check(arguments: Sequence[str], environ: Environ) -> int:
    """Import a script, check its signature and its calls; nothing is sent."""
    from fanout_tui.command.checking import run_check  # noqa: PLC0415

    space = parser_of("check").parse_args(list(arguments))
    if space.script is None:
        raise UsageError("check takes a script", hint="fanout-tui check script.py")
    return run_check([space.script, *space.arguments], environ)


def resume(arguments: Sequence[str], environ: Environ) -> int:
    """Go on with a run; it knows its script, arguments and account."""
    space = parse(parser_of("resume"), arguments, read_layers(environ, Path.cwd()))
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

    space = parser_of("report").parse_args(list(arguments))
    folder = find_run(_run_dir(space, environ), space.run)
    print_report(folder, space.format)
    return COMPLETE


def watch(arguments: Sequence[str], environ: Environ) -> int:
    """Follow a run that another process works on; changes nothing."""
    from fanout_tui.command import looking  # noqa: PLC0415

    space = parser_of("watch").parse_args(list(arguments))
    folder = find_run(_run_dir(space, environ), space.run)
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

    space = parser_of("replay").parse_args(list(arguments))
    folder = find_run(_run_dir(space, environ), space.run)
    return looking.replay(folder, environ, ascii=space.ascii)


def runs(arguments: Sequence[str], environ: Environ) -> int:
    """List the runs, or delete one."""
    from fanout_tui.command.listing import delete, show  # noqa: PLC0415

    space = parser_of("runs").parse_args(list(arguments))
    folder = _run_dir(space, environ)
    if space.delete is not None:
        delete(folder, space.delete, yes=space.yes)
    else:
        show(folder)
    return COMPLETE


def simulate(arguments: Sequence[str], environ: Environ) -> int:
    """Serve the simulated account until interrupted."""
    del environ
    space = parser_of("simulate").parse_args(list(arguments))
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
    from fanout_tui.command import configuring  # noqa: PLC0415

    words = [word for word in arguments if word != "--json"]
    as_json = len(words) < len(arguments)
    try:
        layers = read_layers(environ, Path.cwd())
        configuring.show_config(words, environ, layers, as_json=as_json)
    except UsageError:
        if not as_json:
            configuring.show_settings()
        raise
    return COMPLETE


def _run_dir(space: argparse.Namespace, environ: Environ) -> Path:
    """Return where runs are kept: as an option says it, else as the settings do."""
    held = read_layers(environ, Path.cwd()).held.get("run_dir")
    known = RUN_DIR if held is None else str(held.value)
    return Path(space.run_dir or known).absolute()
