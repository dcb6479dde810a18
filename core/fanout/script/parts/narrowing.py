"""Which content is worth an agent: the index step of `partition(containing=…)`.

In most trees most files do not matter to a question. What does not contain any of
the given patterns is left out before anything is packed; how much that was, is said.
"""

import re
from collections.abc import Sequence

from fanout.errors import UsageError

FLAGS = re.MULTILINE


class Narrowing:
    """Patterns that content must contain one of, and how often it did not."""

    def __init__(self, containing: "str | Sequence[str] | None") -> None:
        """Take one regular expression, several, or None for all. `UsageError`."""
        self.left_out = 0
        """How many were looked at and did not match."""
        self.kept = 0
        given = [containing] if isinstance(containing, str) else containing
        given = [] if given is None else given
        if not isinstance(given, list | tuple) or not all(
            isinstance(one, str) and one for one in given
        ):
            raise UsageError(
                f"containing={containing!r} is no pattern",
                hint="give a regular expression, or a list of them, that are not empty",
            )
        self._given = given
        self._patterns = [self._compiled(one) for one in given]

    @staticmethod
    def _compiled(pattern: str) -> re.Pattern[bytes]:
        try:
            return re.compile(pattern.encode(), FLAGS)
        except (re.error, UnicodeEncodeError) as error:
            raise UsageError(
                f"containing={pattern!r} is no regular expression: {error}",
                hint="put a `\\` before characters such as `(`, `[`, `*` or `?` that "
                "are meant as they are",
            ) from error

    def keeps(self, data: bytes) -> bool:
        """Whether the content matches; counts it either way."""
        kept = not self._patterns or any(one.search(data) for one in self._patterns)
        self.kept += kept
        self.left_out += not kept
        return kept

    def note(self, what: str) -> list[str]:
        """Return a line that says what was left out, or nothing; `what`: plural."""
        if not self._patterns:
            return []
        named = " or ".join(f"`{one}`" for one in self._given)
        return [
            f"{self.kept:,} of {self.kept + self.left_out:,} {what} contain {named}"
        ]
