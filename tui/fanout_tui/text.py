"""Text as a terminal shows it: what is safe, how wide it is, how it is cut.

Widths are counted in cells, not characters: a name in Chinese is twice as wide
as it is long. Everything that came from a model, a tool or a script passes
`one_line` or `wrap` before it is measured and drawn, so that an escape sequence
in it is seen, not obeyed.
"""

from collections.abc import Sequence
from datetime import UTC, datetime

from fanout.decide.forecast import say
from fanout.words import counted
from fanout.words.clean import clean, shortened
from fanout_tui.cells import sizes, width

plural = counted.plural

_PLAIN = str.maketrans({"·": "-", "→": ">", "—": "-", "…": "~"})


def to_ascii(text: str) -> str:
    """`text` for terminals and streams that know nothing else; widths stay."""
    return text.translate(_PLAIN).encode("ascii", "replace").decode("ascii")


_SPACES = {0x09: " ", 0x0A: " "}

LINE_MAX = 20_000
"""Characters of one line that are looked at; no terminal is as wide."""


def one_line(text: str) -> str:
    """`text` cleaned, with line ends and tabs as spaces."""
    text = shortened(text, LINE_MAX)
    if text.isascii() and text.isprintable():
        return text
    return clean(text.replace("\r\n", "\n").translate(_SPACES))


def cut_end(text: str, cells: int, mark: str = "…") -> str:
    """The beginning of `text`, at most `cells` wide."""
    if width(text) <= cells:
        return text
    room = cells - width(mark)
    return text[: _fitting(sizes(text), room)] + mark if room >= 0 else mark[:cells]


def cut_start(text: str, cells: int, mark: str = "…") -> str:
    """The end of `text`, at most `cells` wide: where names differ."""
    if width(text) <= cells:
        return text
    room = cells - width(mark)
    if room < 0:
        return mark[:cells]
    kept = _fitting(sizes(text)[::-1], room)
    return mark + text[len(text) - kept :]


def _fitting(found: Sequence[int], cells: int) -> int:
    """How many characters of these sizes fit into `cells`."""
    used = 0
    for count, size in enumerate(found):
        used += size
        if used > cells:
            return count
    return len(found)


def left(text: str, cells: int, mark: str = "…") -> str:
    """`text` cut and filled to exactly `cells`."""
    text = cut_end(text, cells, mark)
    return text + " " * (cells - width(text))


def right(text: str, cells: int) -> str:
    """`text` against the right edge of exactly `cells`."""
    text = cut_end(text, cells)
    return " " * (cells - width(text)) + text


def left_keeping_end(text: str, cells: int, mark: str = "…") -> str:
    """`text` filled to exactly `cells`; where too long, its end is kept."""
    text = cut_start(text, cells, mark)
    return text + " " * (cells - width(text))


def wrap(text: str, cells: int) -> list[str]:
    """`text` as lines of at most `cells`, broken at spaces where there are any."""
    lines: list[str] = []
    for paragraph in text.replace("\r\n", "\n").split("\n"):
        lines.extend(_wrap_line(clean(paragraph.expandtabs(4)), max(cells, 1)))
    return lines


def _wrap_line(text: str, cells: int) -> list[str]:
    lines: list[str] = []
    found = sizes(text)
    start = 0
    while (end := _line_end(found, start, cells)) < len(text):
        space = text.rfind(" ", start, end)
        if space > start + cells // 3 and text[end] != " ":
            end = space
        lines.append(text[start:end])
        start = end
        while start < len(text) and text[start] == " ":
            start += 1
    lines.append(text[start:])
    return lines


def _line_end(found: Sequence[int], start: int, cells: int) -> int:
    """Where a line of at most `cells` that begins at `start` ends."""
    at, used = start, 0
    while at < len(found):
        used += found[at]
        if used > cells and at > start:
            break
        at += 1
    return at


_SIZES = (
    (1e3, 1.0, "", 0),
    (99_950.0, 1e3, "k", 1),
    (999_500.0, 1e3, "k", 0),
    (9_995_000.0, 1e6, "M", 2),
    (99_500_000.0, 1e6, "M", 1),
    (999_500_000.0, 1e6, "M", 0),
    (float("inf"), 1e9, "G", 1),
)
"""Below which number, divided by what, with which unit and decimals."""


def tokens(count: float) -> str:
    """A number of tokens in at most five characters: 417, 2.5k, 155k, 1.94M."""
    _, size, unit, decimals = next(each for each in _SIZES if count < each[0])
    return f"{count / size:.{decimals}f}{unit}"


def time_of_day(at: float) -> str:
    """A wall-clock second where the reader is: `14:02:11`."""
    return datetime.fromtimestamp(at, UTC).astimezone().strftime("%H:%M:%S")


def clock_time(seconds: float) -> str:
    """A length of time as 4:19 or 1:02:03."""
    whole = max(0, int(seconds))
    minutes, second = divmod(whole, 60)
    hours, minute = divmod(minutes, 60)
    if hours:
        return f"{hours}:{minute:02d}:{second:02d}"
    return f"{minute}:{second:02d}"


def short_time(seconds: float) -> str:
    """A length of time in at most four characters: 7s, 12m, 3h, 2d."""
    whole = max(0, int(seconds))
    for size, unit, limit in ((1, "s", 100), (60, "m", 6000), (3600, "h", 360000)):
        if whole < limit:
            return f"{whole // size}{unit}"
    return f"{whole // 86400}d"


def signed(number: float) -> str:
    """Tokens that may be owed: `12.3k`, `-819`."""
    return f"-{tokens(-number)}" if number < 0 else tokens(number)


def dollars(amount: float | None) -> str:
    """A sum of money; `$?` where a price is unknown."""
    return "$?" if amount is None else say.dollars(amount)
