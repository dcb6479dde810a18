"""Facts as JSON lines, and back.

A line reads

    {"c":"<crc32>","n":1,"life":1,"at":1764.5,"e":"CallAdmitted", …fields}

where `c` is the CRC-32 of every byte that follows it on the line. `grep` and `jq`
read it; a flipped bit, a torn write and a lost sector do not pass it.

The codec is generic over the classes in `fanout.words.events`: how each field is
read is worked out once a class. Compatibility goes both ways. Fields that are
missing take their defaults, fields that are not known are ignored, and a kind of
fact that is not known, or that this version cannot make sense of, comes back as
`Unknown`.

A payload of more than 64 KiB stands beside the journal: the line names it under
`blobs`, and whoever reads the line finds a `BlobRef` in its place.

Payloads come last on a line, so that who folds may read a line without them.
"""

import dataclasses
import json
import typing
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from fanout.decide.payload import BlobRef, turns_in
from fanout.disk.jsonline import to_json
from fanout.words import events
from fanout.words.events import PAYLOADS, Event, Record
from fanout.words.model import MissingKind, Need, RowId, RowSpec, Usage

INLINE_MAX = 64 * 1024
"""Bytes of a payload that still stand in the line."""

SEALED = "Sealed"
"""Kind of the line that closes a segment."""

Put = Callable[[bytes], str]
"""Stores a payload durably and returns its sha256."""

KINDS: Mapping[str, type] = {cls.__name__: cls for cls in typing.get_args(Event)}
_RESERVED = frozenset({"c", "n", "life", "at", "e", "blobs"})
_scan = json.JSONDecoder().raw_decode
"""Faster than `json.loads`, which guesses at the encoding of every line."""
_HEAD = len('{"c":"01234567",')
_KIND = b'"e":"'
"""Only numbers stand before it."""
_LONG = 1024
_new = object.__new__
_RECORD = tuple(vars(Record)[f.name].__set__ for f in dataclasses.fields(Record))
_LEFT_OUT: Mapping[bytes, str] = {
    kind.encode(): names[0]
    for kind, names in PAYLOADS.items()
    # The one is counted by a fold, the other kept.
    if kind not in {"TurnsKept", "ScriptEnded"} and len(names) == 1
}
"""Payloads that a fold has no use for, by kind."""


class BadLineError(ValueError):
    """The line is not what was written: torn, damaged, or never a record."""


@dataclass(frozen=True, slots=True)
class Unknown:
    """A fact of a kind, or in a form, that this version does not know."""

    kind: str
    why: str


@dataclass(frozen=True, slots=True)
class Seal:
    """Closes a segment: what must stand before it."""

    count: int
    sha256: str


def encode(record: Record, put: Put | None = None) -> bytes:
    """Return the record's line; big payloads go through `put`, if there is one."""
    event = record.event
    kind = type(event).__name__
    payloads = PAYLOADS.get(kind, ())
    head: dict[str, Any] = {
        "n": record.seq,
        "life": record.life,
        "at": record.at,
        "e": kind,
    }
    for name in _plain_fields(kind):
        value = getattr(event, name)
        head[name] = _as_json(value)
    body = to_json(head)[:-1]
    refs = {}
    for name in payloads:
        value = getattr(event, name)
        text = to_json(value)
        data = text.encode()
        if put is None or len(data) <= INLINE_MAX:
            body += f',"{name}":{text}'
        else:
            refs[name] = _reference(value, data, put)
    if refs:
        body += f',"blobs":{to_json(refs)}'
    return _line(body[1:] + "}")


def encode_seal(record: Record, seal: Seal) -> bytes:
    """Return the line that closes a segment whose last record is `record`."""
    body = {
        "n": record.seq,
        "life": record.life,
        "at": record.at,
        "e": SEALED,
        "count": seal.count,
        "sha256": seal.sha256,
    }
    return line_of(body)


def line_of(fields: Mapping[str, Any]) -> bytes:
    """Return a line that carries plain fields, as JSON has them, and their checksum.

    Raises ValueError or RecursionError where JSON cannot hold them.
    """
    text = json.dumps(
        fields, ensure_ascii=False, allow_nan=False, separators=(",", ":")
    )
    return _line(text[1:])


def fields_of(line: bytes) -> dict[str, Any]:
    """Return what a line carries, its checksum apart, or raise `BadLineError`."""
    fields = _checked(line, payloads=True)
    del fields["c"]
    return fields


def decode(line: bytes, *, payloads: bool = True) -> Record | Seal:
    """Read one line, its line feed included, or raise `BadLineError`.

    The record's event is an `Unknown` where this version does not know it. Without
    `payloads`, those are None that folding has no use for.
    """
    fields = _checked(line, payloads=payloads)
    try:
        kind = fields["e"]
        cls = KINDS.get(kind)
        if cls is None and kind == SEALED:
            return Seal(int(fields["count"]), str(fields["sha256"]))
        seq, life, at = int(fields["n"]), int(fields["life"]), float(fields["at"])
        event = _event(kind, cls, fields)
    except (KeyError, TypeError, ValueError) as exc:
        raise BadLineError(f"not a record: {exc!r}") from exc
    record = _new(Record)
    set_seq, set_life, set_at, set_event = _RECORD
    set_seq(record, seq)
    set_life(record, life)
    set_at(record, at)
    set_event(record, event)
    return record


def _line(rest: str) -> bytes:
    """A line from everything that follows its checksum."""
    data = rest.encode()
    return b'{"c":"%08x",%b\n' % (zlib.crc32(data), data)


def _checked(line: bytes, *, payloads: bool) -> dict[str, Any]:
    if line[:6] != b'{"c":"' or line[-2:] != b"}\n" or line[14:_HEAD] != b'",':
        raise BadLineError("not a whole line")
    if line[6:14] != b"%08x" % zlib.crc32(line[_HEAD:-1]):
        raise BadLineError("the checksum does not fit")
    fields = None if payloads else _head(line)
    if fields is None:
        try:
            fields, _ = _scan(str(line, "utf-8"))
        except (ValueError, RecursionError) as exc:
            raise BadLineError("not JSON") from exc
    return typing.cast("dict[str, Any]", fields)


def _head(line: bytes) -> dict[str, Any] | None:
    """Read a line up to its payload; None where there is none to leave out."""
    if len(line) < _LONG:
        return None  # reading it whole is faster than looking for its end
    start = line.find(_KIND, _HEAD) + len(_KIND)
    name = _LEFT_OUT.get(line[start : line.find(b'"', start)])
    cut = -1 if name is None else line.find(b',"%b":' % name.encode(), start)
    if name is None or cut < 0:
        return None
    try:
        fields, _ = _scan(str(line[:cut], "utf-8") + "}")
    except ValueError:  # a key of that name within another field
        return None
    fields[name] = None
    return typing.cast("dict[str, Any]", fields)


def _event(kind: str, cls: type | None, fields: dict[str, Any]) -> Event | Unknown:
    if cls is None:
        return Unknown(str(kind), "this version does not know the kind")
    try:
        blobs = fields.get("blobs")
        if blobs is not None:
            fields |= {name: _read_ref(ref) for name, ref in blobs.items()}
        return typing.cast("Event", _maker(cls)(fields))
    except (AttributeError, KeyError, TypeError, ValueError) as exc:
        return Unknown(kind, f"it does not read: {exc}")


def _reference(value: Any, data: bytes, put: Put) -> dict[str, Any]:
    ref: dict[str, Any] = {"sha256": put(data), "size": len(data)}
    if isinstance(value, list | tuple) and (turns := turns_in(value)):
        ref["turns"] = turns
    return ref


def _read_ref(ref: Any) -> BlobRef:
    return BlobRef(str(ref["sha256"]), int(ref["size"]), int(ref.get("turns", 0)))


def _as_json(value: Any) -> Any:
    if isinstance(value, Usage):
        return value.as_dict()
    if isinstance(value, Need | RowSpec):
        return {f: getattr(value, f) for f in value.__slots__}
    return value


@cache
def _plain_fields(kind: str) -> tuple[str, ...]:
    """Names of the fields that always stand in the line."""
    payloads = PAYLOADS.get(kind, ())
    names = (f.name for f in dataclasses.fields(KINDS[kind]))
    return tuple(n for n in names if n not in payloads and n not in _RESERVED)


Read = Callable[[Any], Any]


@cache
def _maker(cls: type) -> Read:
    """Return what makes an instance of a frozen class from a mapping of its fields.

    It sets the slots themselves: a frozen class's own way costs three times as
    much, and a journal has millions of them.
    """
    hints = typing.get_type_hints(cls, vars(events))
    all_fields = [
        (f, vars(cls)[f.name].__set__, _reader(hints[f.name]))
        for f in dataclasses.fields(cls)
    ]
    needed = [(f.name, put, read) for f, put, read in all_fields if not _has_default(f)]
    others = [
        (f.name, put, read, _default(f))
        for f, put, read in all_fields
        if _has_default(f)
    ]

    def make(values: Mapping[str, Any]) -> Any:
        made: Any = _new(cls)
        for name, put, read in needed:
            value = values[name]
            put(made, value if read is None else read(value))
        for name, put, read, default in others:
            if name in values:
                value = values[name]
                put(made, value if read is None else read(value))
            else:
                put(made, default())
        return made

    return make


def _has_default(field: "dataclasses.Field[Any]") -> bool:
    missing = dataclasses.MISSING
    return field.default is not missing or field.default_factory is not missing


def _default(field: "dataclasses.Field[Any]") -> Callable[[], Any]:
    """Return what makes the value of a field that a line does not have."""
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory
    return lambda: field.default


def _reader(hint: Any) -> Read | None:
    """How a value of the hinted type is read from JSON; None: as it stands."""
    if hint == tuple[RowId, ...]:
        return _read_rows
    for candidate in (hint, *typing.get_args(hint)):
        origin = typing.get_origin(candidate) or candidate
        if origin in _SHAPES:
            read = _SHAPES[origin]
            return _optional(read) if candidate is not hint else read
    return None


def _optional(read: Read) -> Read:
    return lambda value: None if value is None else read(value)


def _read_tuple(value: Any) -> Any:
    if isinstance(value, BlobRef):
        return value
    if not isinstance(value, list):
        raise TypeError("not a list")
    return tuple(value)


def _read_row(value: Any) -> RowId:
    phase, key = value
    if not (isinstance(phase, str) and isinstance(key, str)):
        raise TypeError("not a row")
    return RowId(phase, key)


def _read_rows(value: Any) -> tuple[RowId, ...]:
    return tuple(map(_read_row, _read_tuple(value)))


def _read_object(cls: type) -> Read:
    make = None

    def read(value: Any) -> Any:
        nonlocal make
        if not isinstance(value, dict):
            raise TypeError(f"not a {cls.__name__}")
        make = make or _maker(cls)
        return make(value)

    return read


_SHAPES: Mapping[Any, Read] = {
    RowId: _read_row,
    MissingKind: MissingKind,
    Usage: _read_object(Usage),
    Need: _read_object(Need),
    RowSpec: _read_object(RowSpec),
    tuple: _read_tuple,
}
