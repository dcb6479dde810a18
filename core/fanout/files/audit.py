"""Outputs of done rows, looked at once more when a life ends.

A row is done by what was on disk when it was checked. Whatever has touched the
file since (another agent's tools, the script, a person) is said; the row stays
done, because scripts may move and edit what is theirs.
"""

import os
from collections.abc import Iterable

from fanout.files.outputs import digest
from fanout.words.model import Row, Status

SHOWN_MAX = 20


def moved(rows: Iterable[Row], folder: str) -> list[str]:
    """Return a sentence for each output that is not as it was checked. Blocking.

    At most `SHOWN_MAX` of them, and then how many more there are.
    """
    found = []
    for row in rows:
        end = row.end
        if row.status is not Status.DONE or end is None:
            continue
        if end.output is None or end.sha256 is None or end.reused_from is not None:
            # One that was edited before it was reused is said when it is reused.
            continue
        path = os.path.join(folder, end.output)  # noqa: PTH118  a name was checked
        now = digest(path)
        if now != end.sha256:
            what = "has been changed" if now else "is gone, or no file any more,"
            name = f"the output {end.output} of {row.id}"
            found.append(f"{name} {what} since it was done")
    if len(found) > SHOWN_MAX:
        found[SHOWN_MAX:] = [f"{len(found) - SHOWN_MAX} more outputs are not as done"]
    return found
