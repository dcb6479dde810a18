"""`watch RUN --browser`: the read-only screen in a browser on this machine.

textual-serve runs one `fanout-tui watch` for each tab. A loopback port is open to
every user of the machine and, through a browser, to every page it visits; so a page
is given only to whoever has the address with its secret, and only under our own name.
"""

import hmac
import os
import secrets
import shlex
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from fanout.errors import UsageError
from fanout_tui.command.say import write

HOST = "127.0.0.1"
PORT = 8_765
COOKIE = "fanout"
SECRETS = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL")
"""What somebody who only looks has no use for."""

Handler = Callable[[Any], Awaitable[Any]]


def serve(folder: Path, port: int) -> None:
    """Serve the run until interrupted. Raises `UsageError` without the extra."""
    try:
        from aiohttp import web  # noqa: PLC0415  only where something is served
        from textual_serve.server import Server  # noqa: PLC0415  an extra
    except ImportError as error:
        raise UsageError(
            "the view in a browser needs textual-serve",
            hint="pip install 'fanout-tui[browser]'",
        ) from error
    for name in SECRETS:
        os.environ.pop(name, None)
    words = [sys.executable, "-m", "fanout_tui", "watch", str(folder)]
    secret = secrets.token_urlsafe(24)

    class Guarded(Server):  # type: ignore[misc,unused-ignore]
        """Lets in only who knows the secret, and says where to go."""

        async def _make_app(self) -> Any:
            app = await super()._make_app()
            app.middlewares.append(gate(secret, self.port))
            return app

        async def on_startup(self, _app: Any) -> None:
            """Say nothing yet: nobody listens before the port is open."""

    server = Guarded(
        shlex.join(words),
        host=HOST,
        port=port,
        title=f"fanout-tui: {folder.name}",
        public_url=f"http://{HOST}:{port}",
    )
    told = [
        f"open  http://{HOST}:{port}/?key={secret}",
        "read-only; ctrl-c ends the serving and leaves the run alone",
    ]

    def announce(*_: object) -> None:
        """The port is open."""
        while told:
            write(told.pop(0))

    try:
        web.run_app(server._make_app(), host=HOST, port=port, print=announce)  # noqa: SLF001
    except OSError as error:
        raise UsageError(
            f"port {port} cannot be used: {error.strerror or error}",
            hint="give another one: --port N",
        ) from error


def gate(secret: str, port: int) -> Any:
    """Return the middleware that lets in only who has the secret."""
    from aiohttp import web  # noqa: PLC0415  only where something is served

    ours = {f"{HOST}:{port}", f"localhost:{port}"}
    # The page of textual-serve asks a foreign server for a font.
    policy = (
        "default-src 'self'; script-src 'self' 'unsafe-inline'; "
        "style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
        f"font-src 'self' data:; connect-src 'self' ws://{HOST}:{port}; "
        "frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
    )

    @web.middleware
    async def check(request: web.Request, handler: Handler) -> Any:
        origin = request.headers.get("Origin")
        if request.host not in ours or (
            origin is not None and origin.removeprefix("http://") not in ours
        ):
            raise web.HTTPForbidden(text="this page is not for you")
        given = request.query.get("key")
        known = request.cookies.get(COOKIE) if given is None else given
        if known is None or not hmac.compare_digest(known.encode(), secret.encode()):
            raise web.HTTPForbidden(text="open the address that fanout-tui has shown")
        if request.path == "/" and given is not None:
            # The secret leaves the address, and with it the browser's history.
            found = web.HTTPFound("/")
            found.set_cookie(COOKIE, secret, httponly=True, samesite="Strict")
            raise found
        answer = await handler(request)
        if not answer.prepared:
            answer.headers["Content-Security-Policy"] = policy
            answer.headers["Referrer-Policy"] = "no-referrer"
        return answer

    return check
