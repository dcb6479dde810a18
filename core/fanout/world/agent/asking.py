"""An agent's next call, as its conversation asks for it."""

from collections.abc import Callable

from fanout.decide.caching import prefix_of
from fanout.decide.conversation import last_usage, max_tokens_of, new_bytes
from fanout.words.model import MissingKind
from fanout.words.outcome import Answered, Outcome
from fanout.world.request import Request
from fanout.world.rows import Work


def request_of(
    work: Work,
    *,
    on_answer: Callable[[Request, Answered, int], None],
    on_final: Callable[[Request, MissingKind, str, Outcome | None], None],
) -> Request:
    """Return the call that asks for an agent's next answer."""
    conversation = work.conversation
    usage = last_usage(conversation)
    seen = usage.get("cache_read_input_tokens", 0) + usage.get(
        "cache_creation_input_tokens", 0
    )
    known = seen + usage.get("input_tokens", 0) + usage.get("output_tokens", 0)
    shared = prefix_of(conversation.opening)
    if not usage and shared is not None:
        seen = shared.tokens
    return Request(
        row=work.order.row,
        model=work.spec.model,
        pool=work.spec.pool,
        turn=conversation.turns + 1,
        body=work.body,
        new_bytes=new_bytes(conversation),
        known_input=known,
        cached=seen,
        max_tokens=max_tokens_of(conversation),
        prefix=shared.id if shared is not None else None,
        on_answer=on_answer,
        on_final=on_final,
    )
