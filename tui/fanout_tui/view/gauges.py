"""One gauge per bucket: what was spent in a minute, against the limit.

The bar is the trailing 60 s, because `limit - remaining` of a bucket that is
refilled all the time reads near zero at half load. What calls in flight are
expected to add stands behind it, and a tick says where it will be in 15 s.
"""

from fanout.words.model import Cause, Dimension
from fanout.words.snapshot import BucketView, PoolView
from fanout_tui.text import left, one_line, signed, tokens
from fanout_tui.view.forecast import FULL, bottleneck, share, tightest
from fanout_tui.view.history import History
from fanout_tui.view.look import Look
from fanout_tui.view.spans import Line, Span, fit

NAMES = {
    Dimension.REQUESTS: "req/min",
    Dimension.INPUT: "in/min",
    Dimension.OUTPUT: "out/min",
}
SHOWN = (Dimension.INPUT, Dimension.OUTPUT, Dimension.REQUESTS)
NAME_CELLS = 7
FIGURES_CELLS = 33
WIDE_FROM = 60
HIGH_FROM = 16
SPARK_FROM = 120
SPARK_CELLS = 30
FREE_CELLS = 12
"""`-12.3k free`"""
SAVED_CELLS = 14
"""` +1.23M cached`: what the prompt cache kept off the input bucket."""


def shown_pool(look: Look, chosen: int | None) -> PoolView | None:
    """The pool whose gauges are drawn: the chosen one, else the tightest."""
    pools = look.snapshot.pools
    if chosen is not None and pools:
        return pools[chosen % len(pools)]
    return tightest(pools)


def gauge_lines(
    look: Look, history: History, chosen: int | None = None
) -> tuple[Line, ...]:
    """Three gauges, or one line of figures where there is little room."""
    pool = shown_pool(look, chosen)
    if pool is None:
        return ((Span(" limits unknown until the first response", "dim"),),)
    by_dimension = {bucket.dimension: bucket for bucket in pool.buckets}
    buckets = [by_dimension[d] for d in SHOWN if d in by_dimension]
    tight = _tight(look, pool)
    if look.width < WIDE_FROM or look.height < HIGH_FROM:
        return (_short(look, buckets, tight),)
    return tuple(_gauge(look, history, pool, b, tight=b is tight) for b in buckets)


def _tight(look: Look, pool: PoolView) -> BucketView | None:
    """The bucket that the head of this pool's line waits for.

    Where nothing waits, or a limit was met that was not named, the fullest; none
    where something else holds the line: it would get the blame.
    """
    gate = look.snapshot.gates.get(pool.name)
    cause = gate.cause if gate is not None else None
    if cause in {None, Cause.LIMIT}:
        return bottleneck(pool)
    return next((b for b in pool.buckets if b.dimension.value == cause), None)


def _short(look: Look, buckets: list[BucketView], tight: BucketView | None) -> Line:
    """`in 97%! out 43% req 24%`."""
    spans = [Span(" ")]
    for bucket in buckets:
        name = NAMES[bucket.dimension].removesuffix("/min")
        text = "?" if not bucket.limit else f"{bucket.spent * 100 // bucket.limit}%"
        style = _style(bucket)
        spans.append(Span(f"{name} {text}{'!' if bucket is tight else ''}  ", style))
    spans.append(Span("of each minute's limit", "dim"))
    return fit(spans, look.width, look.glyphs.more)


def _style(bucket: BucketView) -> str:
    return "warn" if share(bucket) > FULL else ""


def _gauge(
    look: Look, history: History, pool: PoolView, bucket: BucketView, *, tight: bool
) -> Line:
    glyphs = look.glyphs
    spark = SPARK_CELLS if look.width >= SPARK_FROM else 0
    free = FREE_CELLS if spark else 0
    saved = SAVED_CELLS if spark and pool.cached else 0
    room = look.width - NAME_CELLS - FIGURES_CELLS - free - saved - 6
    room -= spark + 1 if spark else 0
    spans = [
        Span(f" {left(NAMES[bucket.dimension], NAME_CELLS)} ", "dim"),
        *bar(look, bucket, room),
        Span(" " + left(figures(look, bucket), FIGURES_CELLS, glyphs.more)),
        Span(left(_free(bucket), free)),
        Span(left(_saved(pool, bucket), saved), "dim"),
        Span(f" {glyphs.tight if tight else ' '} ", "warn"),
    ]
    if spark:
        bars = history.spark(pool.name, bucket.dimension, spark, glyphs.spark)
        spans.append(Span(bars, "spark"))
    return fit(spans, look.width)


def _free(bucket: BucketView) -> str:
    """What a call may take at once: the minute's sum does not say that."""
    return "" if bucket.free is None else f"{signed(bucket.free)} free"


def _saved(pool: PoolView, bucket: BucketView) -> str:
    """What the cache has saved in the trailing minute, beside the input gauge."""
    is_input = bucket.dimension is Dimension.INPUT
    return f"+{tokens(pool.cached)} cached" if is_input and pool.cached else ""


def bar(look: Look, bucket: BucketView, cells: int) -> Line:
    """Spent, in flight, free; a tick where it will be in 15 s."""
    glyphs = look.glyphs
    if not bucket.limit:
        return (Span(glyphs.free * cells, "rule"),)
    scale = cells / bucket.limit
    spent = min(cells, round(bucket.spent * scale))
    held = min(cells - spent, round(bucket.held * scale))
    marks = [glyphs.spent] * spent + [glyphs.held] * held
    marks += [glyphs.free] * (cells - spent - held)
    styles = ["gauge-hot" if share(bucket) > FULL else "gauge"] * spent
    styles += ["held"] * held + ["rule"] * (cells - spent - held)
    tick = min(cells - 1, round(bucket.forecast * scale))
    if bucket.forecast and tick >= 0:
        marks[tick], styles[tick] = glyphs.forecast, "tick"
    return _runs(marks, styles)


def _runs(marks: list[str], styles: list[str]) -> Line:
    """Equal styles side by side as one span."""
    spans: list[Span] = []
    for mark, style in zip(marks, styles, strict=True):
        if spans and spans[-1].style == style:
            spans[-1] = Span(spans[-1].text + mark, style)
        else:
            spans.append(Span(mark, style))
    return tuple(spans)


def figures(look: Look, bucket: BucketView) -> str:
    """` 1.94M/2.00M  97% → 93% in 15s`."""
    if not bucket.limit:
        return f"{tokens(bucket.spent):>6}/min    limit ?"
    now = f"{tokens(bucket.spent):>6}/{tokens(bucket.limit):<6}"
    percent = bucket.spent * 100 // bucket.limit
    later = bucket.forecast * 100 // bucket.limit
    return f"{now} {percent:3d}% {look.glyphs.arrow} {later}% in 15s"


def pool_title(pool: PoolView) -> str:
    """The pool's name and its models."""
    models = ", ".join(one_line(model) for model in pool.models)
    return f"{one_line(pool.name)} ({models})" if models else one_line(pool.name)
