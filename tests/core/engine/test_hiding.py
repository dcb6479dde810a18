"""Secrets are taken out of what is kept and shown, and nothing else is."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.api.wires import Server, ask, error_event, refusal, stream
from fanout.script.running import _plain
from fanout.words import hiding
from fanout.words.hiding import hide, hide_all, redact
from fanout.words.tools import ToolResult
from fanout.world.agent.performers import _block
from fanout_tui.crash import harmless

KEY = "sk-ant-quoted-0a1b2c3d4e5f"


@pytest.fixture(autouse=True)
def _nothing_hidden_yet() -> Iterator[None]:
    hiding.forget()
    yield
    hiding.forget()


def test_what_an_environment_hides() -> None:
    hide_all(
        {
            "ANTHROPIC_API_KEY": KEY,
            "GITHUB_TOKEN": "ghp_0123456789ab",
            "MY_SECRET": "short",
            "MONKEY": "a monkey of some length",
            "SSL_KEY": "/etc/ssl/private/server.pem",
            "HOME": "/home/somebody-else",
            "ANTHROPIC_CUSTOM_HEADERS": "Authorization: Bearer tok-0123456789\nX-A: plain-old-value",
        }
    )
    said = f"{KEY} ghp_0123456789ab short a monkey of some length /etc/ssl/private/server.pem tok-0123456789 plain-old-value"
    assert redact(said) == (
        "[secret] [secret] short a monkey of some length /etc/ssl/private/server.pem "
        "[secret] plain-old-value"
    )


def test_a_longer_secret_goes_before_its_part() -> None:
    hide("0123456789ab")
    hide("0123456789ab-and-more")
    assert redact("<0123456789ab-and-more>") == "<[secret]>"


def test_results_of_tools_and_of_main() -> None:
    hide(KEY)
    block = _block({"id": "1"}, ToolResult(content=[{"type": "text", "text": KEY}]))
    assert KEY not in json.dumps(block)
    assert _plain({KEY: [KEY, 10**5000]}) == {KEY: [KEY, 10**5000]}
    assert _plain({KEY: [KEY, 1]}) == {"[secret]": ["[secret]", 1]}
    assert KEY not in harmless(f"\x1b[31m{KEY}")


def test_a_service_that_quotes_the_key() -> None:
    hide(KEY)
    body = {"error": {"type": "authentication_error", "message": f"bad key {KEY}"}}
    with Server() as server:
        acts = [
            refusal(401, {"type": "error", **body}),
            refusal(401, f"<h1>no {KEY}</h1>".encode()),
            stream(error_event("api_error").replace(b"because", KEY.encode())),
        ]
        for act in acts:
            server.acts, server.requests = [act], []
            (outcome,), _ = ask(server.url)
            assert KEY not in outcome.message


def test_a_key_in_a_file_reaches_neither_model_nor_journal(tmp_path: Path) -> None:
    from fanout.files.tools import read_tools

    hide(KEY)
    (tmp_path / "settings.py").write_text(f"API_KEY = '{KEY}'\n")
    tools = {tool.name: tool for tool in read_tools(tmp_path)}
    for name, arguments in (
        ("read", {"file_path": "settings.py"}),
        ("grep", {"pattern": "API"}),
    ):
        given = asyncio.run(tools[name].run(arguments))
        assert "[secret]" in str(_block({"id": "1"}, given)["content"])
