"""Streams that do not end well, one break each, at a chosen event.

Each staged break is a filter on the events of an answer or an end of the
connection; `Stop` tells the sender how to leave the connection behind.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from fanout.simulator.events import Piece, event
from fanout.simulator.faults import FaultRule

_MESSAGES = {
    "overloaded_error": "Overloaded",
    "api_error": "Internal server error",
    "rate_limit_error": "This request would exceed your account's rate limit. "
    "Please try again later.",
}
_ENDINGS = {
    "cut": "hang_up",
    "partial_frame": "end",
    "reset": "reset",
    "clean_eof": "end",
    "close_delimited": "hang_up",
    "empty_body": "end",
    "error_event": "end",
}


@dataclass(frozen=True, slots=True)
class Stop:
    """The stream breaks here: `end` the body, `hang_up`, or `reset`."""

    how: str


@dataclass(frozen=True, slots=True)
class Stall:
    """Nothing is sent for so long; then the stream goes on."""

    seconds: float


def broken(
    pieces: Iterator[Piece], rule: FaultRule | None
) -> Iterator[Piece | Stop | Stall]:
    """The pieces, with the break of `rule` worked into them."""
    if rule is None:
        yield from pieces
    elif rule.kind in ("eof_after_delta", "cut_after_stop"):
        yield from _after_named(pieces, rule.kind)
    elif rule.kind == "data_only":
        for piece in pieces:
            yield Piece(piece.name, piece.data.split(b"\n", 1)[1], piece.tokens)
    else:
        yield from _at_event(pieces, rule)


def _after_named(pieces: Iterator[Piece], kind: str) -> Iterator[Piece | Stop]:
    name, how = {
        "eof_after_delta": ("message_delta", "end"),
        "cut_after_stop": ("message_stop", "hang_up"),
    }[kind]
    for piece in pieces:
        yield piece
        if piece.name == name:
            yield Stop(how)
            return


def _at_event(
    pieces: Iterator[Piece], rule: FaultRule
) -> Iterator[Piece | Stop | Stall]:
    at = 0 if rule.kind == "empty_body" else rule.after_events
    for count, piece in enumerate(pieces):
        if count != at:
            yield piece
            continue
        if rule.kind == "stall":
            yield Stall(rule.seconds)
        elif rule.kind == "unknown_event":
            yield Piece("novelty", event("novelty", {"type": "novelty"}))
        else:
            yield from _end(piece, rule)
            return
        yield piece


def _end(piece: Piece, rule: FaultRule) -> Iterator[Piece | Stop]:
    if rule.kind == "error_event":
        error = {"type": rule.error_type, "message": _MESSAGES.get(rule.error_type, "")}
        yield Piece("error", event("error", {"type": "error", "error": error}))
    elif rule.kind == "partial_frame":
        yield Piece(piece.name, piece.data[: len(piece.data) // 2])
    yield Stop(_ENDINGS[rule.kind])
