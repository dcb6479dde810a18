from collections.abc import Iterator

import pytest

from core.api.wires import Server


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with Server() as made:
        yield made
