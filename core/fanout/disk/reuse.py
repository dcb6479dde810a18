"""Earlier work of a script, found by content.

The index covers the earlier lives of a run and every earlier run of the same
script on the same endpoint, real or simulated but never both. Lookup is by
fingerprint: first the result that had the same key, then the n-th occurrence
takes the n-th result that is left. One result serves one row, so best-of-three
stays three.

Results of this run come first, then those of the newest run; within a run they
stand in the order in which their rows were asked for. A result that a later run
had taken over itself is not a second one: it counts only where the run that paid
for it is gone.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from fanout.decide.again import USED_UP, difference, parts_of, was_missing
from fanout.decide.forecast.outlook import Experience
from fanout.disk.harvest import Asked, Harvest, Partial, Reusable
from fanout.disk.opening import open_harvest
from fanout.disk.rundir import read_manifest, run_folders
from fanout.errors import FanoutError
from fanout.words.model import RowId

__all__ = ["Partial", "Reusable", "Reuse"]

Kept = TypeVar("Kept", Reusable, Partial)


class Reuse:
    """What earlier work there is; each `take` uses some of it up."""

    def __init__(self) -> None:
        self._results: dict[str, list[Reusable]] = defaultdict(list)
        self._partials: dict[str, list[Partial]] = defaultdict(list)
        self._asked: dict[RowId, Asked] = {}
        self.experience = Experience()
        """What the agents of those runs have used."""
        self.runs: tuple[str, ...] = ()
        """Ids of the runs that were searched, the preferred first."""
        self.elsewhere: Mapping[str, int] = {}
        """Runs of the same script on other accounts, by account: they serve no row."""
        self.notes: list[str] = []
        """What was wrong with their journals."""

    @property
    def results(self) -> int:
        """Results that nobody has taken yet."""
        return sum(map(len, self._results.values()))

    @property
    def held(self) -> Mapping[str, int]:
        """Rows with results that nobody has taken yet, by phase."""
        rows = {one.row for kept in self._results.values() for one in kept}
        return Counter(row.phase for row in rows)

    @property
    def partials(self) -> int:
        """Conversations that nobody has taken yet."""
        return sum(map(len, self._partials.values()))

    def take(self, fingerprint: str, key: str) -> Reusable | None:
        """Return a result that nobody has taken yet, or None."""
        while (result := _pick(self._results.get(fingerprint), key)) is not None:
            if self._reads(result.run, result.row, result.load_value):
                return result
        return None

    def partial(self, fingerprint: str, key: str) -> Partial | None:
        """Return a half-done conversation that nobody has taken yet, or None.

        Only one of the same key: half a conversation may have left traces, in
        files for instance, that belong to its row.
        """
        kept = [p for p in self._partials.get(fingerprint, ()) if p.row.key == key]
        for partial in sorted(kept, key=lambda partial: -partial.turns):
            self._partials[fingerprint].remove(partial)
            if self._reads(partial.run, partial.row, partial.load_entries):
                return partial
        return None

    def _reads(self, run: str, row: RowId, load: Callable[[], object]) -> bool:
        """Whether payloads beside the journal are still there and whole."""
        try:
            load()
        except FanoutError as exc:
            self.notes.append(f"{run}: {row} cannot be reused: {exc}")
            return False
        return True

    def again(self, row: RowId, fingerprint: str, opening: Any) -> str:
        """Say why a row runs again although it is known; empty when it is not.

        Asked after `take` has found nothing: this is why.
        """
        asked = self._asked.get(row)
        if asked is None:
            return ""
        same = fingerprint == asked.fingerprint
        if same and asked.kind is not None:
            return was_missing(asked.kind)
        if same:
            return USED_UP
        return difference(asked.parts(), parts_of(opening))

    def forgotten(self) -> "Reuse":
        """Serve nothing; keep only what is known of how much agents use."""
        self._results.clear()
        self._partials.clear()
        self._asked.clear()
        self.elsewhere = {}
        return self

    def add(self, harvests: Iterable[Harvest], *, only: str | None = None) -> None:
        """Index what runs have left, the preferred run first.

        With `only` the others serve no row; what agents used is learned from all.
        """
        by_run = {harvest.run: harvest for harvest in harvests}
        self.experience = Experience([one.outlook for one in by_run.values()])
        if only is not None:
            by_run = {only: by_run[only]}
        self._index(by_run)

    def _index(self, by_run: Mapping[str, Harvest]) -> None:
        present = by_run.keys()
        claimed: dict[tuple[str, str], str] = {}
        superseded = _gone_on_with(by_run)
        for harvest in by_run.values():
            for row, asked in harvest.asked.items():
                self._asked.setdefault(row, asked)
            for result in harvest.finished():
                if result.run != harvest.run:
                    slot = (result.run, result.fingerprint)
                    holder = claimed.setdefault(slot, harvest.run)
                    if result.run in present or holder != harvest.run:
                        continue
                self._results[result.fingerprint].append(result)
            for partial in harvest.partials():
                if id(partial) not in superseded:
                    self._partials[partial.fingerprint].append(partial)


def find_reusable(
    runs: Path,
    *,
    script: str,
    endpoint: str,
    simulated: bool,
    current: Path | None = None,
    own: bool = False,
    begun: Path | None = None,
) -> Reuse:
    """Read the journals of a script's runs and return what they hold.

    `current` is the folder of the run that is gone on with, if there is one; with
    `own`, nothing but that serves a row. `begun` is that of a run that has only
    begun: there is nothing of earlier lives in it.
    """
    folders = []
    elsewhere: Counter[str] = Counter()
    for folder in run_folders(runs):
        manifest = read_manifest(folder)
        if manifest is None or folder in {current, begun}:
            continue
        same = (manifest.script, manifest.endpoint, manifest.simulated)
        if same == (script, endpoint, simulated):
            folders.append(folder)
        elif manifest.script == script:
            elsewhere[manifest.endpoint] += 1
    if current is not None:
        folders.append(current)
    reuse = Reuse()
    reuse.elsewhere = {} if own else elsewhere
    harvests = []
    for folder in reversed(folders):
        harvest, tail = open_harvest(folder)
        if folder != current:
            harvest.killed()
        harvests.append(harvest)
        reuse.notes += [f"{folder.name}: {text}" for text in tail.damage]
    reuse.runs = tuple(harvest.run for harvest in harvests)
    reuse.add(harvests, only=harvests[0].run if own and current else None)
    return reuse


def _gone_on_with(by_run: Mapping[str, Harvest]) -> set[int]:
    """Find the conversations that a later run has gone on with; the newest run first.

    What their turns have seen of files is seen by the later ones too.
    """
    found = set()
    for harvest in list(by_run.values())[::-1]:
        for run, fingerprint, key in harvest.inherited:
            held = by_run.get(run)
            partial = held.partial_of(fingerprint, key) if held is not None else None
            if partial is not None:
                found.add(id(partial))
        for partial in harvest.partials():
            if partial.base is not None and partial.base[0] in by_run:
                run, fingerprint, key = partial.base
                before = by_run[run].partial_of(fingerprint, key)
                if before is not None:
                    partial.go_on_from(before)
    return found


def _pick(kept: list[Kept] | None, key: str) -> Kept | None:
    """Take the first of the same key, else the first."""
    if not kept:
        return None
    same = [n for n, one in enumerate(kept) if one.row.key == key]
    return kept.pop(same[0] if same else 0)
