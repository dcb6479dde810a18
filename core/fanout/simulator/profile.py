"""Which simulated account: limits, pace and faults, read from a TOML file.

A profile is data a stranger wrote, so it is validated in full before anything
starts, and what is wrong is said in one sentence with a hint. The same format,
partially filled, is what the control path's `set` accepts.
"""

import re
import tomllib
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from fanout.simulator.faults import FaultRule
from fanout.simulator.limiter import Limits, Shares
from fanout.simulator.models import POOLS
from fanout.simulator.process import BUILT_IN as NAMES

Positive = Annotated[int, Field(gt=0)]
Share = Annotated[float, Field(gt=0, le=1)]
Load = Annotated[float, Field(ge=0, le=2)]


class ProfileError(ValueError):
    """A profile that cannot be used; its text is one sentence with a hint."""


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class LimitsTable(_Table):
    """What a pool may use per minute."""

    requests: Positive = 50
    input_tokens: Positive = 30_000
    output_tokens: Positive = 8_000

    def numbers(self) -> Limits:
        """The same for the limiter."""
        return Limits(**self.model_dump())


class BurstTable(_Table):
    """How much of a minute's limit a bucket can hold; 1/6 is ten seconds' worth."""

    requests: Share = 1.0
    input_tokens: Share = 1.0
    output_tokens: Share = 1.0

    def numbers(self) -> Shares:
        """The same for the limiter."""
        return Shares(**self.model_dump())


class LoadTable(_Table):
    """What others of the organisation take, as shares of the limits."""

    requests: Load = 0.0
    input_tokens: Load = 0.0
    output_tokens: Load = 0.0

    def numbers(self) -> Shares:
        """The same for the limiter."""
        return Shares(**self.model_dump())


class LimiterTable(_Table):
    """How the limits are enforced and shown."""

    charge_refused: bool = False
    """Whether a refused request costs one of the requests."""
    headers_at: Literal["admission", "first_token"] = "first_token"
    """When a stream's response headers are taken and sent."""
    input_estimate_error: Annotated[float, Field(ge=0, lt=1)] = 0.0
    """Admission is off by up to this share of the input, corrected at the start."""
    remaining: Literal["bucket", "minute"] = "bucket"
    """With a burst below 1: whether `remaining` is what the bucket holds, or the
    minute's limit less what is not yet refilled."""
    count_tokens_requests: Positive = 2_000
    concurrency: Annotated[int, Field(ge=0)] = 0
    """Most requests at once; 0 is no limit."""


class RampTable(_Table):
    """The acceleration limit in input tokens; off unless given."""

    start: Positive
    step: Positive


class SpendTable(_Table):
    """Money in USD; each limit is off unless given."""

    limit_usd: float | None = None
    """The tier's monthly cap: 429 `enforced_spend_limit_reached`."""
    contract_usd: float | None = None
    """The contract's cap: 429 `contract_spend_limit_reached`."""
    own_limit_usd: float | None = None
    """A limit the organisation set itself: 400."""
    balance_usd: float | None = None
    """Prepaid balance: 402."""


class RangeTable(_Table):
    """A number drawn per request, evenly between both ends."""

    min: Annotated[int, Field(ge=0)] = 0
    max: Annotated[int, Field(ge=0)] = 0

    @model_validator(mode="after")
    def _ordered(self) -> "RangeTable":
        if self.max < self.min:
            raise ValueError("max is below min")
        return self


class HoursTable(_Table):
    """A time drawn per request of a batch, evenly between both ends, in hours."""

    min: Annotated[float, Field(ge=0)] = 0.1
    max: Annotated[float, Field(ge=0)] = 0.8

    @model_validator(mode="after")
    def _ordered(self) -> "HoursTable":
        if self.max < self.min:
            raise ValueError("max is below min")
        return self


class BatchTable(_Table):
    """Message batches: their own limits, their time, and what goes wrong in them."""

    requests: Positive = 1_000
    """Per minute, all batch endpoints together."""
    queued: Positive = 200_000
    """Most requests in batches that have not ended."""
    per_batch: Positive = 100_000
    seconds_per_hour: Annotated[float, Field(gt=0)] = 10.0
    """What an hour of a batch takes here."""
    hours: HoursTable = HoursTable()
    """How long a request takes from its batch's creation."""
    expiry_hours: Annotated[float, Field(gt=0)] = 24.0
    cancel_hours: Annotated[float, Field(ge=0)] = 0.05
    """From the wish to cancel to the batch's end."""
    errored: Annotated[float, Field(ge=0, le=1)] = 0.0
    """Share of the requests that end with an error."""
    error_type: str = "api_error"
    expired: Annotated[float, Field(ge=0, le=1)] = 0.0
    """Share of the requests that are not got to before the batch expires."""


class GenerationTable(_Table):
    """How fast the model answers, and how much it pads its answers."""

    ttft_seconds: Annotated[float, Field(ge=0)] = 0.5
    ttft_per_1k_input: Annotated[float, Field(ge=0)] = 0.02
    """Seconds per 1,000 tokens of uncached input."""
    tokens_per_second: Annotated[float, Field(gt=0)] = 80.0
    tokens_per_delta: Annotated[int, Field(gt=0)] = 4
    jitter: Annotated[float, Field(ge=0, lt=1)] = 0.15
    """Both figures vary by up to this share from request to request."""
    ping_seconds: Annotated[float, Field(gt=0)] = 10.0
    output_tokens: RangeTable = RangeTable()
    """Final answers are padded to a length drawn from this range."""
    thinking_tokens: RangeTable = RangeTable()
    own_tools: Annotated[float, Field(ge=0, le=1)] = 0.0
    """Share of the conversations in which each of a script's own tools is called
    once. They really run, so it is none unless somebody says so."""


class ServerTable(_Table):
    """The transport."""

    keepalive_seconds: Annotated[float, Field(gt=0)] = 75.0
    request_book: Annotated[int, Field(ge=0)] = 5_000
    """How many past requests the books list one by one."""


class Change(_Table):
    """Other limits for all pools from some second on."""

    at: Annotated[float, Field(ge=0)]
    requests: Positive | None = None
    input_tokens: Positive | None = None
    output_tokens: Positive | None = None


class Profile(_Table):
    """A simulated account."""

    name: str = "custom"
    limits: LimitsTable = LimitsTable()
    pools: dict[str, LimitsTable] = {}
    """Limits of single pools in place of `limits`."""
    burst: BurstTable = BurstTable()
    foreign_load: LoadTable = LoadTable()
    limiter: LimiterTable = LimiterTable()
    ramp: RampTable | None = None
    spend: SpendTable = SpendTable()
    generation: GenerationTable = GenerationTable()
    batches: BatchTable = BatchTable()
    server: ServerTable = ServerTable()
    faults: tuple[FaultRule, ...] = ()
    changes: tuple[Change, ...] = ()

    @model_validator(mode="after")
    def _known_pools(self) -> "Profile":
        for name in self.pools:
            if name not in POOLS:
                raise ValueError(f"no pool {name!r}; there are {', '.join(POOLS)}")
        return self

    def limits_of(self, pool: str) -> LimitsTable:
        """The limits of one pool."""
        return self.pools.get(pool, self.limits)


def load(name_or_file: str, extra: dict[str, Any] | None = None) -> Profile:
    """The named profile or the one in a TOML file, with `extra` merged over it."""
    if name_or_file in NAMES:
        folder = resources.files("fanout.simulator") / "profiles"
        text = (folder / f"{name_or_file}.toml").read_text("utf-8")
    else:
        text = _read_file(name_or_file)
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ProfileError(
            f"profile {name_or_file!r} is not TOML: {error}; hint: quote texts and "
            "write tables as [limits]"
        ) from error
    return build(merge(table, extra or {}), name_or_file)


PAGE = "core/fanout/simulator/README.md"
_HINT = f"hint: there are {', '.join(NAMES)}, or give the path of a TOML file"


def _read_file(name: str) -> str:
    try:
        return Path(name).read_text("utf-8")
    except FileNotFoundError as error:
        raise ProfileError(f"there is no profile `{name}`; {_HINT}") from error
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is no text"
        raise ProfileError(
            f"the profile `{name}` cannot be read: {why}; {_HINT}"
        ) from error


def build(table: dict[str, Any], origin: str) -> Profile:
    """The profile a table describes; `origin` names it in a complaint."""
    try:
        return Profile.model_validate(table)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(map(str, first["loc"])) or "the file"
        reason = re.sub(r"^Value error, ", "", first["msg"])
        raise ProfileError(
            f"profile {origin!r}: {place}: {reason[:1].lower()}{reason[1:]}; hint: "
            f"{_hint(first['type'], first['loc'])}"
        ) from error


def _hint(kind: str, place: tuple[int | str, ...]) -> str:
    name = ".".join(map(str, place)) or "the file"
    if kind == "extra_forbidden" and (there := _keys_beside(place)):
        return f"there are {', '.join(there)}"
    if kind == "missing":
        return f"add {name!r}"
    if kind == "tuple_type":
        return f"write it as [[{name}]], once for each"
    return f"correct the value of {name!r}; {PAGE} has every key"


def _keys_beside(place: tuple[int | str, ...]) -> list[str]:
    """Return what could stand where a key does that is none."""
    model: Any = Profile
    for step in place[:-1]:
        if isinstance(step, str) and (field := model.model_fields.get(step)):
            inner = [field.annotation, *get_args(field.annotation)]
            models = [one for one in inner if hasattr(one, "model_fields")]
            model = models[0] if models else model
    return [field.alias or name for name, field in model.model_fields.items()]


def merge(base: dict[str, Any], over: dict[str, Any]) -> dict[str, Any]:
    """`base` with `over` laid on it, table by table."""
    merged = dict(base)
    for key, value in over.items():
        old = merged.get(key)
        if isinstance(old, dict) and isinstance(value, dict):
            merged[key] = merge(old, value)
        else:
            merged[key] = value
    return merged
