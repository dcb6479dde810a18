"""What is put on a connection beside well-formed responses.

aiohttp writes every answer that keeps to HTTP. The staged breaks do not, so they
reach for the transport here, and nowhere else.
"""

import asyncio
import socket
import struct

from aiohttp import web


def transport(request: web.BaseRequest) -> asyncio.Transport:
    """The connection of a request; a lost one is reported as such."""
    found = request.transport
    if found is None or found.is_closing():
        raise ConnectionResetError("the client hung up")
    assert isinstance(found, asyncio.Transport)
    return found


def reset(request: web.BaseRequest) -> None:
    """Close the connection with RST: what was sent may never arrive."""
    line = transport(request)
    peer: socket.socket | None = line.get_extra_info("socket")
    if peer is not None:
        linger = struct.pack("ii", 1, 0)
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
    line.abort()


def hang_up(request: web.BaseRequest) -> None:
    """Close the connection with FIN, after what was written."""
    transport(request).close()


def raw_head(request: web.BaseRequest, headers: dict[str, str]) -> None:
    """Write a 200 head whose body lasts until the connection closes."""
    lines = ["HTTP/1.1 200 OK", *(f"{name}: {text}" for name, text in headers.items())]
    lines += ["connection: close", "", ""]
    transport(request).write("\r\n".join(lines).encode("latin-1"))


def lost() -> web.Response:
    """What a handler returns when the connection is gone."""
    return web.Response(status=499)
