"""What the account charges in dollars: the four token classes, and batches at half."""

from fanout.simulator.cache import Split
from fanout.simulator.call import Call

BATCH_FACTOR = 0.5
_WRITE_FACTOR = {"5m": 1.25, "1h": 2.0}
_READ_FACTOR = 0.1


def of_input(call: Call, split: Split) -> float:
    """What a request reads costs: in full, from the cache, or written to it."""
    model = call.model
    units = split.uncached + split.read * _READ_FACTOR
    units += sum(n * _WRITE_FACTOR[ttl] for ttl, n in split.written.items())
    return units * model.price_factor(call.input_tokens) * model.input_price / 1e6


def of_output(call: Call, tokens: int) -> float:
    """What so many tokens of its answer cost."""
    factor = call.model.price_factor(call.input_tokens)
    return tokens * factor * call.model.output_price / 1e6
