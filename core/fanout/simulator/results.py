"""Results of earlier agents inside a prompt: what is done, missing, and found.

The statement of completeness ("31 of 40 done; missing: a, b") is repeated, never
judged. Values are JSON or prose under a key; both are counted by what they hold.
"""

import html
import json
import re
from dataclasses import dataclass, field
from typing import Any

from fanout.simulator.audit import Finding

_DONE = re.compile(
    r"\b(\d[\d,]*)\s+of\s+(\d[\d,]*)\s+(?:\w+\s+){0,3}?done\b", re.IGNORECASE
)
_MISSING = re.compile(r"\bmissing:\s*([^\n<;]+)", re.IGNORECASE)
_TAGGED = re.compile(
    r'<result\s[^>\n]*?\bkey="([^"]+)"[^>\n]*>\s*(.*?)\s*</result>', re.DOTALL
)
_HEADED = re.compile(
    r"^\s*(?:#{1,6}\s+|key:\s*|---\s*)`?([\w./:@+-]+)`?:?\s*(?:---)?[^\S\n]*\n"
    r"(.*?)(?=^\s*(?:#{1,6}\s|key:\s|---)|\Z)",
    re.DOTALL | re.MULTILINE,
)
_POINT = re.compile(
    r"^\s*[-*]\s+`?([\w./-]+\.\w+):(\d+)`?\s*[-—:\u2013]*\s*(.*)$", re.MULTILINE
)
_INLINE_KEY = re.compile(r"^\s*[-*]?\s*`?([\w./@+-]+)`?\s*[:=]\s*$")
_FILE = ("file", "path", "module", "filename")
_LINE = ("line", "lineno", "line_number")
_PROBLEM = ("problem", "issue", "message", "description", "title", "text")


@dataclass(frozen=True, slots=True, kw_only=True)
class Earlier:
    """Results of earlier agents, as far as the prompt shows them."""

    done: int
    expected: int
    missing: tuple[str, ...]
    """Keys, each perhaps with its reason in parentheses."""
    counts: dict[str, int] = field(default_factory=dict)
    """Findings by key."""
    findings: tuple[Finding, ...] = ()


def earlier(text: str) -> Earlier | None:
    """The results in a prompt; None if it does not speak of any."""
    if "result" not in text.lower() and " done" not in text:
        return None
    stated = _DONE.search(text)
    values = _values(text)
    if stated is None and not _looks_like_results(text, values):
        return None
    findings: list[Finding] = []
    counts: dict[str, int] = {}
    for key, value in values.items():
        held = findings_in(value)
        counts[key] = len(held) if held else _longest_list(value)
        findings.extend(held)
    named = _MISSING.search(text)
    missing = _names(named[1]) if named else ()
    done = _number(stated[1]) if stated else len(values)
    expected = _number(stated[2]) if stated else done + len(missing)
    return Earlier(
        done=done,
        expected=expected,
        missing=missing,
        counts=counts,
        findings=tuple(findings),
    )


def _looks_like_results(text: str, values: dict[str, Any]) -> bool:
    return bool(values) and re.search(r"\bresults?\b", text, re.IGNORECASE) is not None


def _number(text: str) -> int:
    return int(text.replace(",", ""))


def _names(text: str) -> tuple[str, ...]:
    names = re.split(r",\s+(?![^(]*\))", text.strip().rstrip("."))
    clean = tuple(name.strip().strip("`") for name in names if name.strip())
    return () if clean in {("none",), ("nothing",)} else clean


def _values(text: str) -> dict[str, Any]:
    tagged = {html.unescape(key): body for key, body in _TAGGED.findall(text)}
    if tagged:
        return {key: _parsed(body) for key, body in tagged.items()}
    values: dict[str, Any] = {
        key: _parsed(body) for key, body in _HEADED.findall(text) if body.strip()
    }
    if any(isinstance(value, dict | list) for value in values.values()):
        return values
    return _loose(text) or values


def _parsed(body: str) -> Any:
    found = documents(body)
    return found[0][1] if found else body


def _loose(text: str) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for at, (before, value) in enumerate(documents(text)):
        label = _INLINE_KEY.match(before.rstrip("\n").rpartition("\n")[2])
        values |= _spread(label[1] if label else f"result-{at + 1}", value)
    return values


def _spread(key: str, value: Any) -> dict[str, Any]:
    if isinstance(value, list) and value and all(_has_key(item) for item in value):
        return {str(item["key"]): item.get("value", item) for item in value}
    if _has_key(value):
        return {str(value["key"]): value.get("value", value)}
    wrapped = value.get("results") if isinstance(value, dict) else None
    if isinstance(wrapped, list | dict):
        return _spread(key, wrapped)
    if isinstance(value, dict) and len(value) > 1:
        parts = value.values()
        if all(isinstance(part, dict | list) for part in parts):
            return value
    return {key: value}


def _has_key(item: Any) -> bool:
    return isinstance(item, dict) and isinstance(item.get("key"), str)


def documents(text: str) -> list[tuple[str, Any]]:
    """JSON objects and lists in a text, each with the text before it."""
    decoder = json.JSONDecoder()
    found: list[tuple[str, Any]] = []
    at = 0
    for match in re.finditer(r"[{\[]", text):
        if match.start() < at:
            continue
        try:
            value, end = decoder.raw_decode(text, match.start())
        except ValueError:
            continue
        if isinstance(value, dict) or _is_records(value):
            found.append((text[at : match.start()], value))
            at = end
    return found


def _is_records(value: Any) -> bool:
    return isinstance(value, list) and any(isinstance(item, dict) for item in value)


def findings_in(value: Any) -> list[Finding]:
    """Everything in a value that names a file or line and a problem."""
    if isinstance(value, str):
        return [
            _finding(match[1], int(match[2]), match[3])
            for match in _POINT.finditer(value)
        ]
    if isinstance(value, list):
        return [found for item in value for found in findings_in(item)]
    if not isinstance(value, dict):
        return []
    file, line = _pick(value, _FILE), _pick(value, _LINE)
    problem = _pick(value, _PROBLEM)
    if isinstance(problem, str) and (file is not None or line is not None):
        severity = str(value.get("severity", "medium"))
        number = line if isinstance(line, int) else 0
        return [_finding(str(file or ""), number, problem, severity)]
    return [found for item in value.values() for found in findings_in(item)]


def _pick(value: dict[str, Any], names: tuple[str, ...]) -> Any:
    return next((value[name] for name in names if name in value), None)


def _finding(file: str, line: int, problem: str, severity: str = "medium") -> Finding:
    return Finding(
        file=file, line=line, code="", rule=problem, problem=problem, severity=severity
    )


def _longest_list(value: Any) -> int:
    if isinstance(value, list):
        return len(value)
    if isinstance(value, dict):
        return max((_longest_list(part) for part in value.values()), default=0)
    return 0
