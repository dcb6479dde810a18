"""Ramp, cache, faults, directives, counter and profiles on plain values."""

from pathlib import Path

import pytest

from fanout.simulator import directives, profile, tokens
from fanout.simulator.cache import Block, PromptCache
from fanout.simulator.faults import FaultPlan, FaultRule, Target
from fanout.simulator.ramp import Ramp


def target(digest: str = "d", occurrence: int = 0, **more: str) -> Target:
    said = {"text": "all", "last_text": "last", "row": "", "endpoint": "messages"}
    return Target(digest=digest, occurrence=occurrence, **(said | more))


def prompt(*names: str, size: int = 600, points: tuple[int, ...] = ()) -> list[Block]:
    return [
        Block(content=name, tokens=size, ttl="5m" if at in points else None)
        for at, name in enumerate(names)
    ]


def test_the_ramp_follows_what_was_used() -> None:
    ramp = Ramp(start=1_000, step=500)
    ramp.charge(30, 900)
    steep = ramp.steepness(30, 101)
    assert steep is not None
    assert (steep.ceiling, steep.following, steep.retry_after) == (1_000, 1_400, 30)
    assert ramp.steepness(60, 101) is None
    ramp.charge(60, 1_400)
    assert ramp.steepness(61, 1) is not None
    assert ramp.steepness(121, 1_900) is None
    ramp.charge(121, 1)
    assert ramp.steepness(400, 5_000) is None
    ramp.charge(400, 1_000)
    assert ramp.steepness(401, 1) is not None


def test_a_prefix_is_readable_once_its_writer_began() -> None:
    cache = PromptCache()
    asked = prompt("system", "shared", "own", points=(1,))
    first = cache.split("s", asked, 512, 0)
    assert (first.uncached, first.created, first.read) == (600, 1_200, 0)
    assert cache.split("s", asked, 512, 1).created == 1_200
    cache.publish(first, 0)
    other = prompt("system", "shared", "else", points=(1,))
    again = cache.split("s", other, 512, 1)
    assert (again.uncached, again.created, again.read) == (600, 0, 1_200)
    assert again.charged == 600
    assert cache.split("other model", other, 512, 1).read == 0


def test_a_lifetime_runs_from_the_start_of_the_last_use() -> None:
    cache = PromptCache()
    asked = prompt("shared", points=(0,))
    first = cache.split("s", asked, 512, 0)
    cache.publish(first, 0)
    cache.touch(cache.split("s", asked, 512, 290), 290)
    assert cache.split("s", asked, 512, 589).read == 600
    assert cache.split("s", asked, 512, 590).read == 0


def test_below_the_minimum_nothing_is_cached() -> None:
    split = PromptCache().split("s", prompt("a", size=511, points=(0,)), 512, 0)
    assert (split.uncached, split.created, split.writes) == (511, 0, ())


@pytest.mark.parametrize(("blocks_between", "read"), [(19, 600), (20, 0)])
def test_a_read_looks_twenty_blocks_back(blocks_between: int, read: int) -> None:
    cache = PromptCache()
    cache.publish(cache.split("s", prompt("a", points=(0,)), 512, 0), 0)
    more = [f"b{at}" for at in range(blocks_between)]
    asked = prompt("a", *more, points=(blocks_between,))
    assert cache.split("s", asked, 512, 1).read == read


def test_writes_are_told_by_lifetime() -> None:
    blocks = [
        Block(content="a", tokens=600, ttl="1h"),
        Block(content="b", tokens=700, ttl="5m"),
    ]
    split = PromptCache().split("s", blocks, 512, 0)
    assert split.written == {"1h": 600, "5m": 700}


def test_faults_by_schedule_count_from_their_start() -> None:
    rule = FaultRule.model_validate({"kind": "overloaded", "from": 10, "to": 20})
    plan = FaultPlan((rule,), 0, started_at=100)
    hits = [bool(plan.first("overload", target(), now)) for now in (109, 110, 119, 120)]
    assert hits == [False, True, True, False]
    assert plan.first("refusal", target(), 115) is None
    assert plan.struck() == {"overloaded": 2}


def test_faults_by_chance_are_the_same_each_time_and_differ_by_try() -> None:
    rule = FaultRule(kind="server_error", probability=0.3)

    def hits(seed: int) -> list[bool]:
        plan = FaultPlan((rule,), seed, 0)
        return [
            plan.first("overload", target(str(at % 50), at // 50), 0) is not None
            for at in range(1_000)
        ]

    assert hits(1) == hits(1)
    assert hits(1) != hits(2)
    assert 250 < sum(hits(1)) < 350
    assert hits(1)[:50] != hits(1)[50:100]


def test_faults_by_match_and_number() -> None:
    rules = (
        FaultRule(kind="cut", match="al+", match_last="^last$", times=1),
        FaultRule(kind="reset", row="audit/"),
    )
    plan = FaultPlan(rules, 0, 0)
    assert plan.first("stream", target(last_text="not last"), 0) is None
    assert plan.first("stream", target(), 0) == rules[0]
    assert plan.first("stream", target(), 0) is None
    assert plan.first("stream", target(row="audit/core"), 0) == rules[1]


def test_directives_are_read_anywhere_and_nonsense_is_ignored() -> None:
    text = "a [[sim: turns=4 output=800, stop=refusal]] b [[sim: output=9 empty x=1]]"
    ordered = directives.parse(text)
    assert (ordered.turns, ordered.output, ordered.stop) == (4, 9, "refusal")
    assert ordered.empty == 1
    assert directives.parse("[[sim: turns=many stop=never]]") == directives.Directive()
    assert directives.strip(text) == "a  b "


def test_what_the_model_says_is_counted_linearly_in_bytes() -> None:
    assert tokens.text_tokens("") == 0
    assert tokens.text_tokens("x" * 3_600) == 1_000
    assert tokens.text_tokens("\u00e9" * 1_800) == 1_000


def test_every_profile_that_comes_along_is_sound() -> None:
    limits = {name: profile.load(name).limits for name in profile.NAMES}
    assert limits["evaluation"].numbers().input_tokens == 30_000
    assert limits["start"].requests == 1_000
    assert limits["build"].input_tokens == 5_000_000
    assert limits["scale"].output_tokens == 2_000_000
    assert profile.load("start").limits_of("fable-5").input_tokens == 500_000
    assert profile.load("demo").burst.input_tokens < 0.2


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("[limits", "is not TOML"),
        ("[limits]\nrequests = 0\n", "limits.requests: input should be greater"),
        ("[generation.output_tokens]\nmin = 2\nmax = 1\n", "max is below min"),
        ("[[faults]]\nprobability = 1\n", "faults.0.kind: field required"),
        ("colour = 1\n", "colour: extra inputs are not permitted"),
        ("[pools.opus]\n", "no pool 'opus'"),
    ],
)
def test_a_bad_profile_is_told_in_one_sentence(
    tmp_path: Path, text: str, complaint: str
) -> None:
    file = tmp_path / "p.toml"
    file.write_text(text)
    with pytest.raises(profile.ProfileError) as caught:
        profile.load(str(file))
    assert complaint in str(caught.value)
    assert "; hint: " in str(caught.value)
    assert "\n" not in str(caught.value)
