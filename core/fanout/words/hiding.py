"""Secrets of this process, taken out of whatever is kept or shown.

A script may print its environment, a tool may read a file with a key in it, a
service may quote the header it did not like. Whatever is told here is replaced
in log lines, results of tools, error texts, tracebacks and what `main` returns.
It is a net below those who know better, not a promise: what was changed on its
way, encoded for instance, passes.
"""

import re
from collections.abc import Mapping

SHOWN = "[secret]"
LENGTH_MIN = 12
"""Characters; what is shorter is a word that may stand anywhere."""

_NAMES = re.compile(
    r"(\A|_)(KEY|APIKEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIALS?|PAT)\Z",
    re.IGNORECASE,
)

_HEADERS = re.compile("auth|key|token|secret|cookie|password", re.IGNORECASE)

_hidden: list[str] = []


def hide(secret: str | None) -> None:
    """Take this text out of everything from now on."""
    if secret and len(secret) >= LENGTH_MIN and secret not in _hidden:
        _hidden.append(secret)
        # One may be a part of another: the longer one first.
        _hidden.sort(key=len, reverse=True)


def hide_all(environ: Mapping[str, str]) -> None:
    """Take out what an environment holds under names such as `…_API_KEY`."""
    headers = environ.get("ANTHROPIC_CUSTOM_HEADERS", "").split("\n")
    given = [line.partition(":") for line in headers]
    for name, _, value in given:
        if _HEADERS.search(name):
            hide(value.strip())
            hide(value.strip().rpartition(" ")[2])
    for name, value in environ.items():
        if _NAMES.search(name) and not value.startswith(("/", "~", "./")):
            hide(value)


def redact(text: str) -> str:
    """Return `text` without the secrets of this process."""
    for secret in _hidden:
        if secret in text:
            text = text.replace(secret, SHOWN)
    return text


def forget() -> None:
    """Hide nothing any more; for tests."""
    _hidden.clear()
