"""The real program while its network goes away and comes back."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from e2e.program import PARALLEL, Program
from figures import record_figure

SECONDS = 20
PATIENCE = "--timeout connect=2,first-byte=6,idle=5"
LINE = '''
import fcntl, socket, struct

def set_line(up):
    """Switch the namespace's only interface."""
    name = struct.pack("16sH14s", b"lo", 1 if up else 0, b"")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, 0x8914, name)
'''
JOB = (
    PARALLEL
    + LINE
    + f"""
async def main():
    await work(6)
    threading.Timer(1.0, lambda: (fanout.log("LINE DOWN"), set_line(False))).start()
    threading.Timer(1.0 + {SECONDS}, lambda: (set_line(True), fanout.log("LINE UP"))).start()
    async with fanout.phase("more"):
        await more()

async def more():
    await work(200, "[[sim: output=40 tps=20]]")
"""
)


@pytest.mark.long
@pytest.mark.soak
def test_a_network_that_goes_away_costs_no_row(tmp_path: Path) -> None:
    """In a network of its own, whose line is cut for twenty seconds."""
    if shutil.which("unshare") is None or os.geteuid() != 0:
        pytest.skip("only root has a network of its own")
    program = Program(tmp_path, None)
    (tmp_path / "job.py").write_text(JOB)
    up = f"exec(open({str(tmp_path / 'line.py')!r}).read()); set_line(True)"
    (tmp_path / "line.py").write_text(LINE)
    run = f"{sys.executable} -m fanout_tui --simulate --profile start {PATIENCE} job.py"
    ended = subprocess.run(
        ["unshare", "-n", "sh", "-c", f'{sys.executable} -c "{up}" && {run}'],
        cwd=tmp_path,
        env=program.environ,
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    if "unshare:" in ended.stderr:
        pytest.skip(f"no networks here: {ended.stderr.splitlines()[0]}")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    (path,) = tmp_path.glob(".fanout/*/report.json")
    report = json.loads(path.read_text())
    assert (report["done"], report["missing"]) == (206, 0)
    assert "fanout-tui: offline: no connection: 127.0.0.1:" in ended.stderr, (
        ended.stdout
    )
    assert "connected again after" in ended.stdout
    record_figure(
        "a real line cut for twenty seconds",
        "0 rows failed, back ≤ 30 s",
        "206 of 206 done",
    )
