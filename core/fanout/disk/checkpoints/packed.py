"""Values of small classes as short lists of plain JSON values, and back.

A class is packed field by field in the order of its definition: nested
classes as lists of their own, a value that equals its class's blank one as 0.
What comes back equals what was packed. Meant for a cache of this very version:
a list holds no names, so it means nothing to a version with other fields.
"""

import dataclasses
import typing
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from functools import cache
from operator import attrgetter
from types import UnionType
from typing import Any, TypeVar

from fanout.words import events
from fanout.words.model import RowId

Convert = Callable[[Any], Any]
T = TypeVar("T")


class Packer:
    """Packs instances of one dataclass that has slots."""

    def __init__(self, cls: type, leave_out: frozenset[str] = frozenset()) -> None:
        """Fields to `leave_out` are packed by somebody else."""
        hints = typing.get_type_hints(cls, vars(events))
        all_fields = dataclasses.fields(cls)
        names = tuple(f.name for f in all_fields if f.name not in leave_out)
        self.cls = cls
        self.names = names
        self._get: Convert = attrgetter(*names)
        self._puts = tuple(vars(cls)[name].__set__ for name in names)
        self._nested: list[tuple[int, Convert]] = []
        self._reads: list[Convert | None] = []
        for index, name in enumerate(names):
            pack, read = _converters(hints[name])
            self._reads.append(read)
            if pack is not None:
                self._nested.append((index, pack))
        self._blank = _blank(cls) if not leave_out else None

    def pack(self, value: Any) -> Any:
        """Return the value as a list; 0 where it is blank, None for None."""
        if value is None:
            return None
        if value == self._blank:
            return 0
        values = list(self._get(value))
        for index, pack in self._nested:
            values[index] = pack(values[index])
        return values

    def unpack(self, values: Any) -> Any:
        """Return the value that was packed."""
        if values is None:
            return None
        if values == 0:
            return self._blank
        made: Any = object.__new__(self.cls)
        self.fill(made, values)
        return made

    def fill(self, made: Any, values: Sequence[Any]) -> None:
        """Set the packed fields of an instance that has nothing yet."""
        for put, read, value in zip(self._puts, self._reads, values, strict=True):
            put(made, value if read is None else read(value))


@cache
def packer(cls: type) -> Packer:
    """Return the packer of a class."""
    return Packer(cls)


def _blank(cls: type) -> Any:
    required = dataclasses.MISSING
    for f in dataclasses.fields(cls):
        if f.default is required and f.default_factory is required:
            return None
    return cls()


def _converters(hint: Any) -> tuple[Convert | None, Convert | None]:
    """How a field of the hinted type is packed and read; None: as it stands."""
    optional = typing.get_origin(hint) in {typing.Union, UnionType}
    for kind in typing.get_args(hint) if optional else (hint,):
        origin = typing.get_origin(kind) or kind
        if dataclasses.is_dataclass(origin):
            inner = packer(typing.cast("type", origin))
            return inner.pack, inner.unpack
        if origin is RowId:
            return None, _sure(_row, optional=optional)
        if origin is tuple:
            return None, _sure(tuple, optional=optional)
        if isinstance(origin, type) and issubclass(origin, StrEnum):
            members: Mapping[str | None, Any] = {m.value: m for m in origin}
            if optional:
                members = {None: None, **members}
            return None, members.__getitem__
    return None, None


def _sure(read: Convert, *, optional: bool) -> Convert:
    if not optional:
        return read
    return lambda value: None if value is None else read(value)


def _row(value: Any) -> RowId:
    phase, key = value
    return RowId(phase, key)
