"""Outputs of done rows, looked at once more: when a life ends, and for a report.

A row is done by what was on disk when it was checked. Whatever has touched the
file since (another agent's tools, the script, a person) is said; the row stays
done, because scripts may move and edit what is theirs. Whoever reuses it looks
again, and takes no more than what is there.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from fanout.disk.reports.report import ReportRow
from fanout.errors import UsageError
from fanout.files.outputs import OutputFolder, Problem, digest_of
from fanout.words.model import RowId, Status

SHOWN_MAX = 20

GONE, EMPTY, BROKEN, CHANGED = "gone", "empty", "broken", "changed"
_SAID = {
    GONE: "is gone, or no file any more,",
    EMPTY: "has been emptied",
    BROKEN: "has been changed into what is none",
    CHANGED: "has been changed",
}


@dataclass(frozen=True, slots=True)
class Change:
    """An output that is not as it was checked."""

    row: RowId
    output: str
    what: str
    """`gone`, `empty`, `broken` or `changed`."""

    @property
    def sentence(self) -> str:
        """The same for people."""
        name = f"the output {self.output} of {self.row}"
        return f"{name} {_SAID[self.what]} since it was done"


def moved(rows: Iterable[ReportRow], folder: str) -> list[Change]:
    """Return the outputs below `folder` that are not as they were checked. Blocking.

    Whether one that was changed still fits its schema, only its script can tell.
    """
    found = []
    place: OutputFolder | None
    try:
        place = OutputFolder(folder, make=False)
    except UsageError:
        place = None
    for row in rows:
        if row.status != Status.DONE.value or row.output is None or not row.sha256:
            continue
        what = "" if place else GONE
        if place and digest_of(place, row.output) != row.sha256:
            what = _what(place, row.output)
        if what:
            found.append(Change(RowId(row.phase, row.key), row.output, what))
    return found


def sentences(changes: Sequence[Change]) -> list[str]:
    """Name at most `SHOWN_MAX` of them, and then how many more there are."""
    found = [change.sentence for change in changes[:SHOWN_MAX]]
    if len(changes) > SHOWN_MAX:
        found.append(f"{len(changes) - SHOWN_MAX} more outputs are not as done")
    return found


def _what(place: OutputFolder, output: str) -> str:
    now = place.verify(output)
    if not isinstance(now, Problem):
        return CHANGED
    if now.kind in ("absent", "unsafe"):
        return GONE
    return EMPTY if now.kind == "empty" else BROKEN
