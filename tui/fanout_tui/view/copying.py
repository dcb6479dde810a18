"""A row as text for the clipboard: no frames, nothing cut."""

import json
from dataclasses import asdict
from typing import Any

from fanout.words.model import Row
from fanout_tui.text import clock_time, one_line
from fanout_tui.view.look import Look
from fanout_tui.view.reason import doing, elapsed, spent_text, tries_text


def row_text(look: Look, row: Row) -> str:
    """One row in a few lines."""
    took = elapsed(look, row)
    return "\n".join(
        [
            # Pasted into a shell, it must do nothing there.
            f"{one_line(str(row.id))}  {row.status.value}",
            one_line(doing(look, row).text),
            f"{tries_text(row)}, {'-' if took is None else clock_time(took)}",
            spent_text(row),
        ]
    )


def row_json(row: Row) -> str:
    """Everything known of a row."""
    data: dict[str, Any] = asdict(row)
    data["phase"], data["key"] = row.id
    del data["id"]
    return json.dumps(data, ensure_ascii=True, indent=2, default=str)
