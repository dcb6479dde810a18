"""Which account a run spends on: the simulated one, or the one of the environment.

Keys and the base URL come from the environment alone, never from files of the
working directory; with `--simulate` every real credential is ignored.
"""

from collections.abc import Iterator, Mapping, MutableMapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from fanout.config import Config
from fanout.errors import UsageError
from fanout.simulator.process import BUILT_IN, SimulatedAccount, SimulatorError
from fanout.words.hiding import hide
from fanout.words.near import meant
from fanout.world.wire.credentials import Credentials, without_user

OFFICIAL = "https://api.anthropic.com"
LOOPBACK = "127.0.0.1"
NOWHERE = f"http://{LOOPBACK}:9"
"""Nobody answers there: what a dry run would send does not go out."""
PROFILES = ("demo", "evaluation", "start", "build", "scale")
"""Of the simulated account; that they are all, a test says."""
KEPT = frozenset({"ANTHROPIC_MODEL", "ANTHROPIC_LOG"})
"""What of the SDK's environment names no account."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """How calls reach the account, and what a run says of it."""

    credentials: Credentials
    endpoint: str
    """The base URL, or `simulated:PROFILE`: part of every fingerprint."""
    simulated: bool
    account: str = ""
    """Names the account among those of one endpoint, without telling its key."""
    control_url: str | None = None
    """Where a simulated account keeps its own books."""


def reach(
    config: Config,
    environ: Mapping[str, str],
    stack: ExitStack,
    account: SimulatedAccount | None = None,
) -> Access:
    """Return how to reach the account. Raises `UsageError`.

    A simulated one is started, unless one is given, and ends with `stack`.
    """
    if config.simulate:
        if account is None:
            account = stack.enter_context(_started(config.profile))
        return Access(
            credentials=Credentials(
                base_url=account.url, api_key="simulated", custom_headers=False
            ),
            endpoint=f"simulated:{_profile_name(config.profile)}",
            simulated=True,
            control_url=account.control_url,
        )
    key = environ.get("ANTHROPIC_API_KEY") or None
    token = environ.get("ANTHROPIC_AUTH_TOKEN") or None
    if key is None and token is None:
        raise UsageError(
            "there is no key for the API",
            hint="set ANTHROPIC_API_KEY, or try it with --simulate",
        )
    base_url = (environ.get("ANTHROPIC_BASE_URL") or OFFICIAL).rstrip("/")
    if not base_url.startswith(("http://", "https://")):
        # It is not shown: who mixes up two variables has put a key there.
        raise UsageError(
            "ANTHROPIC_BASE_URL is no http(s) address",
            hint="unset it, or give it a scheme, for instance https://…",
        )
    if without_user(base_url) != base_url:
        raise UsageError(
            "ANTHROPIC_BASE_URL has a user name or a password in it",
            hint="take it out: the secret goes into ANTHROPIC_API_KEY",
        )
    hide(key)
    hide(token)
    # With both, the key wins, as it does in the SDK.
    token = None if key is not None else token
    return Access(
        credentials=Credentials(base_url=base_url, api_key=key, auth_token=token),
        endpoint=base_url,
        simulated=False,
        account=f"{base_url} {sha256((key or token or '').encode()).hexdigest()[:12]}",
    )


@contextmanager
def own_clients_at(url: str, environ: MutableMapping[str, str]) -> Iterator[None]:
    """Have a client that the script makes itself call `url`, and no real account.

    Nothing of a real one stays in `environ` meanwhile: neither keys nor addresses,
    also not those of other clouds.
    """
    known = dict(environ)
    for name in known:
        if name.startswith("ANTHROPIC_") and name not in KEPT:
            del environ[name]
    environ["ANTHROPIC_BASE_URL"] = url
    environ["ANTHROPIC_API_KEY"] = "simulated"
    # Proxies of the environment would take calls to loopback as well.
    for name in ("NO_PROXY", "no_proxy"):
        environ[name] = ",".join(filter(None, (known.get(name), LOOPBACK)))
    try:
        yield
    finally:
        environ.clear()
        environ.update(known)


def planned(config: Config, environ: Mapping[str, str]) -> Access:
    """Return the account that a run would spend on; nothing is started or reached.

    Without a key the account is still named: a forecast needs none.
    """
    if config.simulate:
        name = _profile_name(config.profile)
        if config.profile not in PROFILES:
            _loaded(config.profile)
        return Access(
            credentials=Credentials(base_url="", api_key="simulated"),
            endpoint=f"simulated:{name}",
            simulated=True,
        )
    with ExitStack() as stack:
        known = {"ANTHROPIC_API_KEY": "none", **environ}
        return reach(config, known, stack)


def _started(profile: str) -> SimulatedAccount:
    try:
        # Only of a file somebody has to hear what is wrong with it.
        own = profile not in BUILT_IN
        begin = SimulatedAccount.start if own else SimulatedAccount.begin
        return begin(profile)
    except SimulatorError as error:
        raise _refused(str(error), profile) from error


def _loaded(profile: str) -> None:
    """Read a profile where no account is started. Raises `UsageError`."""
    # Pydantic takes a sixth of a second to import.
    from fanout.simulator.profile import ProfileError, load  # noqa: PLC0415

    try:
        load(profile)
    except ProfileError as error:
        raise _refused(str(error), profile) from error


def _refused(told: str, profile: str) -> UsageError:
    text, _, hint = told.partition("; hint: ")
    return UsageError(
        f"the simulated account cannot start: {text}",
        hint=meant(profile, PROFILES) or hint,
    )


def _profile_name(profile: str) -> str:
    return Path(profile).stem if profile.endswith(".toml") else profile
