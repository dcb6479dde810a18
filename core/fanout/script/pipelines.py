"""`pipeline()`: items through stages, each item as far as it can go.

There is no barrier: an item enters its next stage as soon as its last one is
done. Stage i is the phase `<phase>/<function's name>`.

Every item is expected in every stage from the start, before any was called, so the
rows are declared under the item's key: its `.key`, or the item itself when
it is a short text, a number or a path; when these are not unique, or an item has
no such name, all items are numbered from `0001`. An agent with another key takes
the place of its declared row, which is then withdrawn.

    stage(value, item) returns    the next stage's `value`
    an agent                      its value; a Missing ends the item here
    a parallel                    its Results; with nothing done the item ends here
    an awaitable of these         the same; a stage may be async
    any other object but None     that object, with no row of its own

After a hole the later rows of the item are `missing: upstream`.
"""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from inspect import isawaitable
from pathlib import PurePath
from typing import Any

from fanout.errors import UsageError
from fanout.script.agents import Agent
from fanout.script.awaiting import Once, Work
from fanout.script.combine import Parallel
from fanout.script.naming import checked_phase, flaw
from fanout.script.phases import current_phase, within
from fanout.script.results import NAMES_SHOWN, Done, Missing, Results
from fanout.script.session import CANCELLED, Session, current
from fanout.words.counted import plural
from fanout.words.model import NO_USAGE, MissingKind, RowId

Stage = Callable[[Any, Any], Any]

ITEM_KEY_LENGTH_MAX = 80


@dataclass(frozen=True, slots=True)
class _Lane:
    """One item on its way, and the rows declared for it, stage by stage."""

    item: Any
    rows: tuple[RowId, ...]


class Pipeline(Once[Results[Any]]):
    """Awaiting it runs all items through all stages and gives one entry an item."""

    def __init__(self, items: Sequence[Any], stages: Sequence[Stage]) -> None:
        super().__init__()
        self._items = items
        self._stages = stages
        self._names = _names(stages)

    def __repr__(self) -> str:
        items = plural(len(self._items), "item")
        return f"<pipeline of {items}, {' → '.join(self._names)}>"

    async def _make(self) -> Results[Any]:
        session = current()
        session.proceed()
        base = current_phase()
        phases = [checked_phase(f"{base}/{name}") for name in self._names]
        lanes = [
            _Lane(item, tuple(RowId(phase, key) for phase in phases))
            for item, key in zip(self._items, _keys(self._items), strict=True)
        ]
        for phase in phases:
            session.enter(phase)
        session.expect([lane.rows[at] for at in range(len(phases)) for lane in lanes])
        try:
            async with asyncio.TaskGroup() as group:
                tasks = [
                    group.create_task(self._travel(session, lane)) for lane in lanes
                ]
        except BaseExceptionGroup as errors:
            # A script's stage raised: it gets its own exception, not a group.
            raise errors.exceptions[0] from errors.exceptions[0].__cause__
        return Results(task.result() for task in tasks)

    async def _travel(self, session: Session, lane: _Lane) -> "Done[Any] | Missing":
        value = lane.item
        got: Any = None
        for at, stage in enumerate(self._stages):
            try:
                got = await _passed(session, stage, value, lane, at)
            except asyncio.CancelledError:
                if not session.ending:
                    left = session.unclaimed(lane.rows[at:])
                    session.skip(left, MissingKind.CANCELLED, CANCELLED)
                raise
            if (why := _hole(got)) is not None:
                later = lane.rows[at + 1 :]
                session.skip(later, MissingKind.UPSTREAM, why)
                return _ended(got, lane.rows[-1], None if not later else why)
            value = got.value if isinstance(got, Done) else got
        return _ended(got, lane.rows[-1], None)


def pipeline(items: Iterable[Any], *stages: Stage) -> Pipeline:
    """Run every item through the stages; `await` gives `Results`, one an item.

    `stage(value, item)` returns an agent, or a `parallel`; `value` is what the
    stage before gave, at first the item itself. An item that goes missing in one
    stage is `Missing` at the end.
    """
    if not stages or not all(callable(stage) for stage in stages):
        raise UsageError(
            "pipeline() takes the items and then its stages, which are functions",
            hint="write `fanout.pipeline(items, draft, review)`",
        )
    if isinstance(items, str | bytes) or not isinstance(items, Iterable):
        raise UsageError(
            f"pipeline() takes a list of items, not {type(items).__name__}",
            hint="write `fanout.pipeline([item], …)` for one item",
        )
    return Pipeline(tuple(items), stages)


async def _passed(
    session: Session, stage: Stage, value: Any, lane: _Lane, at: int
) -> Any:
    """Return what the stage gave for this item, awaited."""
    declared = lane.rows[at]
    with within(declared.phase):
        made = stage(value, lane.item)
        if isawaitable(made) and not isinstance(made, Work):
            made = await made
        if made is None:
            raise UsageError(
                f"the stage `{declared.phase}` returned None",
                hint="return fanout.agent(…) from it",
            )
        rows = _rows(made, declared.phase)
        if declared not in rows:
            session.expect(session.unclaimed(rows))
            session.withdraw(declared)
        return await made if isinstance(made, Work) else made


def _rows(made: Any, phase: str) -> list[RowId]:
    """The rows that what a stage returned has, or will have."""
    if isinstance(made, Agent):
        return [made.ticket.row if made.ticket else RowId(phase, made.key)]
    if isinstance(made, Parallel):
        return [row for agent in made.agents for row in _rows(agent, phase)]
    if isinstance(made, Done | Missing):
        return [made.row]
    if isinstance(made, Results):
        return [item.row for item in made]
    return []


def _hole(got: Any) -> str | None:
    """Why the item cannot go on; None when it can."""
    if isinstance(got, Missing):
        return f"{got.row} is missing: {got.because}"
    if isinstance(got, Results) and got.scope.expected and not len(got.done):
        return f"nothing to work on: {got.statement(NAMES_SHOWN)}"
    return None


def _ended(got: Any, row: RowId, upstream: str | None) -> "Done[Any] | Missing":
    """The item's entry in the results; `row` is its row in the last stage."""
    phase, key = row
    if upstream is not None:
        return Missing(key=key, phase=phase, kind=MissingKind.UPSTREAM, reason=upstream)
    if isinstance(got, Done | Missing):
        return got
    if not isinstance(got, Results):
        return Done(key=key, phase=phase, value=got)
    usage = sum((item.usage for item in got), NO_USAGE)
    if not got.missing:
        return Done(key=key, phase=phase, value=got, usage=usage)
    return Missing(
        key=key,
        phase=phase,
        usage=usage,
        kind=got.missing[0].kind,
        reason=got.statement(NAMES_SHOWN),
        kept=got,
    )


def _names(stages: Sequence[Stage]) -> list[str]:
    """Stages by their functions' names; a lambda is `stage-2`."""
    names: list[str] = []
    for number, stage in enumerate(stages, 1):
        plain = getattr(stage, "func", stage)
        name = str(getattr(plain, "__name__", type(plain).__name__))
        name = name if name.isidentifier() else f"stage-{number}"
        names.append(f"{name}-{number}" if name in names else name)
    return names


def _keys(items: Sequence[Any]) -> list[str]:
    """The items' keys; numbers for all of them when one has none of its own."""
    found = [_key(item) for item in items]
    keys = [key for key in found if key is not None]
    if len(set(keys)) == len(items):
        return keys
    return [f"{number:04}" for number in range(1, len(items) + 1)]


def _key(item: Any) -> str | None:
    key = getattr(item, "key", None)
    if not isinstance(key, str):
        if not isinstance(item, str | int | PurePath) or isinstance(item, bool):
            return None
        key = str(item)
    return key if flaw(key, ITEM_KEY_LENGTH_MAX) is None else None
