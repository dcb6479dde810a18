"""Has the HTTP client say when a call's connection stands.

Connecting (name, address, TLS) costs nothing and fails for reasons of the network;
waiting for an answer costs a call and fails for reasons of the service. The SDK
tells only when headers have come. The transport below it can tell more: it traces
connections, in the task that makes the call, so the call's guard is at hand.
"""

from collections.abc import Callable
from typing import Any

from fanout.world.wire.watchdog import Guard, guarding


def say_when_connected(http: Any, then: Callable[[Guard], None]) -> bool:
    """Call `then` with a call's guard once it has a connection.

    `http` is the SDK's `DefaultAioHttpClient`, not used yet. False: this version of
    it cannot say, and nothing was changed.
    """
    transports = [
        getattr(http, "_transport", None),
        *getattr(http, "_mounts", {}).values(),
    ]
    ours = [t for t in transports if t is not None]
    if not ours or not all(hasattr(t, "get_client") for t in ours):
        return False
    for transport in ours:
        transport.client = _traced(transport.get_client, transport, then)
    return True


def _traced(
    make: Callable[[], Any], transport: Any, then: Callable[[Guard], None]
) -> Callable[[], Any]:
    def session() -> Any:
        from aiohttp import TraceConfig  # noqa: PLC0415  its import is the SDK's

        async def connected(*_: Any) -> None:
            if (guard := guarding()) is not None:
                then(guard)

        trace = TraceConfig()
        trace.on_connection_create_end.append(connected)
        trace.on_connection_reuseconn.append(connected)
        trace.freeze()
        transport.client = None
        made = make()
        made.trace_configs.append(trace)
        return made

    return session
