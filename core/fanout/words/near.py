"""What was meant by a word that is nearly one of those there are."""

from collections.abc import Iterable
from difflib import get_close_matches


def nearest(word: str, known: Iterable[str]) -> str:
    """Return the known word that a misspelt one is closest to; empty for none."""
    return next(iter(get_close_matches(word, list(known), 1)), "")


def meant(word: str, known: Iterable[str]) -> str:
    """Return the question ``did you mean `x`?``; empty where nothing is close."""
    found = nearest(word, known)
    return f"did you mean `{found}`?" if found else ""
