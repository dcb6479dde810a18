"""`client()`: an ordinary SDK client whose every call is a row.

For scripts that already call the Messages API: replacing the constructor is the
one line that changes. `import anthropic` costs seconds, so it happens here, at
the first `client()` of a script that has not imported it itself.
"""

from typing import TYPE_CHECKING

from fanout.script.naming import checked_key
from fanout.script.phases import current_phase
from fanout.script.session import current
from fanout.words.model import RowId

if TYPE_CHECKING:
    from anthropic import AsyncAnthropic

BASE_URL = "https://api.anthropic.com"


def client(key: str | None = None, live: bool = False) -> "AsyncAnthropic":
    """Return an `anthropic.AsyncAnthropic` that is admitted, retried and journaled.

    Without `key` each call is a row `call-0007` of the phase it is made in. With
    `key` all calls of this client are turns of one row of the current phase, one
    at a time in call order. Streams are held until they are complete; with
    `live=True` they are delivered at once, and a cut raises. Raises `UsageError`
    when the key is taken, or outside of a run.
    """
    session = current()
    ticket = None
    if key is not None:
        ticket = session.claim_row(RowId(current_phase(), checked_key(key)))
    import anthropic  # noqa: PLC0415  seconds
    import httpx2  # noqa: PLC0415

    from fanout.script.transport import FanoutTransport  # noqa: PLC0415

    transport = FanoutTransport(session, ticket, live=live)
    made = anthropic.AsyncAnthropic(
        # The engine has the real ones; they never come near a script.
        api_key="fanout",
        base_url=BASE_URL,
        max_retries=0,
        # A row waits as long as it takes; a time-out here would not be heeded.
        timeout=None,
        http_client=httpx2.AsyncClient(transport=transport),
    )
    _settle_platform(made)
    return made


def _settle_platform(client: "AsyncAnthropic") -> None:
    """Have the platform found out now, not by the first requests.

    Each of them would wait for a thread of its own, and calls of one row would
    overtake each other on the way to their turns.
    """
    from anthropic import _base_client  # noqa: PLC0415  already imported by then

    if hasattr(client, "_platform") and hasattr(_base_client, "get_platform"):
        client._platform = _base_client.get_platform()  # noqa: SLF001
