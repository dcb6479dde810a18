"""Plain facts about a text, for questions that are not about findings.

Whoever asks for a title, a date, an amount, the functions or the number of words
gets what the text says, found by looking.
"""

import re
from collections import Counter

_HEADING = re.compile(r"^\s*#{1,6}\s+(.+?)\s*#*$", re.MULTILINE)
_DOCSTRING = re.compile(r'^\s*(?:"""|\'\'\')\s*(\S[^\n"]*)', re.MULTILINE)
_WORD = re.compile(r"[^\W\d_]{4,}")
_PATTERNS = {
    "functions": re.compile(r"^\s*(?:async\s+)?def\s+(\w+)", re.MULTILINE),
    "classes": re.compile(r"^\s*class\s+(\w+)", re.MULTILINE),
    "imports": re.compile(r"^\s*(?:from|import)\s+([\w.]+)", re.MULTILINE),
    "dates": re.compile(r"\b(\d{4}-\d{2}-\d{2})\b"),
    "emails": re.compile(r"\b([\w.+-]+@[\w-]+\.[\w.]+\w)\b"),
    "urls": re.compile(r"(https?://[^\s)>\"']+)"),
    "amounts": re.compile(
        r"(?:[$€£]\s?|\b(?:USD|EUR|GBP)\s?)(\d[\d,]*(?:\.\d+)?)"
        r"|(\d[\d,]*\.\d{2})\b"
    ),
    "numbers": re.compile(r"(?<![\w.])(\d+(?:\.\d+)?)(?![\w.])"),
}
_COMMON = frozenset(
    {
        "this",
        "that",
        "with",
        "from",
        "have",
        "been",
        "will",
        "would",
        "should",
        "could",
        "which",
        "their",
        "there",
        "these",
        "those",
        "about",
        "into",
        "over",
        "under",
        "than",
        "then",
        "them",
        "they",
        "what",
        "when",
        "where",
        "your",
        "were",
        "also",
        "only",
        "each",
        "such",
        "some",
        "more",
        "most",
        "other",
        "must",
        "file",
        "files",
        "lines",
        "line",
        "bytes",
        "path",
        "self",
        "return",
        "none",
        "true",
        "false",
        "import",
        "class",
        "else",
        "elif",
        "pass",
    }
)


def matches(name: str, text: str) -> list[str]:
    """What a pattern of `_PATTERNS` finds, each once, in order."""
    found: dict[str, None] = {}
    for match in _PATTERNS[name].finditer(text):
        value = next((group for group in match.groups() if group), "")
        found.setdefault(value, None)
    return list(found)


def title(text: str) -> str:
    """The first heading, docstring line or filled line."""
    for pattern in (_HEADING, _DOCSTRING):
        match = pattern.search(text)
        if match is not None:
            return match[1].strip()[:120]
    filled = (line.strip() for line in text.splitlines() if line.strip())
    return next(filled, "")[:120]


def words(text: str) -> int:
    """How many words there are."""
    return len(text.split())


def keywords(text: str, count: int = 5) -> list[str]:
    """The most frequent longer words."""
    tally = Counter(_WORD.findall(text.lower()))
    ranked = [word for word, _ in tally.most_common(count + len(_COMMON))]
    return [word for word in ranked if word not in _COMMON][:count]
