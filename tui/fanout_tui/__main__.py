"""The command `fanout-tui`.

Nothing heavy is imported here: not the SDK, which costs seconds, and not
Textual, which plain output does not need.
"""

import sys

from fanout_tui.command.entry import entry


def main() -> None:
    """Run the command and exit with its code."""
    sys.exit(entry(sys.argv[1:]))


if __name__ == "__main__":
    main()
