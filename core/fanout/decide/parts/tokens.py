"""How many tokens a text is likely to be, from its bytes alone.

Partitions need a figure that is cheap, fixed and the same everywhere: asking
the account would cost a call a file, and a tokenizer changes with the model.
So tokens are bytes divided by a constant of the kind of text. The constants
lean to the safe side (fewer bytes a token gives more tokens): English prose
runs at 4 to 4.5 bytes a token, source code at 3 to 4, JSON at 2.5 to 3.5 with
its quotes and digits, and text in other scripts at 2 to 3 bytes of UTF-8.
Admission does not rely on them, it is corrected by what calls really used.

A change of a constant changes every partition; then `VERSION` changes too.
"""

from typing import Final, Literal

Kind = Literal["code", "prose", "json", "other"]

VERSION: Final = "1"
"""Names the constants; part of every partition's digest."""

BYTES_PER_TEN_TOKENS: Final[dict[Kind, int]] = {
    "code": 33,
    "prose": 40,
    "json": 28,
    "other": 26,
}

_PROSE: Final = frozenset({"md", "rst", "txt", "adoc", "tex", "org", "text"})
_JSON: Final = frozenset(
    {"json", "jsonl", "ndjson", "csv", "tsv", "xml", "svg", "ipynb", "geojson"}
)
_CODE_SUFFIXES: Final = (
    "py pyi js jsx ts tsx mjs cjs java kt scala go rs c h cc cpp hpp cs rb php "
    "swift m mm sh bash zsh fish ps1 sql r jl lua pl pm ex exs erl hs ml mli clj "
    "html htm css scss less vue svelte toml yaml yml ini cfg conf cmake mk gradle "
    "tf proto graphql dart zig nim v sv vhd asm s bat"
)
_CODE: Final = frozenset(_CODE_SUFFIXES.split())
_CODE_NAMES: Final = frozenset({"makefile", "dockerfile", "rakefile", "justfile"})


def kind_of(path: str) -> Kind:
    """Return the kind of text that a path's suffix suggests."""
    name = path.rsplit("/", 1)[-1].lower()
    suffix = name.rsplit(".", 1)[-1] if "." in name else ""
    if suffix in _CODE or name in _CODE_NAMES:
        return "code"
    if suffix in _PROSE:
        return "prose"
    return "json" if suffix in _JSON else "other"


def estimate_tokens(content: str | bytes | int, kind: Kind) -> int:
    """Return the estimated tokens of a text, of its UTF-8 bytes, or their number.

    At least 1 for anything that is not empty.
    """
    if isinstance(content, str):
        size = len(content.encode(errors="surrogatepass"))
    else:
        size = content if isinstance(content, int) else len(content)
    return -(-size * 10 // BYTES_PER_TEN_TOKENS[kind])


def bytes_within(max_tokens: int, kind: Kind) -> int:
    """Return how many bytes are estimated at `max_tokens` at most."""
    return max_tokens * BYTES_PER_TEN_TOKENS[kind] // 10
