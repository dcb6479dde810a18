"""What an agent is given beside its prompt, as text, digests and holes.

    text               as it is
    Partition          its content; a manifest when a `read` tool of the agent
                       has the same root
    mapping            each value under its name
    Results            the completeness statement first, always; then each done
                       value under its key
    Done, Missing      the value under its key; several loose ones count as one
                       whole, and bring along the statement of the `Results` that
                       they were taken from
    pydantic object,   JSON
    dataclass
    list or tuple      of those, in order

A whole with holes is told; a whole with nothing done means that the agent is
not run (`Rendered.upstream`). One `Done` alone brings no statement: it is not a
part standing for a whole, and its reader need not be redone when others change.
Numbers, truth values and None are taken inside of mappings and lists. Anything
else raises `UsageError`.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, is_dataclass
from html import escape
from typing import Any

from fanout.decide.parts.content import NOTHING, Content, measure, of_files, total
from fanout.decide.parts.packing import Partition
from fanout.decide.parts.tokens import Kind, kind_of
from fanout.errors import UsageError
from fanout.script.jsonable import is_model, strict_json
from fanout.script.results import NAMES_SHOWN, Done, Missing, Results
from fanout.words.clean import well_formed
from fanout.words.model import RowId

Item = Done[Any] | Missing


@dataclass(frozen=True, slots=True)
class Rendered:
    """Inputs as an order carries them."""

    text: str = ""
    digests: tuple[str, ...] = ()
    """One of all but files, then one of each partition's content."""
    upstream: str | None = None
    """Why there is nothing to work on; None when there is."""
    sources: tuple[RowId, ...] = ()
    """Rows whose results are in it, missing ones included."""
    holes: tuple[RowId, ...] = ()
    """Those of them that were missing."""
    reads: int = 0
    """Bytes of the files of which the text is only a list."""
    content: Content = NOTHING
    """What the text is made of."""
    reading: Content = NOTHING
    """What those files are likely to hold."""


NO_INPUTS = Rendered()


@dataclass(frozen=True, slots=True)
class _Block:
    """A piece of the text; `outline` has digests in the place of files."""

    text: str
    outline: str
    digests: tuple[str, ...] = ()
    reads: int = 0
    reading: Content = NOTHING


def render(inputs: Any, *, readable: frozenset[str] = frozenset()) -> Rendered:
    """Return `inputs` as text; `readable` are roots that the agent's tools read.

    Reads the files of partitions that are inlined.
    """
    if inputs is None:
        return NO_INPUTS
    loose = list(_loose(inputs))
    upstream = next(_nothing_done(inputs, loose), None)
    if upstream is not None:
        return Rendered(upstream=upstream)
    if not _is_known(inputs):
        raise _unknown(inputs)
    blocks = [_plain(_stated(statement)) for statement in _statements(loose)]
    whole = _joined([*blocks, _block(inputs, readable)], "\n\n")
    sources, holes = _rows(inputs, loose)
    return Rendered(
        text=well_formed(whole.text),
        digests=(_sha256(whole.outline), *whole.digests),
        sources=sources,
        holes=holes,
        reads=whole.reads,
        content=measure(whole.text),
        reading=whole.reading,
    )


# What is there, and what is not


def _loose(inputs: Any) -> Iterator[Item]:
    """Results of agents that stand outside of a `Results`."""
    if isinstance(inputs, Done | Missing):
        yield inputs
    elif isinstance(inputs, Mapping):
        for value in inputs.values():
            yield from _loose(value)
    elif isinstance(inputs, list | tuple):
        for value in inputs:
            yield from _loose(value)


def _wholes(inputs: Any) -> Iterator[Results[Any]]:
    if isinstance(inputs, Results):
        yield inputs
    elif isinstance(inputs, Mapping):
        for value in inputs.values():
            yield from _wholes(value)
    elif isinstance(inputs, list | tuple):
        for value in inputs:
            yield from _wholes(value)


def _rows(
    inputs: Any, loose: list[Item]
) -> tuple[tuple[RowId, ...], tuple[RowId, ...]]:
    """All rows among the inputs, and the missing ones of their wholes."""
    items = [*loose, *(item for whole in _wholes(inputs) for item in whole)]
    scopes = [item.scope for item in items if item.scope is not None]
    scopes += [whole.scope for whole in _wholes(inputs)]
    holes = [item.row for item in items if isinstance(item, Missing)]
    holes += [row for scope in scopes for row in scope.missing]
    holes = list(dict.fromkeys(holes))
    sources = dict.fromkeys([*(item.row for item in items), *holes])
    return tuple(sources), tuple(holes)


def _nothing_done(inputs: Any, loose: list[Item]) -> Iterator[str]:
    holes = [item for item in loose if isinstance(item, Missing)]
    if holes and len(holes) == len(loose):
        more = f" (and {len(holes) - 1} more)" if len(holes) > 1 else ""
        yield f"{holes[0].row} is missing: {holes[0].because}{more}"
    for results in _wholes(inputs):
        if results.scope.expected and not len(results.done):
            yield f"nothing to work on: {results.statement(NAMES_SHOWN)}"


def _statements(loose: list[Item]) -> Iterator[str]:
    if len(loose) == 1:
        return
    for scope in dict.fromkeys(item.scope for item in loose):
        items = [item for item in loose if item.scope == scope]
        yield Results(items, scope=scope).statement()


# How it reads


def _is_known(value: Any) -> bool:
    return isinstance(
        value, str | Partition | Mapping | Results | Done | Missing | list | tuple
    ) or _is_object(value)


def _is_object(value: Any) -> bool:
    return is_model(value) or (is_dataclass(value) and not isinstance(value, type))


def _unknown(value: Any) -> UsageError:
    return UsageError(
        f"a {type(value).__name__} cannot be an agent's inputs",
        hint="give text, a Partition, a mapping, Results, pydantic objects or "
        "dataclasses, or lists of these",
    )


def _block(value: Any, readable: frozenset[str]) -> _Block:
    if isinstance(value, Partition):
        return _files(value, readable)
    if isinstance(value, Results):
        return _results(value, readable)
    if isinstance(value, Done | Missing):
        return _item(value, readable)
    if isinstance(value, Mapping) and value:
        return _joined(
            _tagged("input", {"name": str(name)}, _block(part, readable))
            for name, part in value.items()
        )
    if isinstance(value, list | tuple) and not _is_json(value):
        return _joined(_block(part, readable) for part in value)
    return _plain(
        value
        if isinstance(value, str)
        else json.dumps(strict_json(value), ensure_ascii=False)
    )


def _is_json(value: Any) -> bool:
    """Whether a list holds plain data only, and is best read as one JSON text."""
    if isinstance(value, Mapping):
        return all(map(_is_json, value.values()))
    if isinstance(value, list | tuple):
        return all(map(_is_json, value))
    return not isinstance(value, Partition | Results | Done | Missing)


def _results(results: Results[Any], readable: frozenset[str]) -> _Block:
    parts = [_plain(_stated(results.statement()))]
    parts.extend(_item(item, readable) for item in results.done)
    return _tagged("results", {}, _joined(parts))


def _item(item: Item, readable: frozenset[str]) -> _Block:
    names = {"phase": item.phase, "key": item.key}
    if isinstance(item, Missing):
        return _tagged("missing", names, _plain("this one is not there"))
    return _tagged("result", names, _block(item.value, readable))


def _files(part: Partition, readable: frozenset[str]) -> _Block:
    from fanout.script.parts import partition  # noqa: PLC0415  reads files

    listed = part.root in readable
    text = partition.render(part, inline=not listed)
    names = {"key": part.key}
    sizes: Counter[Kind] = Counter()
    if listed:
        for piece in part.pieces:
            sizes[kind_of(piece.path)] += piece.bytes
    outline = f"partition {part.digest}"
    made = _Block(text, outline, (part.digest,), sizes.total(), of_files(sizes))
    return _tagged("files", names, made)


def _stated(statement: str) -> str:
    return f"<completeness>{statement}</completeness>"


def _plain(text: str) -> _Block:
    return _Block(text, text)


def _tagged(tag: str, names: Mapping[str, str], inner: _Block) -> _Block:
    attributes = "".join(f' {name}="{escape(text)}"' for name, text in names.items())
    head, tail = f"<{tag}{attributes}>\n", f"\n</{tag}>"
    return _Block(
        f"{head}{inner.text}{tail}",
        f"{head}{inner.outline}{tail}",
        inner.digests,
        inner.reads,
        inner.reading,
    )


def _joined(blocks: Iterable[_Block], between: str = "\n") -> _Block:
    made = list(blocks)
    return _Block(
        between.join(block.text for block in made),
        between.join(block.outline for block in made),
        tuple(digest for block in made for digest in block.digests),
        sum(block.reads for block in made),
        total(block.reading for block in made),
    )


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
