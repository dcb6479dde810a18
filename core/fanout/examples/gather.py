"""A plain `asyncio.gather` script, made safe by one changed line.

    fanout-tui --simulate gather.py
    fanout-tui --simulate gather.py "Why is the sky blue?" "What is a monad?"

The line that changed is the one that makes the client. Before:

    client = anthropic.AsyncAnthropic()

`fanout.client()` is such a client: same calls, same answers, same exceptions. But
each call waits for its turn instead of running into a 429, is retried when the
service is overloaded, is on disk before you see it, and is a row on the screen. Run
the script again and calls that were answered are not paid again.
"""

import asyncio

import fanout

QUESTIONS = [
    f"Explain {topic} to a new colleague, in three sentences."
    for topic in (
        "rate limits",
        "token buckets",
        "exponential backoff",
        "write-ahead logs",
        "content addressing",
        "idempotency",
        "prompt caching",
        "structured output",
        "backpressure",
        "circuit breakers",
        "cancellation",
        "partial failure",
    )
]


async def main(*questions: str) -> str:
    """Ask all questions at once and return the answers."""
    client = fanout.client()

    async def ask(question: str) -> str:
        message = await client.messages.create(
            model="claude-sonnet-5",
            max_tokens=400,
            messages=[{"role": "user", "content": question}],
        )
        return "".join(block.text for block in message.content if block.type == "text")

    asked = questions or QUESTIONS
    answers = await asyncio.gather(*(ask(one) for one in asked))  # noqa: TID251
    pairs = zip(asked, answers, strict=True)
    return "\n\n".join(f"## {question}\n{answer}" for question, answer in pairs)
