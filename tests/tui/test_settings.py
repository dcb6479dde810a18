"""File, environment, options: which holds, where it came from, what is refused."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from fanout.decide.money.pricing import BUILT_IN
from fanout.errors import UsageError
from fanout.words.budgets import Budget
from fanout.words.prices import Price
from fanout_tui.command import options as reading
from fanout_tui.command.configuring import show_config
from fanout_tui.command.entry import entry
from fanout_tui.command.settings import Layers, parse, read_layers
from fanout_tui.command.settingsmodel import NAMES

ALL = {
    "profile": "start",
    "model": "claude-opus-5",
    "concurrency": 7,
    "max-tokens-total": 1_000_000,
    "max-usd": 2.5,
    "lane": "batch",
    "allow-missing": {"audit": "5%", "main": 1},
    "timeout": {"idle": "90s"},
    "run-dir": "kept",
    "out": "made",
    "report": ["r.json"],
    "no-tui": True,
    "ascii": True,
    "theme": "light",
    "exit-when-done": True,
}


def toml(table: Mapping[str, object]) -> str:
    def value(held: object) -> str:
        if isinstance(held, Mapping):
            inner = ", ".join(f"{name} = {value(one)}" for name, one in held.items())
            return "{ " + inner + " }"
        return json.dumps(held)

    return "".join(f"{name} = {value(held)}\n" for name, held in table.items())


def options(
    folder: Path, environ: Mapping[str, str], *words: str
) -> tuple[reading.Options, dict[str, str]]:
    layers = read_layers(environ, folder)
    space = parse(reading.parser(), [*words, "s.py"], layers)
    return reading.understand(space, environ), space.origins


NOT_KEPT = {
    "simulate": "a file must not choose the account",
    "resume": "of one run",
    "fresh": "of one run",
    "only": "of one run",
    "limit": "of one run",
    "dry_run": "of one run",
    "yes": "consent is not given ahead for whoever runs it",
    "json": "the program that reads it asks for it",
    "version": "runs nothing",
    "help": "runs nothing",
}
"""Options that are no settings, and why."""


def test_each_option_is_a_setting_or_has_a_reason_not_to_be() -> None:
    options = {
        action.dest for action in reading.parser()._actions if action.option_strings
    }
    assert options == set(NAMES) | set(NOT_KEPT)
    assert not set(NAMES) & set(NOT_KEPT)


def test_every_setting_of_a_file_holds(tmp_path: Path) -> None:
    assert {name.replace("-", "_") for name in ALL} == set(NAMES)
    (tmp_path / "fanout.toml").write_text(toml(ALL))
    made, origins = options(tmp_path, {})
    config = made.config
    assert (config.profile, config.model) == ("start", "claude-opus-5")
    assert config.lane == "batch"
    assert config.concurrency == 7
    assert (config.budget.tokens, config.budget.dollars) == (1_000_000, 2.5)
    assert config.tolerance.by_phase == {"audit": "5%", "main": "1"}
    assert config.timeouts.between_bytes == 90
    assert config.run_dir == tmp_path / "kept"
    assert config.out_dir == tmp_path / "made"
    assert config.reports == (tmp_path / "r.json",)
    assert made.theme == "light"
    assert (made.tui, made.ascii, made.exit_when_done) == (False, True, True)
    for name in ALL:
        assert origins[name.replace("-", "_")] == str(tmp_path / "fanout.toml")


def test_options_go_before_environment_before_file(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(
        "[tool.fanout]\nmax-usd = 1\nmodel = 'of-file'\nallow-missing = 3\n"
    )
    environ = {"FANOUT_MAX_USD": "2", "ANTHROPIC_MODEL": "of-them"}
    made, origins = options(tmp_path, environ)
    assert (made.config.budget.dollars, made.config.model) == (2, "of-them")
    assert made.config.tolerance.overall == "3"
    assert origins["max_usd"] == f"FANOUT_MAX_USD over {tmp_path / 'pyproject.toml'}"
    environ["FANOUT_MODEL"] = "of-us"
    words = ("--max-usd", "9", "--allow-missing", "audit=1")
    made, origins = options(tmp_path, environ, *words)
    assert (made.config.budget.dollars, made.config.model) == (9, "of-us")
    assert made.config.tolerance.overall is None
    assert made.config.tolerance.by_phase == {"audit": "1"}
    assert origins["allow_missing"] == "command line"
    assert origins["concurrency"] == "default"


def test_an_explicit_default_goes_before_a_file(tmp_path: Path) -> None:
    (tmp_path / "fanout.toml").write_text('profile = "start"\nconcurrency = 3\n')
    made, _ = options(tmp_path, {}, "--profile", "evaluation", "--concurrency", "auto")
    assert made.config.profile == "evaluation"
    assert made.config.concurrency is None


def test_each_timeout_holds_by_itself(tmp_path: Path) -> None:
    (tmp_path / "fanout.toml").write_text('timeout = { idle = "90s", connect = 7 }\n')
    environ = {"FANOUT_TIMEOUT": "connect=8s,first-byte=70s"}
    made, origins = options(tmp_path, environ, "--timeout", "first-byte=60s")
    times = made.config.timeouts
    assert (times.between_bytes, times.connect, times.first_byte) == (90, 8, 60)
    assert origins["timeout"].startswith("command line over FANOUT_TIMEOUT over ")


def test_the_nearest_file_up_to_the_repository_is_read(tmp_path: Path) -> None:
    inner = tmp_path / "repo" / "a" / "b"
    inner.mkdir(parents=True)
    (tmp_path / "repo" / ".git").mkdir()
    (tmp_path / "fanout.toml").write_text("max-usd = 1\n")
    assert read_layers({}, inner) == Layers()
    (tmp_path / "repo" / "pyproject.toml").write_text("[tool.other]\nx = 1\n")
    assert read_layers({}, inner).file is None
    (tmp_path / "repo" / "pyproject.toml").write_text("[tool.fanout]\nmax-usd = 2\n")
    assert read_layers({}, inner).held["max_usd"].value == ["2"]
    (inner.parent / "fanout.toml").write_text("")
    assert read_layers({}, inner).held == {}
    assert read_layers({}, inner).file == inner.parent / "fanout.toml"


def test_environment_takes_lists_and_truth_values(tmp_path: Path) -> None:
    environ = {"FANOUT_ALLOW_MISSING": "2, audit=5%", "FANOUT_ASCII": "1"}
    made, _ = options(tmp_path, environ)
    assert made.config.tolerance.overall == "2"
    assert made.config.tolerance.by_phase == {"audit": "5%"}
    assert made.ascii is True
    made, _ = options(tmp_path, {"FANOUT_SCALE": "3", "FANOUT_MODEL": ""})
    assert made.config.model == reading.DEFAULT_MODEL


@pytest.mark.parametrize(
    ("text", "said", "hint"),
    [
        ("concurency = 3", "`concurency` is no setting", "`concurrency`"),
        ("limit = 3", "line 1: `limit` is no setting", "give --limit with"),
        ("\n# x\n'lane' = 3", "line 3: `lane` does not fit", "--lane"),
        ("prices.a = 3", "line 1: `prices.a", "output = 5.0"),
        ("nonsense = 3", "`nonsense` is no setting", "fanout-tui config"),
        ("api-key = 'sk-1'", "`api-key` is no setting", "ANTHROPIC_API_KEY"),
        ("base_url = 'http://x'", "`base_url` is no setting", "ANTHROPIC_BASE_URL"),
        ("auth-token = 'x'", "is no setting", "ANTHROPIC_AUTH_TOKEN"),
        ("simulate = true", "is no setting", "--simulate"),
        ("ascii = 'maybe'", "`ascii` does not fit", "--ascii"),
        ("model = 3", "`model` does not fit", "--model"),
        ("max-usd = true", "`max-usd` does not fit", "--max-usd"),
        ("max-usd = -1", "--max-usd takes dollars above 0", "--max-usd 2.50"),
        ("max-usd = nan", "--max-usd takes dollars above 0", "--max-usd 2.50"),
        ("concurrency = 0", "--concurrency takes a whole number", "20"),
        ("allow-missing = { audit = '200%' }", "fanout.toml takes N", "audit=5%"),
        ("theme = 'pink'", "--theme takes", "terminal"),
        ("model = ", "cannot be read", "mend it"),
        ("\udcff", "cannot be read", "mend it"),
    ],
)
def test_mistakes_name_the_place_and_a_way_out(
    tmp_path: Path, text: str, said: str, hint: str
) -> None:
    path = tmp_path / "fanout.toml"
    path.write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises(UsageError) as caught:
        options(tmp_path, {})
    assert said in str(caught.value)
    assert hint in (caught.value.hint or "")
    assert "sk-1" not in f"{caught.value} {caught.value.hint}"


def test_a_value_that_is_wrong_is_named_with_its_place(tmp_path: Path) -> None:
    path = tmp_path / "fanout.toml"
    path.write_text("max-usd = ['audit=-2']\nlane = 'slow'\n")
    for environ, words, place in (
        ({}, (), f"`-2`, in {path}"),
        ({"FANOUT_MAX_USD": "-7"}, ("--max-usd", "audit=1"), "`-7`, in FANOUT_MAX_USD"),
        ({}, ("--max-usd", "audit=1"), f"`slow`, in {path}"),
        ({}, ("--max-usd", "audit=x"), "`x`"),
    ):
        with pytest.raises(UsageError) as caught:
            options(tmp_path, environ, *words)
        assert str(caught.value).endswith(place)


def test_a_section_that_is_no_table_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool]\nfanout = 3\n")
    with pytest.raises(UsageError, match=r"tool\.fanout .* is no table"):
        read_layers({}, tmp_path)


def test_config_shows_what_holds_and_no_key(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "fanout.toml").write_text("max-usd = 5\n")
    environ = {"ANTHROPIC_API_KEY": "sk-secret", "FANOUT_CONCURRENCY": "9"}
    layers = read_layers(environ, tmp_path)
    show_config(["--ascii"], environ, layers, as_json=False)
    out = capsys.readouterr().out
    lines = {line.split()[0]: line.split()[1:] for line in out.splitlines() if line}
    assert lines["max-usd"] == ["5", str(tmp_path / "fanout.toml")]
    assert lines["concurrency"] == ["9", "FANOUT_CONCURRENCY"]
    assert lines["ascii"] == ["true", "command", "line"]
    assert lines["model"] == [reading.DEFAULT_MODEL, "default"]
    assert lines["key"] == ["set", "ANTHROPIC_API_KEY"]
    assert "sk-secret" not in out
    show_config([], environ, layers, as_json=True)
    told = json.loads(capsys.readouterr().out)
    assert told["settings"]["max_usd"] == {"value": ["5"], "from": str(tmp_path / "fanout.toml")}  # fmt: skip
    monkeypatch.chdir(tmp_path)
    (tmp_path / "fanout.toml").write_text("x = 5\n")
    assert entry(["config"], environ) == 2
    told = capsys.readouterr()
    assert {f"  {name.replace('_', '-')} " in told.out for name in NAMES} == {True}
    assert "line 1: `x` is no setting" in told.err
    assert entry(["--no-tui", "s.py"], environ) == 2


def test_config_shows_of_each_part_where_it_came_from(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "pyproject.toml").write_text(
        "[project]\nmax-usd = 1\n[tool.fanout]\nmax-usd = ['audit=2', '5']\n"
        "timeout = 'idle=3m, connect=4s'\n"
    )
    file = str(tmp_path / "pyproject.toml")
    layers = read_layers({"FANOUT_MAX_USD": "7"}, tmp_path)
    show_config(["--timeout", "connect=5s"], {}, layers, as_json=False)
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    at = lines.index(["max-usd", "7", "FANOUT_MAX_USD"])
    assert lines[at + 1] == ["audit=2", file]
    at = lines.index(["timeout", "idle=3m", file])
    assert lines[at + 1] == ["connect=5s", "command", "line"]
    (tmp_path / "pyproject.toml").write_text(
        "[project]\nlimit = 1\n[tool.fanout]\nlimit = 5\n"
    )
    with pytest.raises(UsageError, match=r"pyproject.toml, line 4: `limit` is no"):
        read_layers({}, tmp_path)


def test_runs_and_reports_look_where_the_file_says(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "fanout.toml").write_text('run-dir = "kept"\n')
    monkeypatch.chdir(tmp_path)
    assert entry(["report", "last"], {}) == 2
    assert str(tmp_path / "kept") in capsys.readouterr().err


def test_budgets_are_of_the_run_or_of_a_phase(tmp_path: Path) -> None:
    (tmp_path / "fanout.toml").write_text(
        "max-usd = { audit = 2.5, sum = 1 }\nmax-tokens-total = '1,000,000, sum=9_000'\n"
    )
    words = ("--max-usd", "10", "--max-usd", "audit=3")
    made, _ = options(tmp_path, {}, *words)
    assert made.config.budget == Budget(tokens=1_000_000, dollars=10)
    assert made.config.phase_budgets == {
        "audit": Budget(dollars=3),
        "sum": Budget(tokens=9_000, dollars=1),
    }
    for word in ("=3", "audit=", "audit=x", "a//b=3"):
        with pytest.raises(UsageError) as caught:
            options(tmp_path, {}, "--max-usd", word)
        assert "--max-usd" in str(caught.value)


def test_prices_go_over_the_built_in_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "pyproject.toml"
    path.write_text(
        '[tool.fanout.prices."my-model"]\ninput = 1\noutput = 5.5\ncache_read = 0.2\n'
    )
    layers = read_layers({}, tmp_path)
    made, origins = options(tmp_path, {})
    table = made.config.prices
    assert table.models["my-model"] == Price(input=1, output=5.5, cache_read=0.2)
    assert table.overridden == ("my-model",)
    assert origins["prices"] == str(path)
    show_config([], {}, layers, as_json=False)
    (line,) = [s for s in capsys.readouterr().out.splitlines() if "prices " in s]
    assert f"as of {BUILT_IN.as_of}" in line
    assert "overridden for my-model" in line
    assert str(path) in line


@pytest.mark.parametrize(
    "price", ["1", "{ input = 1 }", "{ input = -1, output = 1 }", "{ inptu = 1 }"]
)
def test_a_price_that_is_none_says_where_and_how(tmp_path: Path, price: str) -> None:
    (tmp_path / "fanout.toml").write_text(f"prices.mine = {price}\n")
    with pytest.raises(UsageError) as caught:
        read_layers({}, tmp_path)
    assert "`prices.mine" in str(caught.value)
    assert "output = 5.0" in (caught.value.hint or "")
