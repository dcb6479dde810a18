"""The control path: the account's truth, and the levers tests pull.

- `GET /_control/state?requests=N` tells levels, counters, charges and the last N
  requests (200 unless said otherwise).
- `POST /_control/set` takes a partial profile, in the profile's own format, plus
  `overloaded_seconds` and `refuse_connections_seconds`, which end by themselves.
  Faults given here replace all others and count their seconds from this call.
  Tables are merged, lists replaced.
- `POST /_control/reset` starts the account anew, under the profile it began with.
"""

import json
from collections.abc import Callable
from typing import Any

from aiohttp import web

from fanout.simulator.account import Account
from fanout.simulator.clock import Clock
from fanout.simulator.profile import ProfileError, build, merge
from fanout.simulator.server import Service

LAST_REQUESTS = 200
_WALLS = {
    "overloaded_seconds": "overloaded",
    "refuse_connections_seconds": "refuse_connections",
}


class Control:
    """The handlers of the control path."""

    def __init__(
        self, service: Service, clock: Clock, on_change: Callable[[], None]
    ) -> None:
        self._service = service
        self._clock = clock
        self._on_change = on_change
        self._original = service.account.profile

    def routes(self) -> list[web.RouteDef]:
        """The control paths."""
        return [
            web.get("/_control/state", self.state),
            web.post("/_control/set", self.set),
            web.post("/_control/reset", self.reset),
        ]

    async def state(self, request: web.Request) -> web.Response:
        """The account as it is."""
        asked = request.query.get("requests", "")
        last = int(asked) if asked.isdigit() else LAST_REQUESTS
        return web.json_response(self._service.account.state(self._clock.now(), last))

    async def set(self, request: web.Request) -> web.Response:
        """Change the profile from now on."""
        account, now = self._service.account, self._clock.now()
        try:
            wishes = await _body(request)
            walls = _walls(wishes)
            table = merge(account.profile.model_dump(by_alias=True), wishes)
            changed = build(table, "control")
        except ProfileError as error:
            return web.json_response({"error": str(error)}, status=400)
        account.configure(changed, now)
        if "faults" in wishes:
            account.restart_faults(now)
        for kind, seconds in walls.items():
            account.raise_wall(kind, now + seconds)
        self._on_change()
        return web.json_response(
            {"ok": True, "profile": changed.model_dump(by_alias=True)}
        )

    async def reset(self, _request: web.Request) -> web.Response:
        """Forget everything."""
        account = self._service.account
        self._service.account = Account(self._original, account.seed, self._clock.now())
        self._on_change()
        return web.json_response({"ok": True})


async def _body(request: web.Request) -> dict[str, Any]:
    try:
        body = json.loads(await request.read() or b"{}")
    except ValueError as error:
        raise ProfileError(
            f"the body is not JSON: {error}; hint: send a partial profile"
        ) from error
    if not isinstance(body, dict):
        raise ProfileError(
            "the body is not a JSON object; hint: send a partial profile"
        )
    return body


def _walls(wishes: dict[str, Any]) -> dict[str, float]:
    """Take the walls out of the wishes: kind and seconds."""
    walls: dict[str, float] = {}
    for name, kind in _WALLS.items():
        seconds = wishes.pop(name, None)
        if seconds is None:
            continue
        if not isinstance(seconds, int | float) or isinstance(seconds, bool):
            raise ProfileError(f"{name}: not a number; hint: give seconds")
        walls[kind] = float(seconds)
    return walls
