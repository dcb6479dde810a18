"""Texts that look like results and hold none: blank, an error's, a mere claim.

A model, a proxy before it or a wrapper around it may answer with a well-formed
text that is no work. What a schema accepts is never asked about here. The rules
are narrow, and what they find is sent back to the agent before it is given up:
taking an odd result for none costs a turn, the reverse costs the truth.
"""

import json
import re
import unicodedata

CLAIM_MAX = 300
"""Characters beyond which a text is taken for work, whatever it claims."""
ERROR_MAX = 2_000
"""The same for texts that read like an error."""

_KINDS = (
    "invalid_request|authentication|billing|permission|not_found|request_too_large|"
    "rate_limit|api|timeout|overloaded"
)
_ERROR = re.compile(
    rf"""\A\W*(
        (api|http|request|network|internal)?[ ]?error\b\W*(code|status)?\W*[45]\d\d\b
      | api[ ]error\b
      | (error:\s*)?(\w+\.)*(anthropic|apistatus|apiconnection)\w*error\b
      | [45]\d\d\s+({_KINDS})_?(error)?\b
      | ({_KINDS})_error\b
      | 5\d\d\s+(internal\ server\ error|bad\ gateway|service\ unavailable
                |gateway\ time-?out)
      | traceback\ \(most\ recent\ call\ last\)
    )""",
    re.VERBOSE | re.IGNORECASE,
)
_ERROR_PAGE = re.compile(
    r"\A\s*<(!doctype|html)\b.{0,500}?<(title|h1)>\s*[45]\d\d\b",
    re.DOTALL | re.IGNORECASE,
)
_CLAIM = re.compile(
    r"""\A\W*(done\b|(i(\ have|['\u2019]ve)?|the|your|all
          |report|output|file|results?)\b)
        .{0,200}?\b(written|wrote|saved|created|stored|placed|put)\b""",
    re.VERBOSE | re.IGNORECASE | re.DOTALL,
)
_FILE = re.compile(
    r"\b(to|in|into|as|on|with)\s+(the\s+|a\s+|your\s+)?((requested|output)\s+)?"
    r"(file|disk|folder|write_output)\b",
    re.IGNORECASE,
)


def is_blank(text: str) -> bool:
    """Whether there is nothing in it for a reader: spaces and what is invisible."""
    return not any(
        not char.isspace() and unicodedata.category(char)[0] != "C" for char in text
    )


def hollow(text: str, output: str | None) -> str:
    """Say why this text is no result; empty where it may be one.

    `output` is the path that the text is to be written to, if any.
    """
    if is_blank(text):
        return "it is empty"
    head = text[: ERROR_MAX + 1].strip()
    if len(head) <= ERROR_MAX and _is_error(head):
        return "it is an error message and no result"
    if output is not None and len(head) <= CLAIM_MAX and _claims(head, output):
        return (
            "it says that a file was written, and none was; "
            "the answer itself becomes the file"
        )
    return ""


def _is_error(text: str) -> bool:
    if _ERROR.search(text) or _ERROR_PAGE.search(text):
        return True
    if not text.startswith("{"):
        return False
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return False
    error = value.get("error")
    return value.get("type") == "error" and isinstance(error, dict)


def _claims(text: str, output: str) -> bool:
    names = {output, output.rpartition("/")[2]}
    named = any(name in text for name in names) or _FILE.search(text) is not None
    return named and _CLAIM.search(text) is not None
