"""How a verb is called is written once: for its help, and for what it refuses."""

import argparse
import inspect
import os
import re
from pathlib import Path

import pytest

from fanout.access import PROFILES
from fanout.simulator.profile import NAMES
from fanout_tui import jsonlines
from fanout_tui.command import verbs
from fanout_tui.command.entry import entry
from fanout_tui.command.options import parser
from fanout_tui.command.settings import Layers, parse
from fanout_tui.command.usage import RUN, USAGE_OF, usage
from fanout_tui.command.verbparsers import parser_of
from fanout_tui.view import changes


@pytest.mark.parametrize("verb", USAGE_OF)
def test_every_verb_has_its_help(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert entry([verb, "--help"], {}) == 0
    told = capsys.readouterr().out
    assert told.startswith(f"usage: {usage(verb)}\n\n")
    assert getattr(verbs, verb).__doc__ in " ".join(told.split())
    if "RUN" in USAGE_OF[verb]:
        assert RUN in " ".join(told.split())


@pytest.mark.parametrize("verb", USAGE_OF)
def test_help_explains_what_usage_names(verb: str) -> None:
    shown = [
        action
        for action in parser_of(verb)._actions
        if action.option_strings and action.help != argparse.SUPPRESS
    ]
    assert all(len(action.help or "") > len("a word") for action in shown)
    offered = {name for action in shown for name in action.option_strings}
    offered -= {"-h", "--help"}
    said = {word.strip("[]|") for word in USAGE_OF[verb].split()}
    named = {word for word in said if word.startswith("--")}
    assert named == offered or ("[options]" in USAGE_OF[verb] and named < offered)


def test_an_option_of_the_command_is_explained_alike_everywhere() -> None:
    ours = {a.option_strings[-1]: a.help for a in parser()._actions if a.option_strings}
    for verb, name in (("watch", "--json"), ("runs", "--run-dir"), ("demo", "--ascii")):
        (found,) = [a for a in parser_of(verb)._actions if name in a.option_strings]
        assert found.help == ours[name]


@pytest.fixture
def in_a_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.py").write_text("async def main(): pass\n")


@pytest.mark.usefixtures("in_a_folder")
@pytest.mark.parametrize(
    ("words", "said", "hint"),
    [
        ("--simulat s.py", "no option `--simulat`", "`--simulate`"),
        ("--limt 3 s.py", "no option `--limt`", "`--limit`"),
        ("--limt=3 s.py", "no option `--limt`", "`--limit`"),
        ("--qqq s.py", "no option `--qqq`", "see fanout-tui --help"),
        ("report last --formt md", "no option `--formt`", "`--format`"),
        ("runs --qqq", "no option `--qqq`", "see fanout-tui runs --help"),
        ("report a b", "`b` is one word too many", "fanout-tui report --help"),
        ("--simulate runs", "`runs` comes first", "fanout-tui runs   ("),
        (
            "--simulate --limit 2 --report=r.md resume last",
            "`resume` comes first",
            "fanout-tui resume last --limit 2 --report=r.md   (",
        ),
        ("--profile start --yes demo", "`demo` comes first", "fanout-tui demo   ("),
        ("resum last", "no script `resum`", "`fanout-tui resume`"),
        ("resume", "resume takes one run", "fanout-tui resume last"),
        ("config s.py", "options only, not `s.py`", "config --help"),
        ("--simulate --profile nosuch s.py", "no profile `nosuch`", "there are demo, "),
        ("--simulate --dry-run --profile buidl s.py", "no profile", "`build`"),
    ],
)
def test_what_was_meant_is_said(
    words: str, said: str, hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert entry(words.split(), {"PATH": os.environ["PATH"]}) == 2
    told = capsys.readouterr().err
    assert said in told.partition("hint: ")[0]
    assert hint in told.partition("hint: ")[2]
    assert "Errno" not in told


@pytest.mark.parametrize(
    "words",
    [
        ["last", "--dry-run", "--limit", "2"],
        ["--dry-run", "last", "--limit", "2"],
        ["--dry-run", "--limit", "2", "last"],
    ],
)
def test_options_may_stand_on_either_side_of_a_run(words: list[str]) -> None:
    space = parse(parser_of("resume"), words, Layers())
    assert (space.rest, space.dry_run, space.limit) == (["last"], True, "2")


def test_profiles_are_known_where_none_is_read() -> None:
    assert PROFILES == NAMES


def test_the_readme_names_every_event() -> None:
    readme = (Path(__file__).parents[2] / "README.md").read_text("utf-8")
    (told,) = [
        part for part in readme.split("\n\n") if part.startswith("With `--json`")
    ]
    made = inspect.getsource(changes) + inspect.getsource(jsonlines)
    events = set(re.findall(r'Change\("(\w+)"|"event": "(\w+)"', made))
    named = {first or second for first, second in events}
    assert len(named) > 10
    assert {f"`{name}`" for name in named} <= set(re.findall(r"`\w+`", told))


@pytest.mark.usefixtures("in_a_folder")
@pytest.mark.parametrize("size", [300, 5_000])
@pytest.mark.parametrize(
    "words",
    [
        ("{}",),
        ("{}.py", "an argument"),
        ("--run-dir", "{}", "--simulate", "s.py"),
        ("--out", "{}", "--simulate", "s.py"),
        ("--report", "{}.md", "--simulate", "s.py"),
        ("--report", "{}/a.md", "--simulate", "s.py"),
        ("--profile", "{}", "--simulate", "s.py"),
        ("--resume", "{}", "--simulate", "s.py"),
        *((verb, "{}") for verb in ("report", "resume", "watch", "replay", "check")),
        ("runs", "--delete", "{}"),
    ],
)
def test_a_name_that_no_file_can_have_is_not_there(
    words: tuple[str, ...], size: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert entry([word.format("x" * size) for word in words], {}) == 2
    told = capsys.readouterr().err
    assert "fanout-tui: " in told
    assert "Traceback" not in told


@pytest.mark.usefixtures("in_a_folder")
def test_runs_of_such_a_folder_are_none(capsys: pytest.CaptureFixture[str]) -> None:
    assert entry(["runs", "--run-dir", "x" * 300], {}) == 0
    assert "no runs in" in capsys.readouterr().out
