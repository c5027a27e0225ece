"""What the machine itself took: promises in seconds hold on a machine that runs its processes, and a busy one does not
always. A process beside the row sleeps, writes and syncs a little, and counts who else wants to run. A promise is judged
without the time in which the machine stood still, and without the share that others had of its processors; on a machine
that does nothing else that is nothing. A program of its own:   stalls.py FILE"""

import os
import subprocess
import sys
import time

EVERY_SECONDS = 0.05
# What a beat may take on a machine that is well.
ORDINARY_SECONDS = 0.1


class Stalls:
    """Measures until `stop`. Times are nanoseconds since 1970, as the store writes them."""

    def __init__(self, folder):
        self.file = folder / "stalls"
        self.file.touch()
        self.meter = subprocess.Popen([sys.executable, __file__, self.file], stdin=subprocess.DEVNULL)

    def stop(self):
        self.meter.kill()
        self.meter.wait()

    def all(self):
        """Begin and end of each beat that was not all one's own, and the share of it that was lost."""
        lines = (line.split() for line in self.file.read_text().splitlines())
        return [(int(line[0]), int(line[1]), float(line[2])) for line in lines if len(line) == 3]

    def between(self, begin, end):
        """How many seconds between these two times were not to be had."""
        return sum(max(0, min(end, until) - max(begin, since)) * share for since, until, share in self.all()) / 1e9

    def since(self, monotonic):
        """The same from a moment of time.monotonic() until now."""
        now = time.time_ns()
        return self.between(now - int((time.monotonic() - monotonic) * 1e9), now)

    def in_all(self):
        return sum((until - since) * share for since, until, share in self.all()) / 1e9


def lost_share():
    """Of the time that a process wants to run, what it waits: this one counts itself."""
    with open("/proc/loadavg", encoding="ascii") as file:
        wanting = int(file.read().split()[3].partition("/")[0])
    return max(0, 1 - len(os.sched_getaffinity(0)) / max(1, wanting))


def beat(file):
    """One breath of a process: sleep, wake up, write, sync. Begin, end, and the share of it that was lost."""
    begin = time.monotonic()
    time.sleep(EVERY_SECONDS)
    share = lost_share()
    os.pwrite(file, b"x", 0)
    os.fdatasync(file)
    took = time.monotonic() - begin
    excess = took - EVERY_SECONDS
    now = time.time_ns()
    return now - int(took * 1e9), now, max(share, excess / took if excess > ORDINARY_SECONDS else 0)


def measure(path):
    file = os.open(f"{path}.beat", os.O_RDWR | os.O_CREAT, 0o600)
    with open(path, "a", encoding="utf-8") as log:
        while os.getppid() != 1:
            since, until, share = beat(file)
            if share > 0:
                log.write(f"{since} {until} {share:.3f}\n")
                log.flush()


if __name__ == "__main__":
    measure(sys.argv[1])
