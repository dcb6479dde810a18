"""Run state as plain JSON values: what does not depend on the rows, and the rows.

There may be a hundred thousand rows, so they are packed as short as can be. Most of
a run's were asked for in the same words: what their specs have in common stands in
a table.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from fanout.decide.fold.run_state import RunState
from fanout.disk.checkpoints import packed_values
from fanout.disk.checkpoints.packed import Packer, packer
from fanout.disk.recent import Recent
from fanout.words.model import Row, RowId, RowSpec

_OWN = frozenset({"fingerprint", "output", "estimate", "size", "reads"})
"""Fields of a spec that differ from row to row."""
_ROW = Packer(Row, frozenset({"spec"}))
_SPEC_OWN = Packer(RowSpec, frozenset(packer(RowSpec).names) - _OWN)
_SPEC_SHARED = Packer(RowSpec, _OWN)


def pack_facts(state: RunState, recent: Recent) -> dict[str, Any]:
    """Return everything but the rows."""
    facts = {name: value for name, value in vars(state).items() if name != "rows"}
    return {"state": packed_values.pack(facts), "recent": packed_values.pack(recent)}


def unpack_facts(facts: dict[str, Any]) -> tuple[RunState, Recent]:
    """Return a state without rows, and the calls of its last minute."""
    state = RunState()
    vars(state).update(packed_values.unpack(facts["state"]))
    recent: Recent = packed_values.unpack(facts["recent"])
    return state, recent


def pack_rows(rows: Iterable[Row]) -> tuple[list[Any], Iterator[list[Any]]]:
    """Return what specs have in common, and what makes the rows one by one.

    The first is complete once the second is exhausted.
    """
    shared: list[Any] = []
    numbers: dict[tuple[Any, ...], int] = {}

    def pack() -> Iterator[list[Any]]:
        for row in rows:
            packed: list[Any] = _ROW.pack(row)
            spec = None
            if row.spec is not None:
                common = tuple(_SPEC_SHARED.pack(row.spec))
                number = numbers.setdefault(common, len(numbers))
                if number == len(shared):
                    shared.append(common)
                spec = [number, *_SPEC_OWN.pack(row.spec)]
            packed.append(spec)
            yield packed

    return shared, pack()


def unpack_rows(shared: list[Any], packed: Iterable[list[Any]]) -> dict[RowId, Row]:
    """Return the rows by id."""
    put_spec = vars(Row)["spec"].__set__
    new = object.__new__
    rows = {}
    for *values, own in packed:
        row = new(Row)
        _ROW.fill(row, values)
        spec = None
        if own is not None:
            number, *rest = own
            spec = new(RowSpec)
            _SPEC_SHARED.fill(spec, shared[number])
            _SPEC_OWN.fill(spec, rest)
        put_spec(row, spec)
        rows[row.id] = row
    return rows
