"""What agents are given, in tokens, and how far off that is expected to be."""

from dataclasses import dataclass

from fanout.decide.calibration import generation
from fanout.decide.forecast.outlook import Group, Name, Outlook
from fanout.decide.forecast.prior import supposed
from fanout.words.forecast import Calibrated, Range


@dataclass(frozen=True, slots=True)
class Given:
    """What some agents are given."""

    tokens: Range
    known: bool = False
    """From what it is made of, not from its bytes alone."""


def tokens_of(
    outlook: Outlook, name: Name, group: Group, count: float, size: float
) -> Given:
    """Return what `count` agents are given, of which those of the group are fresh.

    Those beyond the group's own, and those of which nothing is known, are taken to be
    as the others.
    """
    known = group.fresh_known
    if not known or not count or not outlook.vocabulary.holds(name.model):
        return Given(supposed(size))
    made = outlook.vocabulary.expect(name.model, group.fresh_given, known)
    return Given(made.times(count / known), known=True)


def calibrated(outlook: Outlook) -> Calibrated | None:
    """Return how sure the estimates of open agents are; None where there are none."""
    whole = Range()
    models = {}
    tools = False
    for name, group in outlook.groups.items():
        if not group.fresh_known or not outlook.vocabulary.holds(name.model):
            continue
        models[generation(name.model)] = name.model
        tools = tools or group.kind.tools
        known = group.fresh_known
        whole += outlook.vocabulary.expect(name.model, group.fresh_given, known)
    if not whole.expected:
        return None
    here = [outlook.calibration.known(model) for model in models.values()]
    ever = [outlook.vocabulary.known(model) for model in models.values()]
    counted = sum(sums.counted for sums in here)
    seen = sum(sums.count for sums in here)
    return Calibrated(
        error=(whole.high - whole.expected) / whole.expected,
        counted=round(counted),
        answered=round(seen - counted),
        earlier=round(sum(sums.count for sums in ever) - seen),
        openings=tools,
        failed=outlook.uncounted,
    )
