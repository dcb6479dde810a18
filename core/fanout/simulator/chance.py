"""Chance that is a function of its arguments: same seed and request, same luck.

Nothing here keeps state, so concurrent requests cannot change each other's luck
by arriving in another order.
"""

import hashlib


def unit(*parts: object) -> float:
    """A number in [0, 1), evenly spread over different `parts`."""
    text = "\x1f".join(map(str, parts)).encode()
    return int.from_bytes(hashlib.blake2b(text, digest_size=7).digest()) / 2**56


def between(low: float, high: float, *parts: object) -> float:
    """A number in [low, high), evenly spread over different `parts`."""
    return low + (high - low) * unit(*parts)


def letters(count: int, *parts: object) -> str:
    """`count` characters of base 36, as in the service's identifiers."""
    text = "\x1f".join(map(str, parts)).encode()
    number = int.from_bytes(hashlib.blake2b(text, digest_size=32).digest())
    out: list[str] = []
    for _ in range(count):
        number, digit = divmod(number, 36)
        out.append("0123456789abcdefghijklmnopqrstuvwxyz"[digit])
    return "".join(out)
