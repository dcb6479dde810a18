"""How each verb is called: for its help, its errors, and what is a verb at all."""

USAGE_OF = {
    "demo": "[--no-tui | --json] [--ascii] [--report FILE]",
    "check": "script.py [script arguments]",
    "runs": "[--delete RUN [--yes]] [--run-dir DIR]",
    "report": "[RUN] [--format json|md|csv|html] [--run-dir DIR]",
    "resume": "[options] RUN",
    "watch": "[RUN] [--no-tui | --json | --browser [--port N]] [--ascii] "
    "[--run-dir DIR]",
    "replay": "[RUN] [--ascii] [--run-dir DIR]",
    "config": "[options] [--json]",
    "simulate": "[--profile NAME|FILE] [--port N] [--seed N]",
}

RUN = "a run's id, a unique beginning of it, the path of its folder, or last"
"""What stands for a run."""


def usage(verb: str) -> str:
    """Return the line that says how a verb is called."""
    return f"fanout-tui {verb} {USAGE_OF[verb]}"
