"""What the auditor looks for, and where it finds it.

One finding a line at most: the first rule that fits, most telling first. A rule
is a pattern in the code, so a finding can always be checked by looking at the
line it names. Comment lines count for marks only.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate

from fanout.simulator.sources import Line

SEVERITIES = ("low", "medium", "high", "critical")


@dataclass(frozen=True, slots=True)
class Rule:
    """A pattern, what is wrong with it, how badly, and whose topic it is."""

    name: str
    pattern: re.Pattern[str]
    problem: str
    severity: str
    topic: str
    """files, running, errors, data or marks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One line of one file, and what is wrong there."""

    file: str
    line: int
    code: str
    """The line without its indentation."""
    rule: str
    problem: str
    severity: str


def _rule(name: str, pattern: str, problem: str, severity: str, topic: str) -> Rule:
    return Rule(name, re.compile(pattern), problem, severity, topic)


# Spelt so that looking for such marks does not find this file.
_MARK_WORDS = tuple(
    word.replace("-", "") for word in ("TO-DO", "FIX-ME", "XX-X", "HA-CK")
)
_MARKS = "|".join(_MARK_WORDS)

RULES = (
    _rule(
        "unpickling", r"\b(?:c?[pP]ickle|dill|shelve)\.(?:loads?|open)\(",
        "unpickles data that may not be trusted", "critical", "data",
    ),
    _rule(
        "shell", r"\bshell\s*=\s*True|\bos\.(?:system|popen)\(",
        "runs a command through the shell", "critical", "running",
    ),
    _rule(
        "evaluation", r"(?<![\w.])(?:eval|exec)\(",
        "evaluates text as code", "critical", "running",
    ),
    _rule(
        "yaml", r"\byaml\.load\((?!.*Safe)",
        "loads YAML that may build any object", "high", "data",
    ),
    _rule(
        "tree removal", r"\brmtree\(", "removes a whole tree", "high", "files",
    ),
    _rule(
        "temporary name", r"\btempfile\.mktemp\(|(?<![\w.])mktemp\(",
        "makes a temporary name that another process can take", "high", "files",
    ),
    _rule(
        "archive", r"\.extractall\(",
        "unpacks an archive whose names may lead outside", "high", "files",
    ),
    _rule(
        "permissions", r"\b(?:os\.)?chmod\(", "changes permissions", "medium", "files",
    ),
    _rule(
        "removal",
        r"\bos\.(?:remove|unlink|rmdir|removedirs)\(|\.unlink\(|(?<![\w.])unlink\(",
        "removes a file without a way back", "medium", "files",
    ),
    _rule(
        "open without with", r"(?:(?<![\w.])|\w\.)open\(",
        "opens a file without a `with` block", "medium", "files",
    ),
    _rule(
        "replacement", r"\b(?:os\.(?:rename|replace)|shutil\.(?:move|copy\w*))\(",
        "replaces a file that may exist", "low", "files",
    ),
    _rule(
        "bare except", r"^\s*except\s*:", "catches every exception, exits included",
        "medium", "errors",
    ),
    _rule(
        "swallowed", r"^\s*except\s+(?:Base)?Exception\s*:\s*(?:pass|\.\.\.)",
        "swallows every error", "medium", "errors",
    ),
    _rule(
        "process", r"\bsubprocess\.\w+\(", "starts another program", "low", "running",
    ),
    _rule(
        "mark", rf"\b(?:{_MARKS})\b", "is marked as unfinished", "low", "marks",
    ),
)  # fmt: skip

_TOPICS = {
    "files": r"file|path|disk|delet|remov|filesystem|i/o\b",
    "running": r"command|shell|subprocess|inject|eval\b|exec",
    "errors": r"except|error.handling|swallow",
    "data": r"pickle|deserial|yaml|untrusted data",
    "marks": rf"(?i:{_MARKS})|unfinished|leftover",
}
_EVERYTHING = re.compile(
    r"\b(?:audit|security|vulnerab\w*|review|bugs?|all (?:problems|issues|findings))\b",
    re.IGNORECASE,
)
_DEFINITION = re.compile(r"^\s*(?:async\s+)?def\s|^\s*class\s|^\s*(?:from|import)\s")
_MANAGED = re.compile(r"\bwith\b|\bos\.open\(|enter_context\(|webbrowser\.open\(")
# Every line that a rule fits holds one of these. Finding them in a whole file at
# once costs a hundredth of trying the patterns on each of its lines.
_NEEDLES = (
    "ickle.", "dill.", "shelve.", "shell", "system(", "popen(", "eval(", "exec(",
    "yaml.load(", "rmtree(", "mktemp(", "extractall(", "chmod(", "remove(",
    "unlink(", "rmdir(", "removedirs(", "open(", "rename(", "replace(", "move(",
    ".copy", "except", "subprocess.", *_MARK_WORDS,
)  # fmt: skip


def topics(prompt: str) -> frozenset[str]:
    """What a prompt asks about; everything but marks if it does not say."""
    asked = {
        topic
        for topic, words in _TOPICS.items()
        if re.search(words, prompt, re.IGNORECASE)
    }
    # "These files" is how any task begins; only acts on files make it a topic.
    about_files = re.search(
        r"file (?:operation|handling|access|use|system)|(?:unsafe|delet\w*|remov\w*)"
        r"[^.]{0,40}\bfiles?\b|filesystem|file-",
        prompt,
        re.IGNORECASE,
    )
    if about_files is None:
        asked.discard("files")
    if not asked or (_EVERYTHING.search(prompt) and "files" not in asked):
        asked |= set(_TOPICS) - {"marks"}
    return frozenset(asked)


def audit(
    sources: Mapping[str, Iterable[Line]], asked: frozenset[str]
) -> tuple[Finding, ...]:
    """Every finding in the sources on the topics asked for, in file order."""
    found: list[Finding] = []
    for path, lines in sources.items():
        found.extend(_of_file(path, tuple(lines), asked))
    return tuple(found)


@lru_cache(maxsize=2_048)
def _of_file(
    path: str, lines: tuple[Line, ...], asked: frozenset[str]
) -> tuple[Finding, ...]:
    found: list[Finding] = []
    for line in suspects(lines):
        rule = _first_rule(line.text, asked)
        if rule is not None:
            found.append(
                Finding(
                    file=path,
                    line=line.number,
                    code=line.text.strip(),
                    rule=rule.name,
                    problem=rule.problem,
                    severity=rule.severity,
                )
            )
    return tuple(found)


def suspects(lines: Sequence[Line]) -> list[Line]:
    """The lines that a rule may fit, in order."""
    text = "\n".join(line.text for line in lines)
    starts = [0, *accumulate(len(line.text) + 1 for line in lines)]
    hits: set[int] = set()
    for needle in _NEEDLES:
        at = text.find(needle)
        while at >= 0:
            index = bisect_right(starts, at) - 1
            hits.add(index)
            at = text.find(needle, starts[index + 1])
    return [lines[index] for index in sorted(hits)]


def _first_rule(text: str, asked: frozenset[str]) -> Rule | None:
    comment = text.lstrip().startswith("#")
    for rule in RULES:
        if rule.topic not in asked or (comment and rule.topic != "marks"):
            continue
        if rule.pattern.search(text) and not _is_harmless(rule, text):
            return rule
    return None


def _is_harmless(rule: Rule, text: str) -> bool:
    if rule.topic != "marks" and _DEFINITION.match(text):
        return True
    return rule.name == "open without with" and _MANAGED.search(text) is not None
