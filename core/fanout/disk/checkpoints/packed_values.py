"""Any state of the fold as plain JSON values, and back, objects shared as they were.

For what is small and may have any shape: a new field of run state needs nothing
here. What it cannot hold raises `TypeError` rather than coming back as another
thing. Classes are looked up by name, and only this product's own.
"""

import dataclasses
from collections import deque
from collections.abc import Callable
from enum import Enum
from functools import cache
from importlib import import_module
from typing import Any, cast

OURS = "fanout."
_WIRING = frozenset({"_handlers"})
"""Attributes that a new object has by itself."""
_PLAIN = frozenset({type(None), bool, int, float, str})
_SEQUENCES = (list, tuple, deque)
_NAMES: dict[str, Callable[..., Any]] = {kind.__name__: kind for kind in _SEQUENCES}


def pack(value: Any) -> Any:
    """Return the value in plain terms."""
    return _Packing().pack(value)


def unpack(packed: Any) -> Any:
    """Return the value that was packed."""
    return _Unpacking().unpack(packed)


class _Packing:
    """Objects that can change are numbered as they are met, and told once."""

    def __init__(self) -> None:
        self._numbers: dict[int, int] = {}

    def pack(self, value: Any) -> Any:
        kind = type(value)
        if kind in _PLAIN:
            return value
        if kind in _SEQUENCES:
            return [kind.__name__, *map(self.pack, value)]
        if kind is dict:
            return ["dict", *([self.pack(k), self.pack(v)] for k, v in value.items())]
        if not kind.__module__.startswith(OURS):
            raise TypeError(f"{kind.__qualname__} cannot be packed")
        if isinstance(value, Enum):
            return ["enum", _name(kind), value.value]
        if isinstance(value, tuple):
            return ["named", _name(kind), *map(self.pack, value)]
        return self._object(value, kind)

    def _object(self, value: Any, kind: type) -> Any:
        if not _is_frozen(kind):
            number = self._numbers.get(id(value))
            if number is not None:
                return ["same", number]
            self._numbers[id(value)] = len(self._numbers)
        if dataclasses.is_dataclass(kind):
            found = {f.name: getattr(value, f.name) for f in dataclasses.fields(kind)}
        else:
            found = {k: v for k, v in vars(value).items() if k not in _WIRING}
        return ["object", _name(kind), {k: self.pack(v) for k, v in found.items()}]


class _Unpacking:
    """Meets objects that can change in the order in which they were packed."""

    def __init__(self) -> None:
        self._objects: list[Any] = []
        self._kinds: dict[str, Callable[..., Any]] = {
            "dict": self._dict,
            "enum": lambda name, value: _class(name)(value),
            "named": self._named,
            "same": self._objects.__getitem__,
            "object": self._object,
        }

    def unpack(self, packed: Any) -> Any:
        if not isinstance(packed, list):
            return packed
        kind, *rest = packed
        read = self._kinds.get(kind)
        if read is not None:
            return read(*rest)
        return _NAMES[kind](self.unpack(one) for one in rest)

    def _dict(self, *items: list[Any]) -> dict[Any, Any]:
        return {self.unpack(key): self.unpack(value) for key, value in items}

    def _named(self, name: str, *values: Any) -> Any:
        return _class(name)(*(self.unpack(one) for one in values))

    def _object(self, name: str, found: dict[str, Any]) -> Any:
        cls = _class(name)
        plain = not dataclasses.is_dataclass(cls)
        made: Any = cls() if plain else object.__new__(cast("type", cls))
        if not _is_frozen(cls):
            self._objects.append(made)
        for key, value in found.items():
            object.__setattr__(made, key, self.unpack(value))
        return made


def _is_frozen(kind: type) -> bool:
    return dataclasses.is_dataclass(kind) and kind.__dataclass_params__.frozen  # type: ignore[attr-defined]


def _name(kind: type) -> str:
    return f"{kind.__module__}:{kind.__qualname__}"


@cache
def _class(name: str) -> Any:
    module, _, qualname = name.partition(":")
    if not module.startswith(OURS):
        raise TypeError(f"{name} is none of ours")
    found = getattr(import_module(module), qualname)
    if not isinstance(found, type):
        raise TypeError(f"{name} is no class")
    return found
