"""The models of the account: their pools, sizes and prices.

Models of one pool share its buckets. A dated suffix (`-20251001`) names the same
model.
"""

import re
from dataclasses import dataclass

_DATE = re.compile(r"-\d{8}$")
_LONG_PROMPT_TOKENS = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """One model; sizes in tokens, prices in USD per million tokens."""

    id: str
    pool: str
    context_tokens: int
    output_tokens_max: int
    cache_minimum_tokens: int
    input_price: float
    output_price: float
    long_prompt_factor: float = 1.0
    """What prices are multiplied by for prompts above 100,000 tokens."""

    @property
    def display_name(self) -> str:
        """The identifier as a title: `Claude Opus 5.5`."""
        words = self.id.split("-")
        version = ".".join(word for word in words if word.isdigit())
        names = " ".join(word.title() for word in words if not word.isdigit())
        return f"{names} {version}"

    @property
    def generation(self) -> tuple[int, int]:
        """The version as a pair that orders: (4, 7)."""
        numbers = [int(word) for word in self.id.split("-") if word.isdigit()]
        return numbers[0], numbers[1] if len(numbers) > 1 else 0

    def price_factor(self, prompt_tokens: int) -> float:
        """What this prompt's length multiplies the prices by."""
        return self.long_prompt_factor if prompt_tokens > _LONG_PROMPT_TOKENS else 1.0


def _model(
    name: str, pool: str, cache_minimum: int, prices: tuple[float, float]
) -> Model:
    return Model(
        id=name,
        pool=pool,
        context_tokens=200_000 if name.endswith("4-5") else 1_000_000,
        output_tokens_max=64_000 if name.endswith("4-5") else 128_000,
        cache_minimum_tokens=cache_minimum,
        input_price=prices[0],
        output_price=prices[1],
        long_prompt_factor=5.0 if name == "claude-haiku-5-5" else 1.0,
    )


MODELS = {
    model.id: model
    for model in (
        _model("claude-fable-5-2", "fable-5", 512, (8, 40)),
        _model("claude-fable-5-1", "fable-5", 512, (10, 50)),
        _model("claude-fable-5", "fable-5", 512, (10, 50)),
        _model("claude-opus-5-5", "opus-5.5", 512, (4, 20)),
        _model("claude-opus-5", "opus-5", 512, (5, 25)),
        _model("claude-opus-4-8", "opus-4", 1024, (5, 25)),
        _model("claude-opus-4-7", "opus-4", 2048, (5, 25)),
        _model("claude-opus-4-6", "opus-4", 4096, (5, 25)),
        _model("claude-opus-4-5", "opus-4", 4096, (5, 25)),
        _model("claude-sonnet-5-5", "sonnet-5.5", 1024, (2, 10)),
        _model("claude-sonnet-5", "sonnet-5", 1024, (2, 10)),
        _model("claude-sonnet-4-6", "sonnet-4", 1024, (3, 15)),
        _model("claude-sonnet-4-5", "sonnet-4", 1024, (3, 15)),
        _model("claude-haiku-5-5", "haiku-5.5", 1024, (0.10, 0.50)),
        _model("claude-haiku-4-5", "haiku-4", 4096, (1, 5)),
    )
}
"""Every model the account may use, by identifier."""

POOLS = tuple(dict.fromkeys(model.pool for model in MODELS.values()))
"""The names of the pools of models, in the order of `MODELS`."""


def find(name: str) -> Model | None:
    """The model called `name`, with or without a dated suffix."""
    return MODELS.get(_DATE.sub("", name))
