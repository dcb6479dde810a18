"""Where calls go and who pays."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Credentials:
    """A base URL and one secret; never written anywhere, not even by `repr`."""

    base_url: str
    api_key: str | None = None
    auth_token: str | None = None

    def __repr__(self) -> str:
        return f"Credentials({self.base_url!r})"
