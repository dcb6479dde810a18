"""What admission showed, through the journal and back."""

from hypothesis import given
from hypothesis import strategies as st

from fanout.decide.observing import HEAD, Seen, observe, seen_in
from fanout.disk.codec import decode, encode
from fanout.words.events import Record
from fanout.words.forecast import Forecast, PhaseForecast, Range, TokenRange
from fanout.words.model import Cause, Dimension, RowId
from fanout.words.observed import Observed
from fanout.words.snapshot import BucketView, CeilingView, Gate, PoolView

rows = st.lists(
    st.builds(RowId, st.sampled_from("ab"), st.integers(0, 99).map(str)),
    unique=True,
    max_size=60,
).map(tuple)
whole = st.integers(-(10**7), 10**7)
counts = st.integers(0, 10**7)


@st.composite
def buckets(draw: st.DrawFn) -> tuple[BucketView, ...]:
    return tuple(
        BucketView(
            dimension=dimension,
            limit=draw(st.none() | counts),
            capacity=draw(st.none() | whole),
            free=draw(st.none() | whole),
            spent=draw(counts),
            held=draw(counts),
            forecast=draw(counts),
        )
        for dimension in Dimension
    )


ranges = st.lists(whole, min_size=3, max_size=3).map(lambda ends: Range(*sorted(ends)))
lefts = st.builds(
    Forecast,
    phases=st.lists(
        st.builds(
            PhaseForecast,
            phase=st.text(max_size=5),
            model=st.just("m"),
            pool=st.just("p"),
            rows=counts,
            learned=counts,
            calls=ranges,
            tokens=st.builds(
                TokenRange,
                input=ranges,
                cache_write=ranges,
                cache_read=ranges,
                output=ranges,
            ),
            dollars=st.none() | ranges,
            seconds=counts.map(float),
        ),
        max_size=3,
    ).map(tuple),
    seconds=st.none() | ranges,
    binds=st.text(max_size=5),
    limits=st.text(max_size=5),
    unknown=counts,
)


@st.composite
def shown(draw: st.DrawFn) -> Seen:
    names = draw(st.lists(st.text(max_size=5), unique=True, max_size=3))
    pools = tuple(
        PoolView(
            name=name, models=(name, "m"), buckets=draw(buckets()), cached=draw(counts)
        )
        for name in names
    )
    gates = {
        name: Gate(
            pool=name,
            waiting=draw(rows),
            cause=draw(st.none() | st.sampled_from(list(Cause))),
            until=draw(st.none() | st.integers(0, 10**9).map(lambda n: n / 8)),
            detail=draw(st.text(max_size=9)),
        )
        for name in names
    }
    ceiling = CeilingView(
        limit=draw(counts), user=draw(st.none() | counts), in_flight=3
    )
    return Seen(pools, gates, ceiling, draw(st.none() | lefts))


@given(shown())
def test_what_was_shown_is_shown_again(seen: Seen) -> None:
    record = decode(encode(Record(1, 1, 5.0, observe(seen))))
    assert isinstance(record, Record)
    assert isinstance(record.event, Observed)
    waiting = {name: sorted(gate.waiting) for name, gate in seen.gates.items()}
    again = seen_in(record.event, waiting)
    assert again.pools == seen.pools
    assert again.ceiling == seen.ceiling
    assert again.left == seen.left
    for name, gate in seen.gates.items():
        found = again.gates[name]
        assert (found.cause, found.detail) == (gate.cause, gate.detail)
        assert (found.until is None) == (gate.until is None)
        assert abs((found.until or 0) - (gate.until or 0)) < 0.06
        assert found.waiting[:HEAD] == gate.waiting[:HEAD]
        assert sorted(found.waiting) == sorted(gate.waiting)


@given(shown())
def test_rows_that_wait_no_more_are_not_in_line(seen: Seen) -> None:
    again = seen_in(observe(seen), {})
    assert all(gate.waiting == () for gate in again.gates.values())
