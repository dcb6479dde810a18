"""The process: it says where it is, takes orders, and never outlives its parent."""

import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

from fanout.simulator.process import SimulatedAccount, SimulatorError

STARTER = """
import time
from fanout.simulator.process import SimulatedAccount
account = SimulatedAccount.start("start")
print(account.pid, account.url, flush=True)
time.sleep(60)
"""


def is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def wait_for_end(pid: int) -> bool:
    ends = time.monotonic() + 5
    while is_alive(pid) and time.monotonic() < ends:
        time.sleep(0.02)
    return not is_alive(pid)


linux = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")


@linux
def test_it_ends_when_its_parent_is_killed() -> None:
    parent = subprocess.Popen([sys.executable, "-c", STARTER], stdout=subprocess.PIPE)
    with parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline().split()[0])
        assert is_alive(pid)
        os.kill(parent.pid, signal.SIGKILL)
        parent.wait()
        assert wait_for_end(pid)


def test_the_command_line_says_where_it_is_and_ends_with_stdin() -> None:
    command = [sys.executable, "-m", "fanout.simulator", "--profile", "build"]
    child = subprocess.Popen(
        [*command, "--until-stdin-closes"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    with child:
        assert child.stdout is not None
        told = json.loads(child.stdout.readline())
        assert told["control"] == told["url"] + "/_control"
        assert told["profile"] == "build"
        assert told["limits"]["requests"] == 5_000
        assert child.stdin is not None
        child.stdin.close()
        assert child.wait(5) == 0


def test_a_bad_profile_is_one_sentence_with_a_hint(tmp_path: Path) -> None:
    file = tmp_path / "bad.toml"
    file.write_text("[limits]\nrequest = 5\n")
    with pytest.raises(SimulatorError, match=r"limits\.request: .*; hint: ") as caught:
        SimulatedAccount.start(str(file))
    assert "\n" not in str(caught.value)


def test_stderr_goes_to_the_file_given(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with pytest.raises(SimulatorError):
        SimulatedAccount.start("nowhere.toml", stderr=log)
    assert "there is no profile `nowhere.toml`" in log.read_text()


def test_connections_can_be_refused_for_a_while(account: SimulatedAccount) -> None:
    account.set(refuse_connections_seconds=0.6)
    refused = 0
    ends = time.monotonic() + 5
    while time.monotonic() < ends:
        try:
            account.state(0)
        except urllib.error.URLError:
            refused += 1
        else:
            if refused:
                break
        time.sleep(0.05)
    assert refused
    assert account.state(0)["profile"] == "evaluation"


def test_bad_orders_change_nothing(account: SimulatedAccount) -> None:
    before = account.state(0)["pools"]
    for wishes in (
        {"limits": {"requests": 0}},
        {"nonsense": 1},
        {"faults": [{"kind": "no such fault"}]},
        {"faults": [{"kind": "overloaded", "match": "("}]},
        {"pools": {"opus-99": {}}},
        {"overloaded_seconds": "long"},
    ):
        with pytest.raises(SimulatorError, match="hint: "):
            account.set(**wishes)
    after = account.state(0)["pools"]
    assert {p: v["requests"]["limit"] for p, v in before.items()} == {
        p: v["requests"]["limit"] for p, v in after.items()
    }


def test_the_books_list_requests(account: SimulatedAccount) -> None:
    body = json.dumps(
        {
            "model": "claude-opus-5",
            "max_tokens": 9,
            "messages": [{"role": "user", "content": "hi"}],
        }
    ).encode()
    headers = {
        "x-api-key": "k",
        "anthropic-version": "2026-10-21",
        "x-fanout-row": "audit/core-07",
        "x-stainless-retry-count": "2",
    }
    call = urllib.request.Request(f"{account.url}/v1/messages", body, headers)
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(call) as reply:
        told = json.load(reply)
    (entry,) = account.state(5)["requests"]
    assert entry["row"] == "audit/core-07"
    assert entry["retry_count"] == 2
    assert entry["ended"] == "complete"
    assert entry["output_tokens"] == told["usage"]["output_tokens"]
    assert len(entry["body_sha256"]) == 64
    assert entry["request_id"] == reply.headers["request-id"]
