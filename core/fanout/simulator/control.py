"""The control path: the account's truth, and the levers tests pull.

- `GET /_control/state?requests=N` tells levels, counters, charges and the last N
  requests (200 unless said otherwise).
- `POST /_control/set` takes a partial profile, in the profile's own format, plus
  `overloaded_seconds` and `refuse_connections_seconds`, which end by themselves.
  Faults given here replace all others and count their seconds from this call.
- `POST /_control/reset` starts the account anew, under the profile it began with.
"""

import json
from collections.abc import Callable
from typing import Any

from aiohttp import web

from fanout.simulator.account import Account
from fanout.simulator.clock import Clock
from fanout.simulator.profile import Profile, ProfileError, build, merge
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
        try:
            changed = changed_profile(
                self._service.account.profile, await _body(request)
            )
        except ProfileError as error:
            return web.json_response({"error": str(error)}, status=400)
        account = self._service.account
        restarts = changed.faults != account.profile.faults
        account.configure(changed, self._clock.now(), faults=restarts)
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


def changed_profile(profile: Profile, body: dict[str, Any]) -> Profile:
    """The profile with a control call's wishes laid on it."""
    wishes = dict(body)
    walls = [
        {"kind": kind, "to": wishes.pop(name)}
        for name, kind in _WALLS.items()
        if name in wishes
    ]
    if walls:
        wishes["faults"] = [*wishes.get("faults", []), *walls]
    base = profile.model_dump(by_alias=True)
    return build(merge(base, wishes), "control")
