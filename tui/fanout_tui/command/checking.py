"""`fanout-tui check`: would this script run? Reads and imports it, sends nothing."""

import ast
import inspect
from collections.abc import Mapping, Sequence

from fanout.decide.ending import COMPLETE, SCRIPT_RAISED, USAGE
from fanout.script import loading
from fanout.script.callcheck import mistakes
from fanout_tui.command.say import problem, write


def run_check(arguments: Sequence[str], environ: Mapping[str, str]) -> int:
    """Read its calls, import it and match `main` with the arguments given."""
    del environ
    script = loading.locate(arguments[0], arguments[1:])
    found = mistakes(ast.parse(script.source))
    for one in found:
        problem(f"{script.path.name}, line {one.line}: {one.text}", one.hint)
    module = loading.install(script)
    try:
        loading.execute(script, module)
    except (Exception, SystemExit) as error:  # noqa: BLE001  whatever a script raises
        problem(
            f"importing `{script.path.name}` raised {type(error).__name__}: {error}",
            "mend it; nothing was sent",
        )
        return SCRIPT_RAISED
    entry = loading.entry(script, module)
    if found:
        return USAGE
    kind = "async " if inspect.iscoroutinefunction(entry.function) else ""
    given = ", ".join(repr(argument) for argument in entry.arguments)
    write(f"{script.path.name}: {kind}main({given}) can be called; nothing was sent")
    return COMPLETE
