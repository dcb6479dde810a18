"""Research many questions, then weigh the answers: holes are dealt with.

    fanout-tui --simulate two_phases.py
    fanout-tui --simulate two_phases.py "solar power" "tidal power"

What to look at:

- `allow_missing` says how many holes the research may have. With more, the run stops
  before the second phase spends anything.
- `prove=2` sends two agents first. If the prompt is wrong, that costs two agents and
  not all of them.
- A missing result cannot be read by accident: its `.value` raises. `.done` and
  `.missing` are the two ways to go on, and `.done` still tells the next agent what is
  not there.
- `pipeline` has no barrier: a slide is shortened as soon as it is drafted.
"""

import fanout

SOURCES = (
    *("coal", "gas", "oil", "hydropower", "wind", "solar power"),
    *("nuclear fission", "geothermal heat", "tidal power", "biomass"),
)


def draft(facts: fanout.Done[str], _: object) -> object:
    """First stage: what it is given is the item itself."""
    return fanout.agent("Draft a slide from these.", key=facts.key, inputs=facts)


def shorten(slide: str, facts: fanout.Done[str]) -> object:
    """Second stage: what it is given is the first one's value, then the item."""
    return fanout.agent("Shorten this to one line.", key=facts.key, inputs=slide)


async def main(*topics: str) -> dict[str, object]:
    """Research the topics, weigh them, and return what is known and what is not."""
    async with fanout.phase("research", allow_missing="20%"):
        facts = await fanout.parallel(
            (
                fanout.agent(
                    f"List the five most important facts about {topic} as a source of "
                    "electricity: cost, supply, risks, speed, limits. One line each.",
                    key=topic,
                    output=f"facts/{topic.replace(' ', '-')}.md",
                    max_tokens=600,
                )
                for topic in topics or SOURCES
            ),
            prove=2,
        )

    for hole in facts.missing:
        fanout.log(f"going on without {hole.key}: {hole.because}")

    async with fanout.phase("weigh"):
        verdict = await fanout.agent(
            "Compare these sources of electricity in one table and one paragraph. Say "
            "which are not covered.",
            key="verdict",
            inputs=facts.done,
            output="verdict.md",
        )

    async with fanout.phase("slides"):
        slides = await fanout.pipeline(facts.done, draft, shorten)

    return {
        "verdict": verdict.value,
        "slides": {slide.key: slide.value for slide in slides.done},
        "missing": [hole.key for hole in (*facts.missing, *slides.missing)],
    }
