"""Payloads too large for a line, each in a file named by its content.

A blob is written and synced before the line that names it, so a line on disk
never points at nothing. Content names make a second write of the same payload
free, and make damage visible: what does not hash to its name is not returned.
"""

import hashlib
import json
from pathlib import Path
from typing import Any

from fanout.decide.payload import BlobRef
from fanout.disk.files import DISK, Files, write_atomic
from fanout.errors import FanoutError


class Blobs:
    """The `blobs` folder of one run."""

    def __init__(self, run_folder: Path, files: Files = DISK) -> None:
        self._folder = run_folder / "blobs"
        self._files = files

    def put(self, data: bytes) -> str:
        """Store `data` durably and return its sha256."""
        digest = hashlib.sha256(data).hexdigest()
        path = self._path(digest)
        if self._holds(path, len(data)):
            self._files.sync_folder(path.parent)
            return digest
        shelf = path.parent
        if not shelf.is_dir():
            shelf.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._files.sync_folder(self._folder.parent)
            self._files.sync_folder(self._folder)
        write_atomic(path, data, files=self._files)
        return digest

    def get(self, digest: str) -> bytes:
        """Return the payload, or raise `FanoutError` if it is gone or damaged."""
        try:
            data = self._path(digest).read_bytes()
        except (OSError, ValueError) as exc:
            raise FanoutError(f"payload {digest[:12]} cannot be read: {exc}") from exc
        if hashlib.sha256(data).hexdigest() != digest:
            raise FanoutError(f"payload {digest[:12]} is damaged")
        return data

    def value(self, payload: Any) -> Any:
        """Return a payload's value, whether it stood in the line or beside it."""
        if not isinstance(payload, BlobRef):
            return payload
        try:
            return json.loads(self.get(payload.sha256))
        except (ValueError, RecursionError) as exc:
            raise FanoutError(f"payload {payload.sha256[:12]} is not JSON") from exc

    def _path(self, digest: str) -> Path:
        if len(digest) != hashlib.sha256().digest_size * 2 or not digest.isalnum():
            raise ValueError("not a digest")
        return self._folder / digest[:2] / digest

    @staticmethod
    def _holds(path: Path, size: int) -> bool:
        try:
            return path.stat().st_size == size
        except OSError:
            return False
