"""A ready-made list into partitions: texts, mappings, models, whatever has a JSON form.

Items keep their order; the cuts hang on the items' own hashes, as in a file of
records, so an added item changes the partition that it falls into. A script gets
its items back as `part.items`; an agent is shown them as text, one after the other.
"""

import hashlib
import json
from collections.abc import Iterable
from html import escape
from typing import Any

from fanout.decide.parts import tokens
from fanout.decide.parts.cutting import cut, equal
from fanout.decide.parts.packing import Partition, keys_of, numbered
from fanout.decide.parts.tokens import Kind, estimate_tokens
from fanout.errors import UsageError
from fanout.script.jsonable import strict_json
from fanout.script.parts.narrowing import Narrowing
from fanout.script.parts.records import Key, Made, level_of, name_of


def partition_items(
    items: Iterable[Any], *, max_tokens: int, narrowing: Narrowing, key: Key
) -> Made:
    """Return the items as partitions. Raises `UsageError` for what has no JSON form."""
    kept: list[Any] = []
    texts: list[str] = []
    names: list[str] = []
    for item in items:
        text = _text(item)
        if not narrowing.keeps(text.encode(errors="surrogatepass")):
            continue
        kept.append(item)
        names.append(name_of(item, text.encode(errors="surrogatepass"), key))
        texts.append(_shown(names[-1] if key else None, text))
    sizes = [
        estimate_tokens(text, _kind(item))
        for text, item in zip(texts, kept, strict=True)
    ]
    levels = [level_of(name) for name in names]
    runs = cut(sizes, equal(levels), max_tokens)
    keys = keys_of(list(numbered(f"items-{names[run.start]}" for run in runs)))
    parts = [
        _partition(
            name,
            kept[run.start : run.stop],
            texts[run.start : run.stop],
            sizes[run.start : run.stop],
        )
        for name, run in zip(keys, runs, strict=True)
    ]
    notes = [
        f"the item at {run.start} alone has {sizes[run.start]:,} tokens, more than "
        f"{max_tokens:,}"
        for run in runs
        if len(run) == 1 and sizes[run.start] > max_tokens
    ]
    return Made(parts, [], [*narrowing.note("items"), *notes])


def _text(item: Any) -> str:
    if isinstance(item, str):
        return item
    if isinstance(item, bytes | bytearray):
        raise UsageError(
            "bytes cannot be an item of a partition",
            hint="decode them, or give the file's path",
        )
    return json.dumps(strict_json(item), ensure_ascii=False)


def _kind(item: Any) -> Kind:
    return "other" if isinstance(item, str) else "json"


def _shown(name: str | None, text: str) -> str:
    attribute = "" if name is None else f' key="{escape(name)}"'
    return f"<item{attribute}>\n{text}\n</item>"


def _partition(
    key: str, items: list[Any], texts: list[str], sizes: list[int]
) -> Partition:
    text = "\n".join(texts)
    said = f"estimate {tokens.VERSION}\n{text}".encode(errors="surrogatepass")
    return Partition(
        key=key,
        root="",
        pieces=(),
        tokens=sum(sizes),
        digest=hashlib.sha256(said).hexdigest(),
        items=tuple(items),
        text=text,
    )
