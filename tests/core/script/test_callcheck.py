"""What surely cannot work is found without running it, and nothing else is."""

import ast
from pathlib import Path

import pytest

import fanout.examples
from fanout.script.callcheck import mistakes

SURE = [
    ("import fanout\nfanout.agent('x')", 2, "agent() needs `key`", "key=part.key"),
    (
        "import fanout as f\n\nf.agent('x', key='a', max_token=5)",
        3,
        "agent() takes no `max_token`",
        "did you mean `max_tokens`?",
    ),
    (
        "from fanout import agent as a\na('x', 'y')",
        2,
        "agent() takes 1 without a name, and has 2",
        "key=",
    ),
    (
        "import fanout\nfanout.agent('x', kee=1, **more)",
        2,
        "agent() takes no `kee`",
        "`key`",
    ),
    ("import fanout\nfanout.agnt('x')", 2, "fanout has no `agnt`", "`agent`"),
    (
        "import fanout\nwith fanout.phase('a', alow_missing=1): pass",
        2,
        "phase() takes no `alow_missing`",
        "`allow_missing`",
    ),
    (
        "import fanout\nfanout.partition('src', '*.py')",
        2,
        "partition() needs `max_tokens`",
        "max_tokens=…",
    ),
]


@pytest.mark.parametrize(("source", "line", "text", "hint"), SURE)
def test_a_call_that_would_raise_is_found(
    source: str, line: int, text: str, hint: str
) -> None:
    (found,) = mistakes(ast.parse(source))
    assert (found.line, found.text) == (line, text)
    assert hint in found.hint


@pytest.mark.parametrize(
    "source",
    [
        "import fanout\nfanout.agent('x', **more)",
        "import fanout\nfanout.agent(*words, key='a')",
        "import fanout\nfanout.pipeline(items, one, two, three)",
        "import fanout\nfanout.log(text='x')",
        "import fanout\ndef f(fanout): fanout.agent()",
        "from fanout import agent\ndef agent(*a): ...\nagent()",
        "from fanout import agent\nfor agent in range(3): agent()",
        "from mine import agent\nagent()",
        "try:\n import fanout\nexcept ImportError:\n fanout = None\nfanout.agent()",
        "import fanout.errors\nfanout.errors.UsageError()",
        "import fanout\nmatch x:\n case {**fanout}: fanout.agent()",
        "import fanout\nx = " + "+".join(["1"] * 900),
    ],
)
def test_what_may_work_is_left_alone(source: str) -> None:
    assert mistakes(ast.parse(source)) == []


def test_the_examples_are_clean() -> None:
    folder = Path(str(fanout.examples.__file__)).parent
    for path in folder.glob("*.py"):
        assert mistakes(ast.parse(path.read_text())) == []
