"""A script that makes its own client: a rehearsal never reaches the real account."""

from pathlib import Path

import pytest

from e2e.program import Program, account

pytestmark = pytest.mark.long

OWN = """
import anthropic

async def main():
    own = anthropic.AsyncAnthropic(max_retries=0)
    try:
        answer = await own.messages.create(
            model="claude-sonnet-5", max_tokens=20,
            messages=[{"role": "user", "content": "Say hello."}],
        )
        print("answered", answer.stop_reason, own.api_key)
    except anthropic.APIConnectionError:
        print("reached nobody")
    except Exception as error:
        print("failed", type(error).__name__)
"""
ELSEWHERE = {
    "ANTHROPIC_CUSTOM_HEADERS": "x-real: yes",
    "ANTHROPIC_AUTH_TOKEN": "a-real-token",
    "ANTHROPIC_PROFILE": "real",
    "HTTP_PROXY": "http://127.0.0.1:9",
    "http_proxy": "http://127.0.0.1:9",
}


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--simulate", "--profile", "scale", "job.py"), "answered"),
        (("--dry-run", "job.py"), "nothing was sent"),
    ],
)
def test_the_real_account_hears_nothing(
    tmp_path: Path, words: tuple[str, ...], says: str
) -> None:
    with account() as real:
        program = Program(tmp_path, real, anew=True)
        program.environ |= ELSEWHERE
        program.script(OWN)
        ended = program.run(*words)
        requests = real.state()["requests"]
    assert ended.code == 0, ended.said
    assert says in ended.said
    assert "answered" not in ended.said or "simulated" in ended.said
    assert not requests, requests


def test_a_script_that_asks_for_nothing_is_told_what_would(tmp_path: Path) -> None:
    with account() as service:
        program = Program(tmp_path, service, anew=True)
        program.script(OWN)
        ended = program.run("job.py")
    assert ended.code == 0, ended.said
    assert "the script asked for nothing" in ended.out
    assert "fanout.client()" in ended.out
