"""One client of `compare.py` other than fanout-tui, in a process of its own.

    python compare_client.py CLIENT BASE_URL WORKLOAD SEED RESULT_FILE [mute]

What people use today, each at its best: the true limits and the true burst are
given to the limiters (or 80 % of them, which is the lucky number), with perfect
estimates of what each call brings anew and the workload's true mean of output. With
`mute` calls are streamed, since what goes wrong there goes wrong in streams;
elsewhere plain calls favour these clients.
"""

import asyncio
import contextlib
import json
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

from compare_work import (
    BURST,
    BYTES_PER_TOKEN,
    LIMITS,
    MAX_TOKENS,
    MODEL,
    Fetch,
    Job,
    declared,
    jobs,
)

Gate = Callable[[float], Any]
"""Given the tokens a call brings anew: a context manager to make it in."""


def usage_of(message: Any) -> dict[str, int]:
    """What an answer was charged."""
    used = message.usage
    return {
        "input": used.input_tokens + (used.cache_creation_input_tokens or 0),
        "output": used.output_tokens,
    }


async def converse(job: Job, ask: Callable[[dict[str, Any], int], Any]) -> list[Any]:
    """Have the whole conversation; returns what each call used.

    `ask` is given a body and how many bytes of it are new.
    """
    tool, used = Fetch(job), []
    said: list[dict[str, Any]] = [{"role": "user", "content": [_block(job.text())]}]
    new = len(job.text())
    while True:
        body: dict[str, Any] = {
            "model": MODEL, "max_tokens": MAX_TOKENS, "messages": _marked(said),
        }  # fmt: skip
        if job.results:
            body["tools"] = [declared()]
        message = await ask(body, new)
        used.append(usage_of(message))
        if message.stop_reason != "tool_use":
            return used
        content = [block.model_dump(exclude_none=True) for block in message.content]
        said.append({"role": "assistant", "content": content})
        results = [
            {
                "type": "tool_result",
                "tool_use_id": block.id,
                "content": await tool.run(block.input),
            }
            for block in message.content
            if block.type == "tool_use"
        ]
        said.append({"role": "user", "content": results})
        new = len(json.dumps([content, results]))


def _block(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _marked(said: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The messages with the end marked for the cache, as fanout-tui's agents do."""
    *before, last = said
    *blocks, end = last["content"]
    end = {**end, "cache_control": {"type": "ephemeral"}}
    return [*before, {**last, "content": [*blocks, end]}]


def gate_of(client: str, work: list[Job]) -> Gate:
    """What each call has to pass."""
    if client.startswith("semaphore-"):
        semaphore = asyncio.Semaphore(int(client.rpartition("-")[2]))
        return lambda _: semaphore
    if client.startswith("aiolimiter"):
        return _limiters(client, work)
    return lambda _: contextlib.nullcontext()


def _limiters(client: str, work: list[Job]) -> Gate:
    from aiolimiter import AsyncLimiter

    if client == "aiolimiter-requests":
        each = AsyncLimiter(LIMITS["requests"], 60)
        return lambda _: each
    share = 0.8 if client.endswith("-80") else 1.0
    requests, tokens, output = (
        AsyncLimiter(limit * share * BURST, 60 * BURST) for limit in LIMITS.values()
    )
    calls = sum(job.calls for job in work)
    mean = sum(job.output + job.note * len(job.results) for job in work) / calls

    @contextlib.asynccontextmanager
    async def weighted(new: float) -> AsyncIterator[None]:
        await tokens.acquire(min(new, tokens.max_rate))
        await output.acquire(min(mean, output.max_rate))
        await requests.acquire()
        yield

    return weighted


async def run(client: str, url: str, work: list[Job], *, mute: bool) -> list[Any]:
    """Run all agents; one that raises is lost."""
    import anthropic

    options: dict[str, Any] = {"max_retries": 6} if client == "gather-6" else {}
    http = anthropic.DefaultAsyncHttpxClient(trust_env=False)
    async with anthropic.AsyncAnthropic(
        api_key="simulated", base_url=url, http_client=http, **options
    ) as sdk:
        gate = gate_of(client, work)

        async def ask(body: dict[str, Any], new: int) -> Any:
            async with gate(new / BYTES_PER_TOKEN):
                if not mute:
                    return await sdk.messages.create(**body)
                async with sdk.messages.stream(**body) as stream:
                    return await stream.get_final_message()

        return await gathered(work, ask)


async def gathered(work: list[Job], ask: Callable[..., Any]) -> list[dict[str, Any]]:
    """What became of each agent when all run in one gather."""
    ended = await asyncio.gather(
        *(converse(job, ask) for job in work), return_exceptions=True
    )
    return [
        {"key": job.key, "lost": type(end).__name__, "why": str(end)[:200]}
        if isinstance(end, BaseException)
        else {"key": job.key, "calls": end}
        for job, end in zip(work, ended, strict=True)
    ]


def main() -> None:
    """Run one client and write what became of its agents."""
    client, url, workload, seed, result, *rest = sys.argv[1:]
    work = jobs(workload, int(seed))
    agents = asyncio.run(run(client, url, work, mute="mute" in rest))
    Path(result).write_text(json.dumps(agents), "utf-8")


if __name__ == "__main__":
    main()
