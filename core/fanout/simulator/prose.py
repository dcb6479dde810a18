"""Answers in Markdown, made of what is known and nothing else."""

from collections import Counter

from fanout.simulator import facts
from fanout.simulator.audit import Finding
from fanout.simulator.knowledge import Knowledge

_SHOWN_PER_RULE = 3


def report(known: Knowledge) -> str:
    """The answer to a prompt that asks for no schema."""
    if known.earlier is not None:
        return _summary(known)
    if known.sources or known.findings:
        return _findings(known)
    return _about_text(known)


def _findings(known: Knowledge) -> str:
    lines = ["## Findings", "", known.verdict, ""]
    lines += [describe(found) for found in known.findings]
    if known.unread:
        lines += ["", f"Not read: {', '.join(known.unread)}."]
    return "\n".join(lines).rstrip() + "\n"


def describe(found: Finding) -> str:
    """One finding as a point of a list."""
    place = f"`{found.file}:{found.line}`" if found.line else f"`{found.file}`"
    code = f": `{found.code}`" if found.code else ""
    return f"- {place} {found.problem}{code}"


def _summary(known: Knowledge) -> str:
    earlier = known.earlier
    assert earlier is not None
    lines = ["# Summary", "", known.verdict, ""]
    if earlier.counts:
        lines += ["| key | findings |", "|---|---|"]
        lines += [f"| {key} | {count} |" for key, count in earlier.counts.items()]
        lines.append("")
    if earlier.missing:
        lines += ["## Missing", ""]
        lines += [f"- {name}" for name in earlier.missing]
        lines += ["", "Nothing is said here about what is missing.", ""]
    lines += _by_problem(known.findings)
    return "\n".join(lines).rstrip() + "\n"


def _by_problem(findings: tuple[Finding, ...]) -> list[str]:
    tally = Counter(found.problem for found in findings)
    lines: list[str] = ["## By problem", ""] if tally else []
    for problem, count in tally.most_common():
        places = [
            f"`{found.file}:{found.line}`"
            for found in findings
            if found.problem == problem
        ]
        shown = ", ".join(places[:_SHOWN_PER_RULE])
        more = ", …" if count > _SHOWN_PER_RULE else ""
        lines.append(f"- {problem}: {count} ({shown}{more})")
    return lines


def _about_text(known: Knowledge) -> str:
    words = facts.words(known.request)
    common = ", ".join(facts.keywords(known.request)) or "none"
    return (
        f"The text given has {words:,} words. It begins with "
        f'"{facts.title(known.request)}". Its most frequent longer words: {common}.\n'
    )
