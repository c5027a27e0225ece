"""The seeded simulation, if this build contains it."""

import os
import re
import subprocess

from bench import Skipped

LINE = re.compile(r"(\d+) seeds, (\d+) faults, (\d+) violations")


def run(bench):
    program = bench.binaries / "baton-simulate"
    if not os.access(program, os.X_OK):
        raise Skipped("there is no baton-simulate in this build")
    result = subprocess.run(
        [program, str(bench.rounds), str(bench.seed)], capture_output=True, text=True, timeout=7200, cwd=bench.folder)
    found = LINE.search(result.stdout)
    if not bench.expect(found, f"baton-simulate ended with {result.returncode}: {(result.stdout + result.stderr)[-500:]}"):
        return
    bench.landed = int(found[1]) if int(found[2]) >= 10 * int(found[1]) else 0
    bench.figure("faults", int(found[2]))
    bench.expect(int(found[3]) == 0 and result.returncode == 0, result.stdout[-2000:])
