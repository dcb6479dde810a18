"""What a property's name asks for, and what is known of it."""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from fanout.simulator import facts, prose
from fanout.simulator.audit import SEVERITIES, Finding
from fanout.simulator.knowledge import Knowledge

_BAD = re.compile(
    r"unsafe|fail|bad|problem|issue|dirty|vulnerab|risky|found|yes|warn", re.IGNORECASE
)
_GOOD = re.compile(r"safe|pass|ok|good|clean|none|no\b|fine", re.IGNORECASE)


def words(name: str) -> set[str]:
    """A name's words: `lineNumber` and `line_number` are line and number."""
    spread = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name)
    return {word for word in re.split(r"[^a-z0-9]+", spread.lower()) if word}


_FILE = {
    "file",
    "files",
    "path",
    "paths",
    "module",
    "modules",
    "filename",
    "filepath",
    "location",
}
_LINE = {"line", "lineno", "row"}
_PROBLEM = {
    "problem", "issue", "message", "description", "text", "title", "explanation",
    "reason", "detail", "details", "finding", "what", "why", "note", "comment",
    "rationale",
}  # fmt: skip
_CODE = {"code", "snippet", "quote", "excerpt", "evidence", "source"}
_RULE = {"rule", "category", "kind", "type", "name", "label", "tag", "check"}
_SUMMARY = {
    "summary",
    "overview",
    "conclusion",
    "verdict",
    "overall",
    "answer",
    "abstract",
}
_COUNT = {
    "count",
    "total",
    "number",
    "findings",
    "issues",
    "problems",
    "n",
    "num",
    "amount",
}
_RESULT = {"key", "partition", "result", "phase"}
_MANY_FACTS = {
    "functions": {"functions", "function", "methods", "defs"},
    "classes": {"classes", "class", "types"},
    "imports": {"imports", "dependencies", "modules"},
    "dates": {"dates", "date"},
    "emails": {"emails", "email"},
    "urls": {"urls", "url", "links", "link"},
}


def subjects(properties: set[str], name: str, known: Knowledge) -> list[Knowledge]:
    """What each object of a list is to describe."""
    spoken = set().union(*(words(one) for one in properties)) if properties else set()
    if known.earlier is not None and known.earlier.counts and spoken & _RESULT:
        return [_about_key(known, key) for key in known.earlier.counts]
    per_file = spoken & _FILE or words(name) & _FILE
    if per_file and not spoken & (_LINE | _PROBLEM | _CODE):
        return [known.about_file(path) for path in known.files]
    return [known.about_finding(found) for found in known.findings]


def _about_key(known: Knowledge, key: str) -> Knowledge:
    return replace(known, key=key)


def listed(name: str, known: Knowledge, kind: str) -> list[Any] | None:
    """A list of plain values with that name; None if it says nothing."""
    spoken = words(name)
    if kind in ("integer", "number"):
        return [found.line for found in known.findings] if "lines" in spoken else None
    if kind != "string":
        return None
    if known.earlier is not None and "missing" in spoken:
        return [_bare(key) for key in known.earlier.missing]
    if known.earlier is not None and "keys" in spoken:
        return list(known.earlier.counts)
    if spoken & _FILE:
        return list(known.files)
    return _listed_facts(spoken, known) or [one_line(one) for one in known.findings]


def _bare(key: str) -> str:
    """A missing key without the reason in parentheses behind it."""
    return re.sub(r"\s+\(.*\)$", "", key)


def _listed_facts(spoken: set[str], known: Knowledge) -> list[str]:
    for fact, names in _MANY_FACTS.items():
        if spoken & names:
            return facts.matches(fact, known.text)
    if spoken & {"keywords", "topics", "tags", "terms"}:
        return facts.keywords(known.text)
    return []


def one_line(found: Finding) -> str:
    """A finding as one sentence without its list mark."""
    return prose.describe(found).removeprefix("- ")


def is_known(name: str, known: Knowledge) -> bool:
    """Whether a nullable property of that name has an answer."""
    spoken = words(name)
    if spoken & _LINE:
        return known.finding is not None and known.finding.line > 0
    if spoken & (_CODE | {"severity"}):
        return known.finding is not None
    for fact, names in _MANY_FACTS.items():
        if spoken & names:
            return bool(facts.matches(fact, known.text))
    meant = _FILE | _PROBLEM | _SUMMARY | _COUNT | _RULE
    return bool(spoken & meant) or bool(known.findings)


def choose(options: Sequence[Any], known: Knowledge) -> Any:
    """The member of an enum that is true, or the first one."""
    severity = _severity(known)
    named = [option for option in options if isinstance(option, str)]
    if any(option.lower() in SEVERITIES for option in named):
        return _nearest_severity(named, severity)
    rule = known.finding.rule if known.finding is not None else ""
    for option in named:
        if rule and words(option) & words(rule):
            return option
    found = known.finding is not None or bool(known.findings)
    telling = _BAD if found else _GOOD
    opposite = _GOOD if found else _BAD
    for option in named:
        if telling.search(option) and not _only(opposite, telling, option):
            return option
    return options[0] if options else None


def _only(opposite: re.Pattern[str], telling: re.Pattern[str], option: str) -> bool:
    # "unsafe" holds "safe": the earlier and longer match decides.
    wrong, right = opposite.search(option), telling.search(option)
    assert right is not None
    return wrong is not None and wrong.start() < right.start()


def _severity(known: Knowledge) -> str:
    if known.finding is not None:
        return known.finding.severity
    ranks = [rank(found.severity) for found in known.findings]
    return SEVERITIES[max(ranks, default=0)]


def rank(severity: str) -> int:
    """How bad a severity is, from 0."""
    low = severity.lower()
    return SEVERITIES.index(low) if low in SEVERITIES else 1


def _nearest_severity(options: Sequence[str], severity: str) -> str:
    known = [option for option in options if option.lower() in SEVERITIES]
    return min(known, key=lambda option: abs(rank(option) - rank(severity)))


def truth(name: str, known: Knowledge) -> bool:
    """The answer to a yes-or-no property."""
    spoken = words(name)
    found = known.finding is not None or bool(known.findings)
    if spoken & {"complete", "completed"} and known.earlier is not None:
        return not known.earlier.missing
    negative = spoken & {"ok", "safe", "clean", "passed", "pass", "valid", "good"}
    return not found if negative else found


def number(name: str, known: Knowledge) -> float:
    """The number a property asks for."""
    spoken = words(name)
    if known.finding is not None and spoken & (
        _LINE | {"start", "end", "first", "last"}
    ):
        return known.finding.line
    if spoken & {"confidence", "certainty", "probability"}:
        return 0.9
    for wanted, value in _NUMBERS:
        if spoken & wanted:
            return value(known)
    if spoken & {"severity", "score", "risk", "priority"}:
        return rank(_severity(known)) + 1 if known.findings else 0
    if spoken & {"amount", "price", "cost", "sum"}:
        amounts = facts.matches("amounts", known.text)
        return float(amounts[0].replace(",", "")) if amounts else 0
    return _count(known)


def _count(known: Knowledge) -> float:
    if known.key is not None and known.earlier is not None:
        return known.earlier.counts.get(known.key, 0)
    return len(known.findings)


_NUMBERS: tuple[tuple[set[str], Callable[[Knowledge], float]], ...] = (
    ({"files", "modules"}, lambda known: len(known.files)),
    ({"lines", "loc"}, lambda known: known.line_count),
    ({"words"}, lambda known: facts.words(known.text)),
    ({"functions"}, lambda known: len(facts.matches("functions", known.text))),
    ({"classes"}, lambda known: len(facts.matches("classes", known.text))),
    ({"missing"}, lambda known: len(known.earlier.missing) if known.earlier else 0),
    ({"done"}, lambda known: known.earlier.done if known.earlier else 0),
    ({"expected"}, lambda known: known.earlier.expected if known.earlier else 0),
)


def text(name: str, known: Knowledge) -> str:
    """The text a property asks for."""
    spoken = words(name)
    if known.key is not None and spoken & _RESULT:
        return known.key
    if spoken & _SUMMARY and known.finding is None:
        return known.verdict
    if spoken & _FILE:
        return known.file or (known.files[0] if known.files else "")
    if known.finding is not None:
        return _of_finding(spoken, known.finding)
    if spoken & {"report", "markdown", "body", "content"}:
        return prose.report(known)
    return _fact(spoken, known)


def _of_finding(spoken: set[str], found: Finding) -> str:
    if spoken & _CODE:
        return found.code
    if spoken & {"severity", "level", "priority"}:
        return found.severity
    if spoken & _LINE:
        return str(found.line)
    if spoken & {"fix", "recommendation", "suggestion", "advice", "remedy"}:
        return f"Change line {found.line} of {found.file}: it {found.problem}."
    if spoken & _RULE and not spoken & _PROBLEM:
        return found.rule
    code = f": `{found.code}`" if found.code else ""
    return f"{found.problem}{code}"


def _fact(spoken: set[str], known: Knowledge) -> str:
    if spoken & {"title", "name", "heading", "subject"}:
        return facts.title(known.text)
    for fact, names in _MANY_FACTS.items():
        if spoken & names:
            return next(iter(facts.matches(fact, known.text)), "")
    if spoken & {"language"}:
        python = any(path.endswith(".py") for path in known.files)
        return "Python" if python else "text"
    if spoken & {"severity", "level", "risk"}:
        return _severity(known) if known.findings else "none"
    return known.verdict
