"""What of a run's waves is worth a line, and what all of them come to together.

The first wave is always said. Later ones are said when they bring a phase that was
not heard of, or a tenth more than what was said; rows that trickle in one by one are
counted, and said with the next.
"""

from fanout.decide.forecast.say import Tally, first_wave, in_vain, later_wave
from fanout.words.ahead import Forecasted
from fanout.words.forecast import Forecast
from fanout.words.model import RowId

WORTH_SAYING = 0.1
"""Share of what was said before."""

_NEW = (False, "")


class Announcer:
    """Sums waves up; one for each life."""

    def __init__(self) -> None:
        self.tally = Tally()
        """Of rows since the last line."""
        self.known = Forecast()
        """What all waves are expected to take, as each of them appeared."""
        self._all = Tally()
        self._began: float | None = None
        self._wave = Forecast()
        """What was not said yet."""
        self._said = 0.0
        self._phases: set[str] = set()
        self._causes: dict[RowId, tuple[bool, str]] = {}
        """Of rows that nothing was said of yet: turns are kept; why they run again."""

    @property
    def unsaid(self) -> bool:
        """Rows were served by earlier work, and nobody was told so."""
        return self.tally.reused > 0

    def found(self, row: RowId, *, done: bool, kept: bool, again: str) -> None:
        """What earlier work there was for one row."""
        if done:
            self.tally.reused += 1
            self._all.reused += 1
            return
        self._causes[row] = (kept, again) if kept or again else _NEW
        self._count(kept, again, 1)

    def withdrawn(self, row: RowId) -> None:
        """The row does not run after all."""
        if (cause := self._causes.pop(row, None)) is not None:
            self._count(*cause, -1)

    def _count(self, kept: bool, again: str, by: int) -> None:
        for tally in (self.tally, self._all):
            if kept:
                tally.kept += by
            elif again:
                tally.again[again] = tally.again.get(again, 0) + by
                if not tally.again[again]:
                    del tally.again[again]
            else:
                tally.new += by

    def wave(self, wave: Forecast, whole: Forecast, now: float) -> Forecasted | None:
        """Take in a wave; return what is to be said, or None.

        `whole` is all that is left to do; its time counts from `now`.
        """
        if self._began is None:
            self._began = now
        self._wave += wave
        self.known = _timed(self.known + wave, whole, now - self._began)
        if not wave.rows and not self.tally.reused:
            return None
        phases = {one.phase for one in wave.phases}
        total = self._wave.tokens.total.expected
        first = not self._said and not self._phases
        if not (
            first
            or phases - self._phases
            or total >= WORTH_SAYING * self._said
            or not wave.rows
        ):
            return None
        return self._say(first=first)

    def last(self) -> Forecasted | None:
        """What was counted and not said, at the end; None when there is nothing."""
        return self._say(first=False) if self._wave.rows else None

    def _say(self, *, first: bool) -> Forecasted:
        tally, wave = self.tally, self._wave
        self.tally = Tally(held=tally.held, elsewhere=tally.elsewhere)
        self._causes.clear()
        self._wave = Forecast()
        self._phases |= {one.phase for one in self.known.phases}
        self._said = self.known.tokens.total.expected
        self._all.held = tally.held
        if first:
            text = first_wave(tally, self.known)
        else:
            text = later_wave(tally, wave, self.known)
        return Forecasted(
            reused=self._all.reused,
            kept=self._all.kept,
            again=dict(self._all.again),
            figures=self.known.as_dict(),
            text=text,
            warns=first and bool(wave.rows) and bool(in_vain(tally, self.known)),
        )


def _timed(known: Forecast, whole: Forecast, elapsed: float) -> Forecast:
    """`known`, done when all that is left is done."""
    seconds = whole.seconds
    if seconds is not None:
        seconds = type(seconds)(
            elapsed + seconds.low, elapsed + seconds.expected, elapsed + seconds.high
        )
    return Forecast(
        phases=known.phases,
        seconds=seconds,
        binds=whole.binds,
        limits=whole.limits,
        unknown=whole.unknown,
        calibrated=known.calibrated,
    )
