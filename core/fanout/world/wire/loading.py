"""The SDK imported: thousands of classes, all of which stay."""

import gc
import importlib
import sys
from typing import Any

from fanout.disk.reading import keeping_all

SDK = "anthropic"


def load_sdk() -> Any:
    """Import the SDK: more than half a second of work, for the first who asks.

    Looking for garbage among what it makes takes a quarter of the import, 50 ms of
    each later collection, and more at the end: it is left out of all three.
    """
    is_new = SDK not in sys.modules
    with keeping_all():
        sdk = importlib.import_module(SDK)
    if is_new:
        gc.freeze()
    return sdk
