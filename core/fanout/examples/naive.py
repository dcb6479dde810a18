"""The same audit as plain `asyncio.gather`, for comparison: nothing paces it.

What most people write first: every agent starts at once, on the SDK's default
client with its two retries, and one that fails is caught and left out. Run as

    python -m fanout.examples.naive BASE_URL

it prints one JSON object: agents started and lost, seconds, and for what they
were lost. `fanout-tui demo` runs it beside the real thing, on the same account.
"""

import asyncio
import json
import sys
import time
from collections import Counter
from typing import Any

from fanout.examples.audit import AUDIT, MAX_TOKENS, PATTERN, STANDARD_LIBRARY
from fanout.files.tools import read_tools
from fanout.script.parts.partition import partition, render

MODEL = "claude-sonnet-5"
TURNS_MAX = 20


async def audit(client: Any, part: Any, tools: Any) -> str:
    """Run one agent's whole conversation."""
    by_name = {tool.name: tool for tool in tools}
    text = render(part, inline=False)
    messages: list[Any] = [{"role": "user", "content": f"{text}\n\n{AUDIT}"}]
    for _ in range(TURNS_MAX):
        answer = await client.messages.create(
            model=MODEL,
            max_tokens=8_192,
            messages=messages,
            tools=[
                {
                    "name": tool.name,
                    "description": tool.description,
                    "input_schema": tool.input_schema,
                }
                for tool in tools
            ],
        )
        if answer.stop_reason != "tool_use":
            return str(answer.content)
        messages.append({"role": "assistant", "content": answer.content})
        results = []
        for block in answer.content:
            if block.type == "tool_use":
                result = await by_name[block.name].run(block.input)
                results.append(
                    {
                        "type": "tool_result",
                        "tool_use_id": block.id,
                        "content": result.content,
                    }
                )
        messages.append({"role": "user", "content": results})
    return ""


async def run(url: str) -> dict[str, Any]:
    """Run all agents at once and count who comes back."""
    import anthropic  # noqa: PLC0415  costs seconds; only this process pays

    parts = partition(STANDARD_LIBRARY, PATTERN, max_tokens=MAX_TOKENS)
    http = anthropic.DefaultAsyncHttpxClient(trust_env=False)
    begun = time.monotonic()  # noqa: TID251  a report of real seconds
    async with anthropic.AsyncAnthropic(
        api_key="simulated", base_url=url, http_client=http
    ) as client:
        tools = read_tools(STANDARD_LIBRARY)
        agents = [audit(client, part, tools) for part in parts]
        ended = await asyncio.gather(*agents, return_exceptions=True)  # noqa: TID251
    lost = [e for e in ended if isinstance(e, BaseException)]
    return {
        "agents": len(ended),
        "lost": len(lost),
        "causes": dict(Counter(type(e).__name__ for e in lost)),
        "seconds": time.monotonic() - begun,  # noqa: TID251
    }


def main() -> None:
    """Run it from the command line."""
    print(json.dumps(asyncio.run(run(sys.argv[1]))))  # noqa: T201


if __name__ == "__main__":
    main()
