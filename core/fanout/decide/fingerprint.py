"""What determines an answer, as one digest.

Two agents with the same fingerprint asked the same question of the same kind of
account, so one's result may serve the other. The key of a row, its phase and its
output path are labels and not part of it. The version stands in front, so that a
later rule can still recognise results made under an earlier one.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

VERSION = "1"


def canonical(value: Any) -> bytes:
    """Encode JSON such that equal values give equal bytes."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return text.encode("ascii")


def fingerprint(
    *,
    account: str,
    model: str,
    opening: Mapping[str, Any],
    input_digests: Sequence[str],
    tool_versions: Mapping[str, str],
) -> str:
    """Return `1:<hex>` for what determines an agent's answer.

    `account` names the account kind and endpoint, so that simulated and real
    work never mix. `opening` is the conversation's opening without its inputs,
    which count by their digests.
    """
    parts = {
        "account": account,
        "model": model,
        "opening": {k: v for k, v in opening.items() if k != "inputs"},
        "inputs": list(input_digests),
        "tools": dict(tool_versions),
    }
    return f"{VERSION}:{hashlib.sha256(canonical(parts)).hexdigest()}"
