"""What a script's author meets: the names, their help, and their types."""

import pydoc
import re
import subprocess
import sys
from pathlib import Path

import pytest

import fanout
from fanout.public import HOMES

ROOT = Path(fanout.__file__).parents[2]


def test_every_public_name_is_there_and_nothing_else() -> None:
    for name in fanout.__all__:
        assert getattr(fanout, name) is not None
    assert dir(fanout) == sorted(fanout.__all__) == sorted(HOMES)
    with pytest.raises(AttributeError, match="no attribute 'agnet'"):
        _ = fanout.agnet


def test_help_says_of_every_name_what_it_is_for() -> None:
    told = pydoc.plain(pydoc.render_doc(fanout))
    intro = told[: told.index("PACKAGE CONTENTS")]
    assert "fanout-tui --simulate script.py" in intro
    for name in fanout.__all__:
        assert re.search(rf"^ +(\w+, )?{name}\b.{{6,}}", intro, re.MULTILINE), name
    assert "lazy" not in intro
    assert all(len(line) < 96 for line in intro.splitlines())


SCRIPT = """
import fanout


def ask(part: fanout.Partition) -> fanout.Agent[str]:
    return fanout.agent("Review this.", key=part.key, inputs=part)


def cut(root: str) -> fanout.Partitions:
    try:
        return fanout.partition(root, "**/*.py", max_tokens=30_000)
    except fanout.UsageError as error:
        raise SystemExit(error.hint) from error


async def main(root: str = "src") -> list[str]:
    results: fanout.Results[str] = await fanout.parallel(ask(p) for p in cut(root))
    one = await fanout.agent("Count.", key="n", schema=int)
    reveal_type(one.value)
    reveal_type(results.values())
    fanout.agnet("a misspelt name")
    fanout.read_tools(root, to_thread=None)
    return [done.value for done in results.done]
"""


def as_a_user_would(folder: Path, script: Path | str) -> list[str]:
    """What `mypy --strict` says of a script, outside this project."""
    if isinstance(script, str):
        (folder / "script.py").write_text(script)
        script = folder / "script.py"
    cache = ROOT / ".mypy_cache" / "users"
    ran = subprocess.run(
        [
            *(sys.executable, "-m", "mypy", "--strict", "--no-error-summary"),
            *("--cache-dir", str(cache), "--config-file", ""),
            str(script),
        ],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    return [line.partition(": ")[2] for line in ran.stdout.splitlines()]


@pytest.mark.long
def test_types_tell_a_user_what_is_wrong_with_a_script(tmp_path: Path) -> None:
    assert (Path(fanout.__file__).parent / "py.typed").exists()
    told = as_a_user_would(tmp_path, SCRIPT)
    said = [line.split("  [")[0] for line in told]
    assert [
        line for line in said if "defined in" not in line and "See http" not in line
    ] == [
        'note: Revealed type is "int"',
        'note: Revealed type is "list[str]"',
        'error: Module has no attribute "agnet"; maybe "agent"?',
        'error: Unexpected keyword argument "to_thread" for "read_tools"',
    ]


@pytest.mark.long
def test_the_scripts_that_users_read_are_typed(tmp_path: Path) -> None:
    readme = (ROOT / "README.md").read_text()
    (script,) = re.findall(r'```python\n("""Audit.*?)```', readme, re.DOTALL)
    assert as_a_user_would(tmp_path, script) == []
