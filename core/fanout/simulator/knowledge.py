"""What the model knows when it answers: the one input of prose and of schemas."""

from dataclasses import dataclass, replace

from fanout.simulator.audit import Finding
from fanout.simulator.results import Earlier
from fanout.simulator.sources import Line


@dataclass(frozen=True, slots=True, kw_only=True)
class Knowledge:
    """Everything an answer is made of."""

    request: str
    """What was asked, without files and directives."""
    sources: dict[str, tuple[Line, ...]]
    findings: tuple[Finding, ...]
    unread: tuple[str, ...] = ()
    """Files that were asked for and could not be read."""
    earlier: Earlier | None = None
    finding: Finding | None = None
    """The one that is being described."""
    file: str | None = None
    """The one that is being described."""
    key: str | None = None
    """The earlier result that is being described."""

    def about_finding(self, finding: Finding) -> "Knowledge":
        """The same, narrowed to one finding."""
        return replace(self, finding=finding, file=finding.file or None)

    def about_file(self, path: str) -> "Knowledge":
        """The same, narrowed to one file."""
        held = tuple(found for found in self.findings if found.file == path)
        kept = {path: self.sources[path]} if path in self.sources else {}
        return replace(self, file=path, findings=held, sources=kept)

    @property
    def files(self) -> list[str]:
        """All files, in the order they were seen."""
        named = [found.file for found in self.findings if found.file]
        return list(dict.fromkeys([*self.sources, *named]))

    @property
    def text(self) -> str:
        """The text that facts are looked up in: the files, else the request."""
        lines = (line.text for source in self.sources.values() for line in source)
        return "\n".join(lines) if self.sources else self.request

    @property
    def line_count(self) -> int:
        """Lines seen in all files."""
        return sum(len(lines) for lines in self.sources.values())

    @property
    def verdict(self) -> str:
        """One true sentence about it all."""
        count = len(self.findings)
        noun = "finding" if count == 1 else "findings"
        if self.earlier is not None:
            return self._completeness(count, noun)
        if not self.sources:
            return f"{count} {noun} in the text given."
        files = "file" if len(self.sources) == 1 else "files"
        return (
            f"{count} {noun} in {len(self.sources)} {files} "
            f"({self.line_count:,} lines read)."
        )

    def _completeness(self, count: int, noun: str) -> str:
        assert self.earlier is not None
        told = (
            f"{self.earlier.done} of {self.earlier.expected} results are done; "
            f"{count} {noun} in them."
        )
        if self.earlier.missing:
            told += f" Missing: {', '.join(self.earlier.missing)}."
        return told
