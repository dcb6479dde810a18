"""A script file, found and read, then run as a module with its `main` called.

    locate  ─▶ LoadedScript   there, readable, parses: else `UsageError`, exit 2
    install ─▶ module         `sys` is as the script expects it
    execute                   its top level runs; what it raises is the script's
    entry   ─▶ Entry          `main`, with the arguments it will be called with

From then on `sys.argv` is the script's, its folder is first on `sys.path`, and
the module is `__fanout__` in `sys.modules`, so that its classes can be pickled.
"""

import inspect
import sys
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import decode_source
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from fanout.errors import UsageError

MODULE = "__fanout__"
_SHAPE = "write `async def main(): …`; arguments of the command are passed in order"


@dataclass(frozen=True, slots=True)
class LoadedScript:
    """A script that can be run."""

    path: Path
    """Absolute."""
    arguments: tuple[str, ...]
    code: CodeType
    source: bytes


@dataclass(frozen=True, slots=True)
class Entry:
    """`main`, and what to call it with."""

    function: Callable[..., Any]
    arguments: tuple[str, ...]

    def __call__(self) -> Any:
        """Call it; a coroutine comes back from an async one."""
        return self.function(*self.arguments)


def locate(path: str | Path, arguments: Sequence[str] = ()) -> LoadedScript:
    """Read and parse the script; runs nothing of it."""
    file = Path(path).absolute()
    try:
        source = file.read_bytes()
    except IsADirectoryError as error:
        raise UsageError(
            f"`{path}` is a folder", hint="name the script's file"
        ) from error
    except FileNotFoundError as error:
        raise UsageError(
            f"there is no script `{path}`", hint="check the path"
        ) from error
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "that is no path"
        raise UsageError(
            f"the script `{path}` cannot be read: {why}",
            hint="check its permissions",
        ) from error
    try:
        code = compile(decode_source(source), str(file), "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError) as error:
        raise UsageError(
            f"`{path}` is not valid Python: {_where(error)}", hint="mend that line"
        ) from error
    return LoadedScript(file, tuple(arguments), code, source)


def install(script: LoadedScript) -> ModuleType:
    """Make the interpreter look as a script expects, for good.

    A tool of the script may import something long after `main` has ended.
    """
    module = ModuleType(MODULE)
    module.__file__ = str(script.path)
    sys.argv = [str(script.path), *script.arguments]
    sys.path.insert(0, str(script.path.parent))
    sys.modules[MODULE] = module
    return module


def execute(script: LoadedScript, module: ModuleType) -> None:
    """Run the script's top level; whatever it raises comes out."""
    exec(script.code, module.__dict__)  # noqa: S102  running scripts is the purpose


def entry(script: LoadedScript, module: ModuleType) -> Entry:
    """Return `main` with its arguments; `UsageError` when they do not go together."""
    name = script.path.name
    main = getattr(module, "main", None)
    if main is None:
        raise UsageError(f"`{name}` has no `main`", hint=_SHAPE)
    if not callable(main):
        raise UsageError(
            f"`main` of `{name}` is {type(main).__name__}, not a function", hint=_SHAPE
        )
    try:
        signature = inspect.signature(main)
    except (TypeError, ValueError):
        return Entry(main, script.arguments)
    arguments = script.arguments if signature.parameters else ()
    try:
        signature.bind(*arguments)
    except TypeError as error:
        given = " ".join(arguments) or "none"
        raise UsageError(
            f"`main{signature}` of `{name}` cannot be called: {error}; "
            f"arguments given: {given}",
            hint=f"usage: fanout-tui {name}{_usage(signature)}",
        ) from error
    return Entry(main, arguments)


def _usage(signature: inspect.Signature) -> str:
    words = []
    for parameter in signature.parameters.values():
        if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
            words.append(f"[{parameter.name}…]")
        elif parameter.kind in (
            inspect.Parameter.POSITIONAL_ONLY,
            inspect.Parameter.POSITIONAL_OR_KEYWORD,
        ):
            optional = parameter.default is not inspect.Parameter.empty
            words.append(f"[{parameter.name}]" if optional else parameter.name.upper())
    return "".join(f" {word}" for word in words)


def _where(error: BaseException) -> str:
    if isinstance(error, SyntaxError):
        return f"line {error.lineno}: {error.msg}"
    return traceback.format_exception_only(error)[-1].strip()
