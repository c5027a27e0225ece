"""The Python side of shim.c: compiles it, and controls it while it runs."""

import mmap
import pathlib
import shutil
import struct
import subprocess

from bench import Skipped

# The names, in the order of the structure in shim.c. Each is a signed 64-bit number.
NAMES = [
    "clock_offset", "writes", "syncs", "commits", "landed", "write_from", "write_left", "write_error", "sync_from",
    "sync_left", "sync_at", "sync_error", "sync_delay", "kill_after_commit", "kill_before_commit", "kill_before_answer",
    "kill_after_write", "kill_in_checkpoint", "clock_reads", "landed_at_commit",
]  # fmt: skip
# The values of `sync_at`.
ANY, AT_COMMITS, AT_CHECKPOINTS = 0, 1, 2
FOREVER = (1 << 63) - 1


class Shim:
    """The control of the shim. An attribute of NAMES that is set takes effect at once; reading it returns the current
    value."""

    def __init__(self, bench):
        compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
        if compiler is None:
            raise Skipped("there is no C compiler")
        folder = bench.new_folder("shim")
        library, control = folder / "shim.so", folder / "control"
        source = pathlib.Path(__file__).with_name("shim.c")
        command = [compiler, "-O1", "-Wall", "-Werror", "-shared", "-fPIC", "-o", library, source, "-ldl"]
        subprocess.run(command, check=True, timeout=60)
        control.write_bytes(bytes(4096))
        with open(control, "r+b") as file:
            super().__setattr__("memory", mmap.mmap(file.fileno(), 4096))
        environment = {"LD_PRELOAD": str(library), "FAULT_CONTROL": str(control)}
        super().__setattr__("environment", environment)

    def __getattr__(self, name):
        return struct.unpack_from("<q", self.memory, 8 * NAMES.index(name))[0]

    def __setattr__(self, name, value):
        struct.pack_into("<q", self.memory, 8 * NAMES.index(name), value)

    def reset(self):
        """Ends all faults and sets the counts of faults to 0. The clock stays as it is."""
        for name in NAMES:
            if name not in ("clock_offset", "writes", "syncs", "commits", "clock_reads"):
                setattr(self, name, 0)

    def fail_writes(self, error, after, count=FOREVER):
        """Lets `count` writes fail with this error number, after `after` more writes have succeeded."""
        self.write_left = 0
        self.write_error = error
        self.write_from = self.writes + 1 + after
        self.write_left = count

    def fail_syncs(self, error, after, count=FOREVER, at=ANY):
        self.sync_left = 0
        self.sync_error = error
        self.sync_at = at
        self.sync_from = self.syncs + 1 + after
        self.sync_left = count
