"""Orders to the scripted model inside a prompt: `[[sim: turns=4 output=800]]`.

They shape a workload or stage a behaviour for tests and benchmarks. Words
without `=` mean 1; of several directives the later one wins, key by key.
"""

import re
from dataclasses import dataclass, fields

_DIRECTIVE = re.compile(r"\[\[sim:([^\]]*)\]\]")
_STOPS = (
    "end_turn",
    "max_tokens",
    "refusal",
    "pause_turn",
    "model_context_window_exceeded",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Directive:
    """What a prompt orders; 0 and the empty text mean nothing is ordered."""

    turns: int = 0
    """Tool turns before the answer."""
    parallel: int = 1
    """Tool calls in each of those turns."""
    output: int = 0
    """The answer is padded to this many tokens."""
    tool_tokens: int = 0
    """Size of a tool call's free text, and its integer arguments called so."""
    thinking: int = 0
    """Tokens of thinking before each answer."""
    stop: str = ""
    """How the answer ends: end_turn, max_tokens, refusal, pause_turn, …"""
    invalid_json: int = 0
    """The first so many answers of the conversation are not JSON."""
    empty: int = 0
    """The first so many answers of the conversation are empty."""
    error: int = 0
    """Every request is refused with this status."""
    ttft: float = -1.0
    """Seconds to the first token, in place of the profile's."""
    tps: float = 0.0
    """Tokens per second, in place of the profile's."""


_TYPES = {field.name: field.type for field in fields(Directive)}


def parse(text: str) -> Directive:
    """The orders in a text; unknown words and bad numbers are ignored."""
    found: dict[str, int | float | str] = {}
    for match in _DIRECTIVE.finditer(text):
        for word in match[1].replace(",", " ").split():
            name, _, value = word.partition("=")
            parsed = _value(name, value or "1")
            if parsed is not None:
                found[name] = parsed
    return Directive(**found)  # type: ignore[arg-type]


def _value(name: str, text: str) -> int | float | str | None:
    kind = _TYPES.get(name)
    if kind is str:
        return text if text in _STOPS else None
    try:
        if kind is int:
            return int(text)
        return float(text) if kind is float else None
    except ValueError:
        return None


def strip(text: str) -> str:
    """The text without its directives."""
    return _DIRECTIVE.sub("", text)
