"""Where calls go and who pays."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Credentials:
    """A base URL and one secret; never written anywhere, not even by `repr`."""

    base_url: str
    api_key: str | None = None
    auth_token: str | None = None
    custom_headers: bool = True
    """Whether ANTHROPIC_CUSTOM_HEADERS is sent; a simulated account gets none."""

    def __repr__(self) -> str:
        return f"Credentials({without_user(self.base_url)!r})"


def without_user(url: str) -> str:
    """Return an address without the name and password that may stand in it."""
    scheme, mark, rest = url.partition("://")
    host, slash, path = rest.partition("/")
    return f"{scheme}{mark}{host.rpartition('@')[2]}{slash}{path}"
