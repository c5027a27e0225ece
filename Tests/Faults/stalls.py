"""The time that the machine itself took. Promises in seconds hold only on a machine that runs its processes, which a
busy machine does not always do. A process beside the row sleeps, writes and syncs a little, and counts the processes
that want to run. A promise is judged without the time in which the machine stood still, and without the share of the
processors that other processes had. On a machine that runs nothing else this time is 0. The process is a separate
program:   stalls.py FILE"""

import os
import subprocess
import sys
import time

EVERY_SECONDS = 0.05
# The longest time that a beat takes on a healthy machine.
ORDINARY_SECONDS = 0.1


class Stalls:
    """Measures until `stop`. Times are in nanoseconds since 1970, as in the store."""

    def __init__(self, folder):
        self.file = folder / "stalls"
        self.file.touch()
        self.meter = subprocess.Popen([sys.executable, __file__, self.file], stdin=subprocess.DEVNULL)

    def stop(self):
        self.meter.kill()
        self.meter.wait()

    def all(self):
        """The begin and the end of each beat in which time was lost, and the share that was lost."""
        lines = (line.split() for line in self.file.read_text().splitlines())
        return [(int(line[0]), int(line[1]), float(line[2])) for line in lines if len(line) == 3]

    def between(self, begin, end):
        """How many seconds were lost between these two times."""
        return sum(max(0, min(end, until) - max(begin, since)) * share for since, until, share in self.all()) / 1e9

    def since(self, monotonic):
        """How many seconds were lost from a moment of time.monotonic() until now."""
        now = time.time_ns()
        return self.between(now - int((time.monotonic() - monotonic) * 1e9), now)

    def in_all(self):
        return sum((until - since) * share for since, until, share in self.all()) / 1e9


def lost_share():
    """The share of its time that a process waits while it wants to run. This process counts itself."""
    with open("/proc/loadavg", encoding="ascii") as file:
        wanting = int(file.read().split()[3].partition("/")[0])
    return max(0, 1 - len(os.sched_getaffinity(0)) / max(1, wanting))


def beat(file):
    """One beat: sleep, wake up, write and sync. Returns the begin, the end, and the share that was lost."""
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
