"""From what is left and what was learned to tokens, dollars and minutes."""

from math import ceil

from fanout.decide.admission.ceiling import START
from fanout.decide.batching import POOL, PRICE
from fanout.decide.forecast.batches import BATCHES
from fanout.decide.forecast.duration import Duration, Limits, Load, duration
from fanout.decide.forecast.longest import longest
from fanout.decide.forecast.openings import Given, calibrated, tokens_of
from fanout.decide.forecast.outlook import Going, Group, Name, Outlook
from fanout.decide.forecast.pace import PACE
from fanout.decide.forecast.prior import guess, supposed
from fanout.decide.forecast.sample import INPUTS, Sample, Use
from fanout.decide.money.pricing import dollars
from fanout.words.forecast import Forecast, PhaseForecast, Range, TokenRange
from fanout.words.model import Usage
from fanout.words.prices import Prices

FEW = 3.0
"""Below so many agents a guess counts for one of them."""
EARLIER_MAX = 20.0
"""So many of this run's agents outweigh what earlier runs have shown."""
OPENING = Range(0.5, 1.5, 3.0)
"""Seconds in which the first answers tell the limits, and the rest is let out."""
SUM_OFF = 0.05
"""Share of the time that no sum over limits and calls is surer of."""
GOES_BACK = 0.5
"""From so many answers on that are expected to be sent back, one is."""
WIDTH_KEPT = 0.8
"""So much of what agents differed by stays, where what they read is estimated."""
LEAST_LEFT = 0.2
"""An agent under way that has used up its share is expected to need so much more."""


def forecast(outlook: Outlook, limits: Limits, now: float | None = None) -> Forecast:
    """Return what is left to do in a run, at the wall-clock second `now`.

    None: at the moment of its newest fact.
    """
    ahead, unknown = _ahead(outlook)
    phases = []
    loads: dict[str, list[Load]] = {"low": [], "expected": [], "high": []}
    pools: list[str] = []
    batched, rounds, by_pace = 0, 1.0, Range()
    for name, group in outlook.groups.items():
        more = ahead.get(name.phase, 0) if _leads(outlook, name) else 0
        uses, slowest = _left(outlook, name, group, more)
        rows = group.fresh + len(group.going) + more
        if not rows:
            continue
        phases.append(_phase(outlook, name, group, rows, uses, slowest.expected))
        if group.pool == POOL:
            # Batches take from no bucket, and are done when the service is.
            batched += rows
            rounds = max(rounds, _rounds(outlook, name, group, rows))
            continue
        if rate := group.pace.rate():
            by_pace = by_pace.longer(uses[Use.CALLS].times(1 / rate))
        pools.append(group.pool)
        for end, found in loads.items():
            found.append(_load(uses, end, getattr(slowest, end)))
    took = {end: _duration(pools, found, limits) for end, found in loads.items()}
    seconds, middle = _seconds(took), took["expected"]
    binds = "" if middle is None else middle.binds
    if seconds is not None:
        binds = PACE if by_pace.expected > seconds.expected else binds
        seconds = seconds.longer(by_pace)
    if batched and seconds is not None:
        by_batch = _in_batches(outlook, batched, rounds, now)
        binds = BATCHES if by_batch.expected >= seconds.expected else binds
        seconds = seconds.longer(by_batch)
    return Forecast(
        phases=tuple(phases),
        seconds=seconds,
        binds=binds,
        limits=limits.source,
        unknown=unknown,
        calibrated=calibrated(outlook),
    )


def _in_batches(outlook: Outlook, rows: int, rounds: float, now: float | None) -> Range:
    """Seconds until so many agents have gone through batches, `rounds` each."""
    batches, earlier = outlook.batches, outlook.earlier.batches
    if rows > batches.under_way:
        return batches.whole(earlier).times(rounds)
    return batches.rest(earlier, batches.at if now is None else now)


def _rounds(outlook: Outlook, name: Name, group: Group, rows: int) -> float:
    """Batches one after the other that these agents go through, all but a few."""
    sample = _sample(outlook, name, group)
    calls = sample.sums[Use.CALLS] / sample.count if sample.count else 1.0
    # One answer that is sent back is a batch more for all that wait for it.
    return 1.0 if rows * (calls - 1) < GOES_BACK else float(ceil(calls))


def beyond(outlook: Outlook) -> tuple[PhaseForecast, ...]:
    """Return the phases that earlier runs had and this one has not reached."""
    reached = {name.phase for name in outlook.groups}
    found = []
    for phase, (name, count) in outlook.earlier.phases.items():
        sample = outlook.earlier.samples[name]
        if phase in reached or not sample.count:
            continue
        size = count * sample.size / sample.count
        uses = [sample.of(use, count, size) for use in Use]
        tokens = _tokens(uses)
        found.append(
            PhaseForecast(
                phase=phase,
                model=name.model,
                pool="",
                rows=round(count),
                learned=round(sample.count),
                calls=uses[Use.CALLS],
                tokens=tokens,
                dollars=_dollars(
                    name.model, tokens, uses[Use.CALLS].expected, "", outlook.prices
                ),
                seconds=uses[Use.SECONDS].expected / count,
            )
        )
    return tuple(found)


def _ahead(outlook: Outlook) -> tuple[dict[str, int], int]:
    """Declared rows by phase where the phase is known, and how many are not."""
    known = {name.phase for name in outlook.groups}
    counts: dict[str, int] = {}
    unknown = 0
    for row in outlook.ahead:
        if row.phase in known:
            counts[row.phase] = counts.get(row.phase, 0) + 1
        else:
            unknown += 1
    return counts, unknown


def _leads(outlook: Outlook, name: Name) -> bool:
    """Whether declared rows of its phase are taken to be of this kind."""
    return next(n for n in outlook.groups if n.phase == name.phase) == name


def _sample(outlook: Outlook, name: Name, group: Group) -> Sample:
    """What is known of such agents: from this run, and from earlier ones."""
    most = max(0.0, EARLIER_MAX - group.sample.count)
    return group.sample.joined(outlook.earlier.of(name), most)


def _left(
    outlook: Outlook, name: Name, group: Group, more: int
) -> tuple[list[Range], Range]:
    """What a kind's open agents will still use, by `Use`; the longest one's time."""
    sample = _sample(outlook, name, group)
    size = group.fresh_size + more * _usual_size(sample, group)
    count = group.fresh + more
    given = tokens_of(outlook, name, group, count, size)
    fresh = _expected(sample, group, count, size, given)
    going = [
        _rest(_of_one(outlook, sample, group, one), one.values())
        for one in group.going.values()
    ]
    slowest = _longest(sample, group, count) if count else Range()
    if count > START:
        slowest += OPENING
    for parts in going:
        slowest = slowest.longer(parts[Use.SECONDS])
    return [sum((parts[use] for parts in going), fresh[use]) for use in Use], slowest


def _longest(sample: Sample, group: Group, count: float) -> Range:
    """How long the longest of so many new agents works."""
    if sample.count >= FEW:
        return longest(sample, count)
    usual = _usual_size(sample, group)
    return _expected(sample, group, 1, usual, Given(supposed(usual)))[Use.SECONDS]


def _usual_size(sample: Sample, group: Group) -> float:
    if group.fresh:
        return group.fresh_size / group.fresh
    return sample.size / sample.count if sample.count else 0.0


def _of_one(outlook: Outlook, sample: Sample, group: Group, one: Going) -> list[Range]:
    """What one agent will use from its beginning to its end."""
    if group.kind.tools and sample.count >= FEW:
        # Then nothing hangs on what it was given, which takes longer to say.
        return [sample.of(use, 1, one.size) for use in Use]
    alone = Group(group.kind, group.pool)
    alone.count(one, 1)
    given = tokens_of(outlook, one.name, alone, 1, one.size)
    return _expected(sample, group, 1, one.size, given)


def _expected(
    sample: Sample, group: Group, count: float, size: float, given: Given
) -> list[Range]:
    """What agents will use from their beginning to their end."""
    if not sample.count:
        return guess(group.kind, count, given.tokens)
    seen = [sample.of(use, count, size) for use in Use]
    if given.known and count and not group.kind.tools:
        # What they read is what they are given, and that was estimated: the surer
        # of both figures holds. How long it takes hangs on more than that.
        read = sample.input(given.tokens)
        if _width(read) < _width([seen[use] for use in INPUTS]):
            seen[: len(INPUTS)] = [
                one.widened(WIDTH_KEPT, seen[use])
                for use, one in zip(INPUTS, read, strict=True)
            ]
    if sample.count >= FEW:
        return seen
    prior = guess(group.kind, count, given.tokens)
    share = 1 / (1 + sample.count)
    return [
        known.times(1 - share) + guessed.times(share)
        for known, guessed in zip(seen, prior, strict=True)
    ]


def _width(figures: list[Range]) -> float:
    return sum(figure.high - figure.low for figure in figures)


def _rest(whole: list[Range], spent: list[float]) -> list[Range]:
    """What an agent under way still needs: at least a part of a call."""
    calls = max(1.0, whole[Use.CALLS].expected)
    rest = []
    for use, figure in zip(Use, whole, strict=True):
        least = LEAST_LEFT * figure.expected / calls
        left = max(least, figure.expected - spent[use])
        rest.append(
            Range(
                min(left, max(0.0, figure.low - spent[use])),
                left,
                max(left, figure.high - spent[use]),
            )
        )
    return rest


def _phase(  # noqa: PLR0917  one after the other, as they are
    outlook: Outlook,
    name: Name,
    group: Group,
    rows: int,
    uses: list[Range],
    slowest: float,
) -> PhaseForecast:
    tokens = _tokens(uses)
    sample = _sample(outlook, name, group)
    return PhaseForecast(
        phase=name.phase,
        model=name.model,
        pool=group.pool,
        rows=rows,
        learned=round(sample.count),
        calls=uses[Use.CALLS],
        tokens=tokens,
        dollars=_dollars(
            name.model, tokens, uses[Use.CALLS].expected, group.pool, outlook.prices
        ),
        seconds=slowest,
    )


def _tokens(uses: list[Range]) -> TokenRange:
    return TokenRange(
        input=uses[Use.INPUT],
        cache_write=uses[Use.CACHE_WRITE],
        cache_read=uses[Use.CACHE_READ],
        output=uses[Use.OUTPUT],
    )


def _dollars(
    model: str, tokens: TokenRange, calls: float, pool: str, prices: Prices
) -> Range | None:
    """What tokens cost; a prompt's length, which may decide the price, is a call's."""
    ends = []
    for end in ("low", "expected", "high"):
        each = max(1.0, calls)
        one = Usage(
            round(getattr(tokens.input, end) / each),
            round(getattr(tokens.output, end) / each),
            round(getattr(tokens.cache_read, end) / each),
            round(getattr(tokens.cache_write, end) / each),
        )
        cost = dollars(model, one, prices)
        if cost is None:
            return None
        ends.append(cost * each)
    whole = Range(*ends)
    return whole.times(PRICE) if pool == POOL else whole


def _load(uses: list[Range], end: str, slowest: float) -> Load:
    def figure(use: Use) -> float:
        return float(getattr(uses[use], end))

    return Load(
        calls=figure(Use.CALLS),
        input=figure(Use.INPUT) + figure(Use.CACHE_WRITE),
        output=figure(Use.OUTPUT),
        seconds=figure(Use.SECONDS),
        longest=slowest,
    )


def _duration(pools: list[str], loads: list[Load], limits: Limits) -> Duration | None:
    joined: dict[str, Load] = {}
    for pool, load in zip(pools, loads, strict=True):
        known = joined.get(pool, Load())
        joined[pool] = Load(
            calls=known.calls + load.calls,
            input=known.input + load.input,
            output=known.output + load.output,
            seconds=known.seconds + load.seconds,
            longest=max(known.longest, load.longest),
        )
    return duration(joined, limits)


def _seconds(took: dict[str, Duration | None]) -> Range | None:
    """By limits, calls in flight and the longest agent; None where one is unknown.

    How calls are spaced, and how the last of them end, is in no such sum: however sure
    the tokens are, the time is not surer than that.
    """
    ends = [one.seconds for one in took.values() if one is not None]
    if len(ends) != len(took):
        return None
    found = Range(*ends)
    return found.widened(SUM_OFF, Range(0.0, found.expected, 2 * found.expected))
