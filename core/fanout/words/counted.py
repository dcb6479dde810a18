"""Numbers of things, in words: one function, so that one is never many."""


def plural(count: int, noun: str, many: str | None = None) -> str:
    """`1 row`, `2 rows`, `1,204 rows`; `many` where it is not the noun and an s."""
    return f"{count:,} {noun if count == 1 else many or noun + 's'}"


def of_them(count: int, whole: int, noun: str, many: str | None = None) -> str:
    """`39 of 40 partitions`, `1 of 1 partition`: as many as there are of them."""
    return f"{count:,} of {plural(whole, noun, many)}"
