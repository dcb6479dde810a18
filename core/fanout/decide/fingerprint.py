"""What determines an answer, as one digest.

Two agents with the same fingerprint asked the same question of the same kind of
account, so one's result may serve the other. The key of a row, its phase and its
output path are labels and not part of it. The version stands in front, so that a
later rule can still recognise results made under an earlier one.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from json.encoder import encode_basestring_ascii as _text
from typing import Any

VERSION = "1"
_encode = json.JSONEncoder(sort_keys=True, separators=(",", ":")).encode
_name = lru_cache(maxsize=64)(_text)


def canonical(value: Any) -> bytes:
    """Encode JSON such that equal values give equal bytes."""
    return _encode(value).encode("ascii")


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
    return _digest(canonical(parts))


@dataclass(frozen=True, slots=True)
class Shared:
    """What many agents have in common, encoded once for all of them."""

    tools: str
    schema: str
    versions: str

    @classmethod
    def of(cls, tools: Any, schema: Any, versions: Mapping[str, str]) -> "Shared":
        """Encode an opening's `tools` and `schema`, and the tools' versions."""
        return cls(_encode(tools), _encode(schema), _encode(versions))

    def fingerprint(
        self, account: str, opening: Mapping[str, Any], input_digests: Sequence[str]
    ) -> str:
        """Return what the function `fingerprint` does of an agent's opening.

        Thousands of agents differ in a prompt and inputs only: the names are sorted
        here by hand, and what is shared is not encoded again for each.
        """
        system, model = opening["system"], _name(opening["model"])
        text = (
            f'{{"account":{_name(account)},'
            f'"inputs":[{",".join(map(_text, input_digests))}],'
            f'"model":{model},"opening":{{'
            f'"max_tokens":{opening["max_tokens"]:d},'
            f'"max_turns":{opening["max_turns"]:d},'
            f'"model":{model},'
            f'"prompt":{_text(opening["prompt"])},'
            f'"schema":{self.schema},'
            f'"system":{"null" if system is None else _text(system)},'
            f'"tools":{self.tools},'
            f'"writes_output":{"true" if opening["writes_output"] else "false"}}},'
            f'"tools":{self.versions}}}'
        )
        return _digest(text.encode("ascii"))


def _digest(data: bytes) -> str:
    return f"{VERSION}:{hashlib.sha256(data).hexdigest()}"
