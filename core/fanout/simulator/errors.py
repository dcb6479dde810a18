"""Every refusal of the account, as data, with the service's own words.

A refusal is decided in the pure half and only sent by the server, so what a
client sees for each cause stands here, side by side.
"""

from dataclasses import dataclass
from typing import Any

CONCURRENCY = (
    "Number of concurrent connections has exceeded your rate limit. Please try "
    "again later or contact sales at https://claude.com/contact-sales"
)
_MORE_ON_LIMITS = "https://docs.claude.com/en/api/rate-limits"


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """An answer other than a message."""

    kind: str
    """What the books count it under: `limiter`, `overloaded`, …"""
    status: int
    type: str
    message: str
    error_code: str | None = None
    retry_after: int | None = None
    """Whole seconds, as sent."""
    should_retry: bool | None = None
    quota_headers: bool = False
    """Whether the rate-limit headers go with it."""
    page: str | None = None
    """An HTML page sent in place of the JSON body."""

    def body(self, request_id: str) -> dict[str, Any]:
        """The JSON body the service sends."""
        error: dict[str, Any] = {"type": self.type, "message": self.message}
        if self.error_code is not None:
            error["details"] = {"error_code": self.error_code}
        return {"type": "error", "error": error, "request_id": request_id}


def invalid(message: str, error_code: str | None = None) -> Refusal:
    """400: the request itself is at fault."""
    return Refusal(
        kind="invalid_request",
        status=400,
        type="invalid_request_error",
        message=message,
        error_code=error_code,
    )


def not_found(message: str) -> Refusal:
    """404: no such model or path."""
    return Refusal(
        kind="not_found", status=404, type="not_found_error", message=message
    )


def limiter(
    *, limit: int, unit: str, organization: str, model: str, retry_after: int
) -> Refusal:
    """429: a bucket lacks what this request needs; `unit` names the dimension."""
    return Refusal(
        kind="limiter",
        status=429,
        type="rate_limit_error",
        message=(
            "This request would exceed your organization's rate limit of "
            f"{limit:,} {unit} per minute (org: {organization}, model: {model}). "
            f"For details, refer to: {_MORE_ON_LIMITS}. You can see the response "
            "headers for current usage. Please reduce the prompt length or the "
            "maximum tokens requested, or try again later. You may also contact "
            "sales at https://claude.com/contact-sales to discuss your options for "
            "a rate limit increase."
        ),
        retry_after=retry_after,
        should_retry=True,
        quota_headers=True,
    )


def batch_limit(*, limit: int, unit: str, retry_after: int) -> Refusal:
    """429: too many batch requests a minute, or too many queued in batches."""
    return Refusal(
        kind="batch_limit",
        status=429,
        type="rate_limit_error",
        message=(
            f"This request would exceed your organization's limit of {limit:,} "
            f"{unit}. For details, refer to: {_MORE_ON_LIMITS}."
        ),
        retry_after=retry_after,
        should_retry=True,
    )


def ramp(
    *, ceiling: int, following: int, organization: str, model: str, retry_after: int
) -> Refusal:
    """429: usage rises faster than the account may."""
    return Refusal(
        kind="ramp",
        status=429,
        type="rate_limit_error",
        message=(
            "This request would exceed your organization's maximum usage increase "
            f"rate for input tokens per minute (org: {organization}, model: {model})."
            f" Your current limit is {ceiling:,} input tokens per minute, and will "
            f"increase to {following:,} at the next minute boundary. Please scale up "
            "your input tokens usage more gradually to stay within the acceleration "
            f"limit. For details, refer to: {_MORE_ON_LIMITS}."
        ),
        error_code="ramp_limit_exceeded",
        retry_after=retry_after,
        should_retry=True,
        quota_headers=True,
    )


def concurrency() -> Refusal:
    """429: too many requests at once; no bucket is involved."""
    return Refusal(
        kind="concurrency",
        status=429,
        type="rate_limit_error",
        message=CONCURRENCY,
        should_retry=True,
    )


def spend_limit(code: str = "enforced_spend_limit_reached") -> Refusal:
    """429 without `retry-after`: the month's money is spent."""
    return Refusal(
        kind="spend",
        status=429,
        type="rate_limit_error",
        message=(
            "This request would exceed your organization's monthly spend limit. "
            "Access returns at 00:00 UTC on the first day of the next month."
        ),
        error_code=code,
    )


def own_spend_limit() -> Refusal:
    """400: a limit the organisation set itself is reached."""
    return Refusal(
        kind="spend",
        status=400,
        type="invalid_request_error",
        message=(
            "You have reached your specified API usage limits. You will regain "
            "access on the first day of the next month at 00:00 UTC."
        ),
    )


def _of_status(
    kind: str, status: int, kind_on_wire: str, message: str, page: str | None = None
) -> Refusal:
    return Refusal(
        kind=kind, status=status, type=kind_on_wire, message=message, page=page
    )


_BAD_GATEWAY = (
    "<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body>\r\n"
    "<center><h1>502 Bad Gateway</h1></center>\r\n<hr><center>cloudflare</center>"
    "\r\n</body>\r\n</html>\r\n"
)

NAMED = {
    refusal.kind: refusal
    for refusal in (
        _of_status("authentication", 401, "authentication_error", "invalid x-api-key"),
        Refusal(
            kind="billing",
            status=402,
            type="billing_error",
            message=(
                "Your credit balance is too low to access the Anthropic API. Please "
                "go to Plans & Billing to upgrade or purchase credits."
            ),
            should_retry=False,
        ),
        _of_status(
            "permission",
            403,
            "permission_error",
            "Your API key does not have permission to use the specified resource.",
        ),
        _of_status("timeout", 408, "timeout_error", "Request timed out"),
        _of_status("conflict", 409, "conflict_error", "The request conflicts."),
        _of_status(
            "too_large",
            413,
            "request_too_large",
            "Request exceeds the maximum allowed number of bytes.",
        ),
        _of_status(
            "unprocessable", 422, "invalid_request_error", "Unprocessable request."
        ),
        _of_status("server_error", 500, "api_error", "Internal server error"),
        _of_status("bad_gateway", 502, "api_error", "Bad gateway", page=_BAD_GATEWAY),
        _of_status(
            "unavailable",
            503,
            "api_error",
            "Service unavailable",
            page="upstream connect error or disconnect/reset before headers",
        ),
        _of_status(
            "gateway_timeout",
            504,
            "timeout_error",
            "The request took too long. Please use streaming for long requests.",
        ),
        _of_status("overloaded", 529, "overloaded_error", "Overloaded"),
        Refusal(
            kind="server_throttle",
            status=429,
            type="rate_limit_error",
            message="Rate limited",
        ),
    )
}
"""Refusals that need no numbers, by kind."""
