"""How long a large tree takes to partition: `python tests/bench/partitioning.py`.

python tests/bench/partitioning.py [files] [megabytes] [folder]

A tree of text files, many small and a few large, is written once (into `folder`, where it
stays, or a temporary one). Each figure is a fresh process's, with the files in the
system's cache; memory is what was needed at most, above what the imports take. The
second partitioning has one file edited and one added: how many partitions it changes.
"""

import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path

MEGABYTE = 1_000_000
FOLDERS = 1_000
LARGE = 200
"""One file of so many is fifty times as large."""
TIMES = 50
MAX_TOKENS = 60_000
TEXT = """
def return import value result for in self None True open read write
the of and to a is that it with as was on be by this from which or an
"""
WORDS = TEXT.split()

MEASURE = """
import json, sys, time
from pathlib import Path
import fanout

def memory(name):
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(l for l in lines if l.startswith(name)).split()[1]) / 1024

root, most, containing = sys.argv[1], int(sys.argv[2]), sys.argv[3] or None
fanout.partition(root, "f0000/*", max_tokens=most)
before = memory("VmRSS")
began, cpu = time.perf_counter(), time.process_time()
parts = fanout.partition(root, "**/*", max_tokens=most, containing=containing)
print(json.dumps({
    "seconds": time.perf_counter() - began,
    "cpu": time.process_time() - cpu,
    "mib": memory("VmHWM") - before,
    "parts": {part.key: part.digest for part in parts},
}))
"""


def make(root: Path, files: int, size: int) -> None:
    """Write `files` files of `size` bytes together, the same for the same figures."""
    chance = random.Random(7)
    blocks = [_block(chance) for _ in range(999)]
    usual = size // (files + files // LARGE * (TIMES - 1))
    for folder in range(FOLDERS):
        (root / f"f{folder:04}").mkdir(parents=True)
    for number in range(files):
        room = usual * TIMES if number % LARGE == LARGE // 2 else usual
        text, wanted = [], int(room * chance.uniform(0.5, 1.5))
        while wanted > 0:
            text.append(chance.choice(blocks))
            wanted -= len(text[-1])
        path = root / f"f{number % FOLDERS:04}" / f"m{number:06}.py"
        path.write_bytes(b"".join(text))


def _block(chance: random.Random) -> bytes:
    """Return a definition of some lines, and what stands between it and the next."""
    lines = [
        " ".join(chance.choices(WORDS, k=9)) for _ in range(chance.randrange(4, 30))
    ]
    text = "\n    ".join([f"def {chance.choice(WORDS)}(value):", *lines])
    return f"{text}\n\n\n".encode()


def measure(root: Path, containing: str = "") -> dict:
    command = [sys.executable, "-c", MEASURE, str(root), str(MAX_TOKENS), containing]
    done = subprocess.run(command, check=True, capture_output=True)
    return json.loads(done.stdout)


def row(name: str, found: dict) -> None:
    count = len(found["parts"])
    print(
        f"{name:24}{found['seconds']:8.1f} s{found['cpu']:8.1f} CPU s"
        f"{found['mib']:8.0f} MiB{count:10,} partitions"
    )


def main(files: int = 100_000, megabytes: int = 2_000, folder: str = "") -> None:
    with tempfile.TemporaryDirectory() as made:
        root = Path(folder or made) / "tree"
        if not root.exists():
            make(root, files, megabytes * MEGABYTE)
        print(f"{files:,} files, {megabytes:,} MB, {MAX_TOKENS:,} tokens a partition")
        first = measure(root)
        row("all files", first)
        row("containing a pattern", measure(root, "True open read"))
        edited, added = root / "f0010" / "m000010.py", root / "f0500" / "new.py"
        before = edited.read_bytes()
        for name, path, content in (
            ("one file edited", edited, before + b"one more line\n"),
            ("one file added", added, b"value = 1\n" * 200),
        ):
            path.write_bytes(content)
            again = measure(root)
            changed = first["parts"].items() ^ again["parts"].items()
            row(name, again)
            print(f"{'':24}{len({key for key, _ in changed})} partitions changed")
            first = again
        edited.write_bytes(before)
        added.unlink()


if __name__ == "__main__":
    main(*map(int, sys.argv[1:3]), *sys.argv[3:])
