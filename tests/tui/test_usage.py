"""How a verb is called is written once: for its help, and for what it refuses."""

from pathlib import Path

import pytest

from fanout.errors import UsageError
from fanout_tui.command import verbs
from fanout_tui.command.entry import entry
from fanout_tui.command.usage import USAGE_OF, usage


@pytest.mark.parametrize("verb", USAGE_OF)
def test_every_verb_has_its_help(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert callable(getattr(verbs, verb))
    assert entry([verb, "--help"], {}) == 0
    told = capsys.readouterr().out
    assert told.startswith(f"usage: {usage(verb)}\n\n")
    assert getattr(verbs, verb).__doc__ in told


@pytest.mark.parametrize("verb", ["runs", "report", "watch", "replay", "simulate"])
def test_what_a_parser_takes_is_what_its_usage_says(
    verb: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    taken: set[str] = set()
    made = verbs._parser

    def parser(name: str):  # type: ignore[no-untyped-def]
        found = made(name)
        monkeypatch.setattr(found, "parse_args", lambda _: stop(found))
        return found

    def stop(found) -> None:  # type: ignore[no-untyped-def]
        taken.update(o for a in found._actions for o in a.option_strings)
        assert found.usage == usage(verb)
        raise UsageError("enough", hint="")

    monkeypatch.setattr(verbs, "_parser", parser)
    with pytest.raises(UsageError, match="enough"):
        getattr(verbs, verb)([], {})
    said = {word.strip("[]|") for word in USAGE_OF[verb].split()}
    options = {word for word in said if word.startswith("--")}
    assert options == taken - {"-h", "--help"}
