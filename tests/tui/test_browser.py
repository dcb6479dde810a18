"""The read-only view in a browser: what it shows, and whom it lets in."""

import asyncio
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tui.terminal import ROOT

pytest.importorskip("textual_serve")
pytestmark = [pytest.mark.long, pytest.mark.soak]

SCRIPT = (
    "import fanout\n"
    "async def main():\n"
    "    await fanout.parallel(fanout.agent(f'Say {n}.', key=f'part-{n}')"
    " for n in range(3))\n"
)
SECONDS = 60.0
CANARY = "sk-canary-of-the-browser"


@pytest.fixture
def served(tmp_path: Path) -> Iterator[str]:
    """The address of a run that has ended, secret included."""
    script, runs = tmp_path / "three.py", tmp_path / "runs"
    script.write_text(SCRIPT)
    paths = os.pathsep.join(map(str, (ROOT / "core", ROOT / "tui")))
    environ = {**os.environ, "PYTHONPATH": paths, "ANTHROPIC_API_KEY": CANARY}
    command = [sys.executable, "-m", "fanout_tui"]
    run = ["--simulate", "--profile", "demo", "--no-tui", "--run-dir", str(runs)]
    subprocess.run([*command, *run, str(script)], env=environ, check=True, timeout=60, capture_output=True)  # fmt: skip
    watch = ["watch", "--browser", "--port", str(free_port()), "--run-dir", str(runs)]
    child = subprocess.Popen(
        [*command, *watch], env=environ, stdout=subprocess.PIPE, text=True
    )
    try:
        assert child.stdout is not None
        for line in child.stdout:
            if found := re.search(r"http://\S+", line):
                yield found[0]
                break
        else:
            raise AssertionError("no address came")
    finally:
        child.send_signal(signal.SIGTERM)
        child.communicate(timeout=20)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def test_only_who_has_the_address_is_let_in(served: str) -> None:
    async def look() -> None:
        bare = served.partition("?")[0]
        async with aiohttp.ClientSession() as session:
            for url, headers in [
                (bare, {}),
                (f"{bare}?key=wrong", {}),
                (f"{bare}ws", {}),
                (f"{bare}static/", {}),
                (served, {"Host": "evil.test"}),
                (served, {"Origin": "http://evil.test"}),
                (served, {"Origin": "null"}),
            ]:
                async with session.get(url, headers=headers) as answer:
                    assert answer.status == 403, (url, headers)
            async with session.get(served, allow_redirects=False) as answer:
                assert answer.status == 302
                cookie = answer.headers["Set-Cookie"]
                assert "HttpOnly" in cookie
                assert "SameSite=Strict" in cookie
                assert "key" not in answer.headers["Location"]

    asyncio.run(look())


def test_the_screen_comes_through_and_takes_no_command(served: str) -> None:
    async def look() -> str:
        shown = b""
        jar = aiohttp.CookieJar(unsafe=True)
        async with aiohttp.ClientSession(cookie_jar=jar) as session:
            await session.get(served)
            url = (
                served.partition("?")[0].replace("http", "ws")
                + "ws?width=100&height=30"
            )
            async with session.ws_connect(url) as socket_, asyncio.timeout(SECONDS):
                for key in ("R", "p", "x"):
                    await socket_.send_json(["stdin", key])
                while b"COMPLETE" not in shown or b"part-2" not in shown:
                    message = await socket_.receive()
                    if message.type is aiohttp.WSMsgType.BINARY:
                        shown += message.data
                    assert message.type is not aiohttp.WSMsgType.CLOSED, shown[-500:]
        return shown.decode(errors="replace")

    shown = asyncio.run(look())
    assert "WATCHING" in shown
    assert CANARY not in shown


@pytest.mark.skipif(shutil.which("chromium") is None, reason="no browser is here")
def test_a_headless_browser_draws_it_and_loads_nothing_from_elsewhere(
    served: str, tmp_path: Path
) -> None:
    async def look() -> tuple[str, set[str]]:
        async with aiohttp.ClientSession() as session, asyncio.timeout(SECONDS):
            page = await page_of(session, tmp_path)
            async with session.ws_connect(page, max_msg_size=0) as devtools:
                return await visit(devtools, served)

    child = subprocess.Popen(
        [
            "chromium", "--headless=new", "--no-sandbox", "--disable-gpu",
            "--enable-unsafe-swiftshader", "--window-size=1200,800",
            "--remote-debugging-port=0", f"--user-data-dir={tmp_path / 'profile'}",
            "about:blank",
        ],
        stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        state, hosts = asyncio.run(look())
    finally:
        child.terminate()
        child.wait(timeout=20)
    assert "-first-byte" in state
    assert int(state.split()[-1]) > 0
    assert hosts == {"127.0.0.1"}


async def page_of(session: aiohttp.ClientSession, tmp_path: Path) -> str:
    told = tmp_path / "profile" / "DevToolsActivePort"
    for _ in range(1_000):
        if told.exists() and told.read_text().strip():
            break
        await asyncio.sleep(0.05)
    port = told.read_text().split()[0]
    async with session.get(f"http://127.0.0.1:{port}/json") as answer:
        pages = await answer.json()
    return next(p["webSocketDebuggerUrl"] for p in pages if p["type"] == "page")


async def visit(
    devtools: aiohttp.ClientWebSocketResponse, url: str
) -> tuple[str, set[str]]:
    """What the page came to, and every host that it asked something of."""
    asked: dict[str, str] = {}
    number = 0

    async def call(method: str, **params: Any) -> Any:
        nonlocal number
        number += 1
        await devtools.send_json({"id": number, "method": method, "params": params})
        while True:
            said = json.loads((await devtools.receive()).data)
            note(asked, said.get("method"), said.get("params", {}))
            if said.get("id") == number:
                return said.get("result", {})

    await call("Network.enable")
    await call("Page.navigate", url=url)
    code = "document.body.className + ' ' + document.querySelectorAll('canvas').length"
    while True:
        state = await call("Runtime.evaluate", expression=code)
        text = str(state.get("result", {}).get("value"))
        if "-first-byte" in text and not text.endswith(" 0"):
            return text, set(asked.values())
        await asyncio.sleep(0.1)


def note(asked: dict[str, str], event: str | None, told: dict[str, Any]) -> None:
    """Keep which host a request went to, unless the page's policy stopped it."""
    if event == "Network.requestWillBeSent":
        url = told["request"]["url"]
        if url.startswith(("http", "ws")):
            asked[told["requestId"]] = url.split("/")[2].partition(":")[0]
    elif event == "Network.loadingFailed" and told.get("blockedReason") == "csp":
        asked.pop(told["requestId"], None)
