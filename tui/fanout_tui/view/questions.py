"""What a question is."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Question:
    """A title, some lines, and keys with what each does."""

    title: str
    lines: tuple[str, ...]
    answers: tuple[tuple[str, str], ...]
