"""What the tests of files share: a backend, and a folder with an outside."""

from dataclasses import dataclass
from pathlib import Path

import pytest

CANARY = "canary-7f3a9c"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@dataclass(frozen=True)
class Place:
    """A root with ordinary and odd entries, beside what must stay unseen."""

    root: Path
    outside: Path
    canary: str = CANARY

    def state_outside(self) -> dict[str, bytes]:
        return {
            str(path): path.read_bytes()
            for path in sorted(self.outside.rglob("*"))
            if path.is_file()
        }


@pytest.fixture
def place(tmp_path: Path) -> Place:
    root, outside = tmp_path / "root", tmp_path / "outside"
    (root / "sub" / "deep").mkdir(parents=True)
    (outside / "sub").mkdir(parents=True)
    (root / "plain.txt").write_text("one\ntwo\nthree\n")
    (root / "sub" / "inner.py").write_text("def inner():\n    return 1\n")
    (outside / "secret.txt").write_text(CANARY)
    (outside / "sub" / "inner.py").write_text(CANARY)
    (tmp_path / "root-twin").mkdir()
    (tmp_path / "root-twin" / "secret.txt").write_text(CANARY)
    (root / "link-file").symlink_to(outside / "secret.txt")
    (root / "link-folder").symlink_to(outside)
    (root / "link-relative").symlink_to("../outside")
    (root / "link-inside").symlink_to("plain.txt")
    (root / "link-loop").symlink_to("link-loop")
    (root / "link-dangling").symlink_to(outside / "new-by-link.txt")
    (root / "sub" / "up").symlink_to("..")
    for name in (".env", ".env.local", "server.pem", "id_rsa", "ID_ED25519", "x.key"):
        (root / name).write_text(CANARY)
    for name in (".ssh", ".git", ".fanout", ".aws"):
        (root / name).mkdir()
        (root / name / "config").write_text(CANARY)
    return Place(root, outside)
