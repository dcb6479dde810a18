"""What `compare.py` gives to fanout-tui: the same agents, declared or not.

    fanout-tui --json compare_script.py declared|client WORKLOAD SEED RESULT [TRACE]

`declared` tells all agents up front; `client` is the other clients' own script with
`fanout.client()` in place of the SDK's.
"""

import json
from pathlib import Path
from typing import Any

from compare_client import gathered
from compare_work import MAX_TOKENS, Fetch, Job, jobs

import fanout


async def declared(work: list[Job]) -> list[dict[str, Any]]:
    """All agents in one `parallel`."""
    results = await fanout.parallel(
        fanout.agent(
            job.text(),
            key=job.key,
            tools=[Fetch(job)] if job.results else [],
            max_tokens=MAX_TOKENS,
        )
        for job in work
    )
    return [
        {"key": job.key, "calls": [_used(result.usage)]}
        if result.ok
        else {"key": job.key, "lost": result.kind, "why": result.reason}
        for job, result in zip(work, results, strict=True)
    ]


def _used(usage: Any) -> dict[str, int]:
    return {"input": usage.charged_input, "output": usage.output_tokens}


async def through_client(work: list[Job]) -> list[dict[str, Any]]:
    """Plain `asyncio.gather` with one line changed."""
    sdk = fanout.client()

    async def ask(body: dict[str, Any], new: int) -> Any:
        del new
        return await sdk.messages.create(**body)

    return await gathered(work, ask)


async def main(
    how: str, workload: str, seed: str, result: str, trace: str = ""
) -> None:
    """Run it and write what became of the agents."""
    if trace:
        from compare_trace import record

        record(Path(trace))
    work = jobs(workload, int(seed))
    agents = await (declared if how == "declared" else through_client)(work)
    tell(Path(result), agents)


def tell(path: Path, agents: list[dict[str, Any]]) -> None:
    """Write what became of the agents where the bench looks for it."""
    path.write_text(json.dumps(agents), "utf-8")
