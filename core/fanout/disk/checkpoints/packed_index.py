"""What a run's journal holds, and where, as plain JSON values.

Results and ends by row, and conversations. A row is its phase and key, a place in
the journal its three numbers.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from fanout.disk.checkpoints.packed import packer
from fanout.disk.ends import Ends
from fanout.disk.harvest import Asked, Harvest, Partial, Reusable
from fanout.disk.reading import Where
from fanout.words.model import MissingKind, RowId, Usage


def pack_ends(ends: Ends) -> Iterator[list[Any]]:
    """Return what makes the ends, one by one."""
    for row, where in ends.where.items():
        yield [*row, *where]


def unpack_ends(packed: Iterable[list[Any]]) -> Ends:
    """Return the ends."""
    ends = Ends()
    ends.where = {RowId(phase, key): Where(*where) for phase, key, *where in packed}
    return ends


def pack_results(harvest: Harvest) -> Iterator[list[Any]]:
    """Return the rows that were asked for, each with its results."""
    usage = packer(Usage).pack
    for row, results in harvest.results.items():
        yield [
            *row,
            *(
                [
                    one.fingerprint,
                    *one.where,
                    usage(one.usage),
                    None if one.run == harvest.run else one.run,
                ]
                for one in results
            ),
        ]


def pack_talks(harvest: Harvest) -> Iterator[list[Any]]:
    """Return the conversations: those of rows still open first."""
    for partial in harvest.open.values():
        yield ["open", *_pack_partial(partial)]
    for partial in harvest.left.values():
        yield ["left", *_pack_partial(partial)]
    for base in harvest.inherited:
        yield ["inherited", *base]


def pack_asked(harvest: Harvest) -> Iterator[list[Any]]:
    """Return what was asked for: first what the newest life still asks for."""
    for asking, found in ((True, harvest.asking), (False, harvest.asked)):
        for row, one in found.items():
            yield [asking, *row, one.fingerprint, *one.where, one.kind]


def unpack_asked(harvest: Harvest, packed: Iterable[list[Any]]) -> None:
    """Tell a harvest that has taken in nothing yet what was asked for."""
    for asking, phase, key, fingerprint, segment, offset, length, kind in packed:
        (harvest.asking if asking else harvest.asked)[RowId(phase, key)] = Asked(
            fingerprint=fingerprint,
            where=Where(segment, offset, length),
            source=harvest.source,
            kind=None if kind is None else MissingKind(kind),
        )


def unpack_harvest(
    harvest: Harvest, results: Iterable[list[Any]], talks: Iterable[list[Any]]
) -> None:
    """Give a harvest that has taken in nothing yet its results and conversations."""
    usage = packer(Usage).unpack
    for phase, key, *found in results:
        row = RowId(phase, key)
        harvest.results[row] = [
            Reusable(
                run=run or harvest.run,
                row=row,
                fingerprint=fingerprint,
                usage=usage(used),
                where=Where(segment, offset, length),
                source=harvest.source,
            )
            for fingerprint, segment, offset, length, used, run in found
        ]
    for kind, *packed in talks:
        if kind == "inherited":
            run, fingerprint, key = packed
            harvest.inherited.append((run, fingerprint, key))
            continue
        partial = _unpack_partial(harvest, packed)
        if kind == "open":
            harvest.open[partial.row] = partial
        else:
            harvest.left[partial.row, partial.fingerprint] = partial


def _pack_partial(partial: Partial) -> list[Any]:
    return [
        *partial.row,
        partial.fingerprint,
        partial.steps,
        partial.turns,
        partial.base,
        partial.files_read,
        partial.files_written,
        packer(Usage).pack(partial.usage),
    ]


def _unpack_partial(harvest: Harvest, packed: list[Any]) -> Partial:
    phase, key, fingerprint, steps, turns, base, read, written, usage = packed
    return Partial(
        run=harvest.run,
        row=RowId(phase, key),
        fingerprint=fingerprint,
        source=harvest.source,
        steps=[Where(*step) for step in steps],
        turns=turns,
        base=None if base is None else (base[0], base[1], base[2]),
        files_read=read,
        files_written=written,
        usage=packer(Usage).unpack(usage),
    )
