"""The simulated account's own limiter on virtual time, under made-up agents.

Agents say in their prompt what they are: `turns=4 out=300 results=1500`; how much
they read is the size of their inputs. Conversations with tools are cached as the
service does it: what an earlier turn had is read, what is new is written.
"""

import asyncio
import re
from collections.abc import Mapping
from dataclasses import replace
from random import Random
from typing import Any

from fanout.simulator.headers import Triple as Shown
from fanout.simulator.headers import snapshot
from fanout.simulator.limiter import Limits as Figures
from fanout.simulator.limiter import PoolLimiter, Shares
from fanout.testing.scripted_api import answered, refused
from fanout.words.model import NO_USAGE, Dimension, Usage
from fanout.words.outcome import Limits, Outcome, Triple

TOKENS_PER_BYTE = 0.29
FIRST_TOKEN = 0.6
TOKENS_A_SECOND = 80.0
STEPS = 4


class PacedService:
    """One pool of an account."""

    def __init__(self, limits: Figures, seed: int) -> None:
        self._figures = limits
        self._limiter: PoolLimiter | None = None
        self._random = Random(seed)
        self.charged = NO_USAGE
        self.refusals = 0

    def _pool(self) -> PoolLimiter:
        if self._limiter is None:
            self._limiter = PoolLimiter(self._figures, Shares(), self._now())
        return self._limiter

    @staticmethod
    def _now() -> float:
        return asyncio.get_running_loop().time()

    async def send(self, body: Mapping[str, Any], watcher: Any, **_: Any) -> Outcome:
        """Admit it or refuse it, then write the answer at the model's pace."""
        pool, now = self._pool(), self._now()
        begun = now
        usage, last = self._usage(body)
        shortage = pool.shortage(now, usage.charged_input)
        if shortage is not None:
            self.refusals += 1
            return refused(
                429,
                "rate_limit_error",
                retry_after=shortage.retry_after,
                limits=self._headers(),
            )
        pool.charge_admission(now, usage.charged_input)
        await asyncio.sleep(FIRST_TOKEN * self._random.uniform(0.85, 1.15))
        headers = self._headers()
        watcher.opened(headers)
        watcher.input_known(usage)
        pace = TOKENS_A_SECOND * self._random.uniform(0.85, 1.15)
        for step in range(1, STEPS + 1):
            await asyncio.sleep(usage.output_tokens / STEPS / pace)
            pool.charge_output(self._now(), usage.output_tokens / STEPS)
            watcher.progressed(usage.output_tokens * step // STEPS, "")
        self.charged += usage
        text = {"type": "text", "text": "x" * 40}
        use = {"type": "tool_use", "id": f"t{now}", "name": "look", "input": {}}
        whole = answered(
            content=[text] if last else [text, use],
            stop_reason="end_turn" if last else "tool_use",
            usage=usage,
            limits=headers,
        )
        return replace(whole, seconds=self._now() - begun)

    def _usage(self, body: Mapping[str, Any]) -> tuple[Usage, bool]:
        first = body["messages"][0]["content"]
        told = dict(re.findall(r"(\w+)=(\d+)", first[-1]["text"]))
        turns, out = int(told["turns"]), int(told["out"])
        results = int(told.get("results", 0))
        turn = 1 + sum(m["role"] == "assistant" for m in body["messages"])
        opening = round(sum(len(b["text"]) for b in first) * TOKENS_PER_BYTE)
        if not body.get("tools"):
            return Usage(opening, out), True
        history = 0 if turn == 1 else opening + (turn - 2) * (out + results)
        new = opening if turn == 1 else out + results
        return Usage(0, out, history, new), turn >= turns

    def _headers(self) -> Limits:
        shot = snapshot(self._pool(), self._now())
        triples = {
            Dimension.REQUESTS: shot.requests,
            Dimension.INPUT: shot.input_tokens,
            Dimension.OUTPUT: shot.output_tokens,
        }
        return Limits(
            triples={d: _triple(shown) for d, shown in triples.items()},
            date=float(int(self._now())),
        )

    async def ready(self) -> None:
        return

    async def plain(self, *_: Any) -> tuple[int, dict[str, str], str]:
        return 200, {}, "{}"


def _triple(shown: Shown) -> Triple:
    return Triple(shown.limit, shown.remaining, float(shown.reset))
