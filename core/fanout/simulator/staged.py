"""The refusals a fault rule stages, with the numbers of the account filled in."""

from dataclasses import replace

from fanout.simulator import errors
from fanout.simulator.errors import Refusal
from fanout.simulator.faults import FaultRule

DEFAULT_WAIT_SECONDS = 5


def refusal(
    rule: FaultRule, *, input_limit: int, organization: str, model: str
) -> Refusal:
    """What a client gets when `rule` strikes."""
    wait = DEFAULT_WAIT_SECONDS if rule.retry_after is None else rule.retry_after
    if rule.kind in ("rate_limit", "rate_limit_no_retry_after"):
        made = errors.limiter(
            limit=input_limit,
            unit="input tokens",
            organization=organization,
            model=model,
            retry_after=wait,
        )
        silent = rule.kind == "rate_limit_no_retry_after"
        return replace(made, retry_after=None) if silent else made
    if rule.kind == "ramp":
        return errors.ramp(
            ceiling=input_limit // 2,
            following=input_limit,
            organization=organization,
            model=model,
            retry_after=wait,
        )
    return replace(_plain(rule.kind), retry_after=rule.retry_after)


def _plain(kind: str) -> Refusal:
    if kind == "concurrency":
        return errors.concurrency()
    if kind == "spend":
        return errors.spend_limit()
    if kind == "contract_spend":
        return errors.spend_limit("contract_spend_limit_reached")
    if kind == "own_spend":
        return errors.own_spend_limit()
    if kind == "invalid_request":
        return errors.invalid("messages: this request is invalid by a staged fault")
    return errors.NAMED[kind]


def by_status(status: int) -> Refusal:
    """The refusal a directive orders by its status alone."""
    for made in errors.NAMED.values():
        if made.status == status:
            return made
    made = errors.invalid(f"ordered by the prompt: status {status}")
    return made if status == made.status else replace(made, status=status)
