"""What went wrong on the way to the service and back, in words.

Errors of the SDK say that there was one; what happened is the innermost of the
chain behind them. Classes are known by name, because several libraries bring
their own and none is imported here.
"""

import errno
import socket
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from fanout.words.clean import shortened
from fanout.words.hiding import redact
from fanout.world.wire.watchdog import Cut

TEXT_MAX = 300
NEVER_STOOD = frozenset(
    {
        "ClientConnectorError",
        "ClientProxyConnectionError",
        "ConnectTimeout",
        "ConnectionTimeoutError",
        "ConnectionRefusedError",
        "gaierror",
    }
)
"""Raised before anything could be sent; so are those derived from them."""
NO_WAY = frozenset({errno.ENETUNREACH, errno.EHOSTUNREACH, errno.ENETDOWN})


class Senseless(ValueError):  # noqa: N818  a fact, not a defect
    """What came is no answer: the same may well come again, and is paid for again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """How a call broke."""

    stage: str
    """`connect`, `headers` or `stream`."""
    message: str
    limit: str = ""
    """The timeout that cut it, by the name people give it."""
    slept: bool = False
    """It was cut because the machine had slept."""
    timeout: bool = False
    senseless: bool = False


def failure(error: BaseException, stage: str, host: str) -> Failure:
    """Read an exception; `stage` is where the call was when it was raised."""
    if isinstance(error, Cut):
        connecting = error.limit == "connect"
        return Failure(
            stage="connect" if connecting else stage,
            message=f"{host} {error}" if connecting else str(error),
            limit=error.limit,
            slept=not error.limit,
            timeout=bool(error.limit),
        )
    chain = chain_of(error)
    nonsense = [e for e in chain if isinstance(e, Senseless)]
    names = {kind.__name__ for e in chain for kind in type(e).__mro__}
    never = stage == "headers" and bool(names & NEVER_STOOD)
    return Failure(
        stage="connect" if never else stage,
        message=str(nonsense[0]) if nonsense else describe(error, host),
        timeout=any(
            isinstance(e, TimeoutError) or "Timeout" in type(e).__name__ for e in chain
        ),
        senseless=bool(nonsense),
    )


def chain_of(error: BaseException) -> list[BaseException]:
    """Return an exception and those behind it, the innermost last."""
    found: list[BaseException] = []
    at: BaseException | None = error
    while at is not None and at not in found:
        found.append(at)
        hidden = None if at.__suppress_context__ else at.__context__
        at = at.__cause__ or hidden
    return found


def describe(error: BaseException, host: str) -> str:
    """Say what happened, by the innermost cause that is known."""
    chain = chain_of(error)
    for inner in reversed(chain):
        if known := _known(inner, host):
            return known
    text = str(chain[-1]) or type(chain[-1]).__name__
    return shortened(redact(text), TEXT_MAX)


def _known(error: BaseException, host: str) -> str:
    """Return a sentence for what people meet; empty for everything else."""
    if said := _BY_NAME.get(type(error).__name__):
        return said
    for kind, say in _SENTENCES:
        if isinstance(error, kind):
            return say(error, host)
    return ""


def _unresolved(error: Any, host: str) -> str:
    if error.errno == socket.EAI_AGAIN:
        return f"the name {host} cannot be looked up just now"
    return f"the name {host} does not resolve"


def _no_tls(error: Any, host: str) -> str:
    reason = (error.reason or str(error)).replace("_", " ").lower()
    return f"no TLS with {host}: {reason}"


def _by_number(error: Any, host: str) -> str:
    if error.errno in NO_WAY:
        return f"there is no way to {host}: {error.strerror or 'unreachable'}"
    return f"{host} does not answer" if error.errno == errno.ETIMEDOUT else ""


_ENDED = "the connection ended inside the answer"
_BY_NAME = {
    "ServerDisconnectedError": "the connection was closed by the other side",
    "ClientPayloadError": _ENDED,
    "TransferEncodingError": _ENDED,
    "ContentLengthError": _ENDED,
}
_SENTENCES: tuple[tuple[type[BaseException], Callable[[Any, str], str]], ...] = (
    (socket.gaierror, _unresolved),
    (
        ssl.SSLCertVerificationError,
        lambda e, host: f"the certificate of {host} is not trusted: {e.verify_message}",
    ),
    (ssl.SSLError, _no_tls),
    (ConnectionRefusedError, lambda _, host: f"{host} refuses connections"),
    (ConnectionResetError, lambda *_: "the connection was reset"),
    (BrokenPipeError, lambda *_: "the connection was reset"),
    (OSError, _by_number),
)
"""The narrower class before the wider one."""
