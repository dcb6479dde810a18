"""Rules about the code's own shape that no linter states."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SOURCES = sorted([*ROOT.glob("core/**/*.py"), *ROOT.glob("tui/**/*.py")])
FUNCTION_LINES_MAX = 50
FILE_LINES_MAX = 400
MARKS = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b")


def functions(tree: ast.Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def length(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines of a function without its docstring and its signature."""
    body = function.body
    if ast.get_docstring(function) is not None and len(body) > 1:
        body = body[1:]
    assert function.end_lineno is not None
    return function.end_lineno - body[0].lineno + 1


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: str(p.relative_to(ROOT)))
def test_files_and_functions_fit_the_reader(path: Path) -> None:
    text = path.read_text()
    assert len(text.splitlines()) <= FILE_LINES_MAX
    for function in functions(ast.parse(text)):
        assert length(function) <= FUNCTION_LINES_MAX, f"{path}:{function.lineno}"


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: str(p.relative_to(ROOT)))
def test_no_marks_of_unfinished_work(path: Path) -> None:
    assert not MARKS.search(path.read_text())


def test_the_length_rule_itself_can_fail() -> None:
    long = "def f():\n" + "    x = 1\n" * (FUNCTION_LINES_MAX + 1)
    assert length(next(functions(ast.parse(long)))) > FUNCTION_LINES_MAX


def loaded_by(statement: str) -> set[str]:
    """Top-level modules in memory after a statement ran in a fresh process."""
    probe = f"{statement}\nimport sys; print(*{{m.split('.')[0] for m in sys.modules}})"
    ran = subprocess.run(
        [sys.executable, "-c", probe], capture_output=True, text=True, check=True
    )
    return set(ran.stdout.split())


def test_importing_core_loads_no_terminal_code_and_no_sdk() -> None:
    loaded = loaded_by("import fanout, fanout.life")
    assert not loaded & {"textual", "rich", "fanout_tui", "anthropic"}


def test_the_screen_paints_before_the_sdk_is_imported() -> None:
    assert "anthropic" not in loaded_by("import fanout_tui.app, fanout_tui.__main__")


def test_help_and_plain_output_need_no_textual() -> None:
    assert "textual" not in loaded_by("import fanout_tui.__main__, fanout_tui.plain")
