"""How well the simulated account holds its pace with many streams.

Run it: `python tests/bench/simulator_streams.py [streams …]`. Each stream is to
bring 20 deltas a second. Late is how long after its due time a delta arrived,
where due counts from the stream's first delta.
"""

import asyncio
import json
import os
import sys
import time
from pathlib import Path

from fanout.simulator.process import SimulatedAccount

DELTAS_PER_SECOND = 20
TOKENS_PER_DELTA = 4
TOKENS_REALLY = 14 / 3.6
"""A delta holds whole characters: 14 of them are a little less than 4 tokens."""
SECONDS = 10
HUGE = {"requests": 1_000_000, "input_tokens": 10**9, "output_tokens": 10**9}
EXTRA = {
    "limits": HUGE,
    "generation": {"tokens_per_delta": TOKENS_PER_DELTA, "jitter": 0.0},
}


class Stream(asyncio.Protocol):
    """One streamed request on a bare socket, so that the client costs little."""

    def __init__(self, payload: bytes, done: asyncio.Future) -> None:
        self._payload = payload
        self._done = done
        self._first = 0.0
        self.deltas = 0
        self.lateness: list[float] = []
        self.seconds = 0.0

    def connection_made(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        transport.write(self._payload)

    def data_received(self, data: bytes) -> None:
        now = time.perf_counter()
        count = data.count(b"event: content_block_delta")
        if count and not self.deltas:
            self._first = now
        self.deltas += count
        if count:
            due = self._first + (self.deltas - 1) / DELTAS_PER_SECOND
            self.lateness.append(now - due)
        if b"event: message_stop" in data:
            self.seconds = now - self._first
            self._transport.close()
            if not self._done.done():
                self._done.set_result(None)

    def connection_lost(self, error: Exception | None) -> None:
        if not self._done.done():
            self._done.set_exception(error or ConnectionError("cut"))


def request(port: int) -> bytes:
    rate = DELTAS_PER_SECOND * TOKENS_REALLY
    tokens = int(rate * SECONDS)
    order = f"[[sim: output={tokens} tps={rate} ttft=2]]"
    body = json.dumps(
        {
            "model": "claude-opus-5-5",
            "max_tokens": 4_096,
            "stream": True,
            "messages": [{"role": "user", "content": order}],
        }
    ).encode()
    head = (
        f"POST /v1/messages HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\nx-api-key: k\r\n"
        "anthropic-version: 2026-10-21\r\ncontent-type: application/json\r\n"
        f"content-length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


def cpu_seconds(pid: int) -> float:
    stat = Path(f"/proc/{pid}/stat")
    if not stat.exists():
        return 0.0
    fields = stat.read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def measure(account: SimulatedAccount, count: int) -> dict[str, float]:
    port = int(account.url.rpartition(":")[2])
    payload = request(port)
    loop = asyncio.get_running_loop()
    before = cpu_seconds(account.pid)
    streams, ends = [], []
    for _ in range(count):
        done = loop.create_future()
        ends.append(done)
        _, stream = await loop.create_connection(
            lambda done=done: Stream(payload, done), "127.0.0.1", port
        )
        streams.append(stream)
    for done in ends:
        await done
    late = sorted(value for stream in streams for value in stream.lateness)
    lengths = sorted(stream.seconds for stream in streams)
    ideal = (streams[0].deltas - 1) / DELTAS_PER_SECOND
    return {
        "streams": count,
        "deltas/s": sum(s.deltas for s in streams) / lengths[-1],
        "asked": count * DELTAS_PER_SECOND,
        "longest/ideal": lengths[-1] / ideal,
        "late p50 ms": 1000 * late[len(late) // 2],
        "late p99 ms": 1000 * late[len(late) * 99 // 100],
        "late max ms": 1000 * late[-1],
        "server CPU": (cpu_seconds(account.pid) - before) / lengths[-1],
    }


def main() -> None:
    counts = [int(word) for word in sys.argv[1:]] or [200, 1_000]
    rows = []
    with SimulatedAccount.start("scale", extra=EXTRA) as account:
        rows = [asyncio.run(measure(account, count)) for count in counts]
    print(" | ".join(f"{name:>13}" for name in rows[0]))
    for row in rows:
        print(" | ".join(f"{value:13.2f}" for value in row.values()))


if __name__ == "__main__":
    main()
