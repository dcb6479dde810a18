"""The few exceptions a person can cause, each with a hint at what to do next.

Failures of agents are data (`fanout.words.model.MissingKind`), not exceptions.
What remains is wrong use, and reading an incomplete result as a complete one:

    FanoutError
    ├── UsageError     the call, the script or the configuration is wrong: exit 2
    ├── AccountError   the account refuses every call: exit 5
    └── Incomplete     a hole was read as if it were a result: exit 3
"""

from collections.abc import Sequence


class FanoutError(Exception):
    """Something a person can mend; `hint` says how."""

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        if hint:
            # Where nobody else shows it, Python's own traceback does.
            self.add_note(f"hint: {hint}")
        self.hint = hint
        """One sentence saying what to do next; may be empty."""


class UsageError(FanoutError):
    """The command line, the script or the configuration cannot work as given."""


class AccountError(FanoutError):
    """The account refuses: key, billing or spend limit."""


class Incomplete(FanoutError):  # noqa: N818  the public name in scripts
    """Results with holes were read as if they were complete."""

    def __init__(self, message: str, *, missing: Sequence[str] = ()) -> None:
        super().__init__(
            message,
            hint="use .done and .missing to go on with what is there, "
            "or requeue what is missing",
        )
        self.missing = tuple(missing)
        """`phase/key` of every hole."""
