"""The power fails. What was acknowledged must be on the disk afterwards (promise P1, fault model W)."""

import contextlib
import fcntl
import os
import shutil
import signal
import sqlite3
import struct
import subprocess
import time

import jobs
import processes
from bench import Skipped, until
from fleet import Fleet, started
from submitter import Submitter

# _IOR('X', 125, uint32_t), and the flag that leaves out even the journal (linux/fs/ext4).
EXT4_IOC_SHUTDOWN = 0x8004587D
GOING_DOWN_WITHOUT_LOG = 2
MEBIBYTES = 256


def run(bench):
    """A coordinator has its data on ext4 on a loop device, which is cut off while the coordinator runs. Before that, a
    control must lose rows, to prove that the cut really loses data."""
    with loop_device(bench) as device:
        bench.figure("rows that the control lost", control(bench, device))
        with Fleet(bench, data=device.mount_point / "coordinator") as fleet:
            device.mount()
            started(fleet, ["anna"])
            client = Submitter(fleet, batch=4)
            client.start()
            job = jobs.new_job(fleet, "powered", batches=40 * bench.rounds, pause=0)
            jobs.submit(fleet, [job])
            for _ in bench.each_round():
                client.rest(bench)
                time.sleep(bench.random.uniform(0, 0.15))
                cut(bench, fleet, device, client)
                if bench.violations:
                    # A store that went backwards pauses the fleet until a person has looked, so the row cannot go on.
                    return client.stop()
            finish(bench, fleet, client, job)


def cut(bench, fleet, device, client):
    """Coordinator and disk lose their power at the same instant. If the coordinator went on, it would get wrong
    answers: on a file system that was shut down during fdatasync, Linux reports success although nothing is kept. (This
    was seen with SQLite alone: in 300 cuts under a writer with synchronous=FULL, 33 commits were answered after the cut
    and lost, and none before.) The coordinator is therefore stopped first, so that no thread of it can hear of writes
    that were in progress in the kernel."""
    before = len(client.promised)
    fleet.coordinator.send_signal(signal.SIGSTOP)
    # On a busy machine the thread that takes the signal may have to wait for a processor, and other threads run until
    # then.
    until(5, lambda: is_stopped(fleet.coordinator.pid), every=0)
    device.cut()
    fleet.kill_coordinator()
    device.mount()
    bench.land("cut")
    # Read from outside, before anything is written again: nothing that was promised may be missing.
    try:
        present = {key for (key,) in fleet.rows("SELECT key FROM submission")}
    except sqlite3.Error as error:
        present = set()
        bench.violation(f"nothing can be read of the store: {error}")
    lost = [key for key in list(client.promised) if key not in present]
    bench.expect(not lost, f"{len(lost)} of {len(client.promised)} acknowledged submissions are lost")
    bench.note(f"{before} were acknowledged")
    if not fleet.start_coordinator():
        raise RuntimeError(f"after a power cut it does not start: {fleet.said()[-500:]!r}")


def is_stopped(pid):
    """Whether no thread of the process can run on: each is stopped, or is in the kernel and stops when it leaves the
    kernel."""
    states = []
    for thread in os.listdir(f"/proc/{pid}/task"):
        with contextlib.suppress(OSError), open(f"/proc/{pid}/task/{thread}/stat") as file:
            states.append(file.read().rsplit(") ", 1)[1][0])
    return "T" in states and all(state in "TD" for state in states)


def finish(bench, fleet, client, job):
    client.rest(bench)
    client.stop()
    lines = len(jobs.lines_of(job))
    bench.expect(jobs.wait_for_lines(job, lines + 3), "the job does not get on")
    fleet.baton("cancel", job.identifier, check=False)
    if not jobs.wait_until_done(fleet):
        bench.violation("the job is stuck")
    fleet.stop_coordinator()
    jobs.check_store(bench, fleet)
    client.check(bench)
    check_committed(bench, fleet, job)


def check_committed(bench, fleet, job):
    """Checks the job, which was cancelled in the end. No batch whose commit was answered may have run again: at most
    one batch for each launch that ended early (some do, if the coordinator was away for longer than a lease). No batch
    may be skipped."""
    ran = [batch for _, batch, _ in jobs.lines_of(job)]
    repeated = len(ran) - len(set(ran))
    early = fleet.rows("SELECT count(*) FROM launch WHERE outcome <> 'finished'")[0][0]
    bench.figure("launches that ended early", early)
    bench.figure("batches run again", repeated)
    bench.expect(repeated <= early, f"{repeated} batches ran again, and {early} launches ended early")
    bench.expect(set(ran) == set(range(len(set(ran)))), "a batch was skipped")


def control(bench, device, commits=300):
    """A writer with synchronous=NORMAL. Returns how many of its acknowledged rows a cut lost. If it lost none, the cut
    would prove nothing."""
    device.mount()
    path = device.mount_point / "control.sqlite"
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute("CREATE TABLE control (number INTEGER)")
    for number in range(commits):
        connection.execute("INSERT INTO control VALUES (?)", [number])
    device.cut()
    with contextlib.suppress(sqlite3.Error):
        connection.close()
    device.mount()
    with contextlib.closing(sqlite3.connect(path)) as connection:
        try:
            kept = connection.execute("SELECT count(*) FROM control").fetchone()[0]
        except sqlite3.Error:
            kept = 0
    bench.expect(kept < commits, "the control lost nothing: the power cut does not cut")
    path.unlink(missing_ok=True)
    return commits - kept


class LoopDevice:
    """ext4 in a file. `cut` loses what was not synced; `mount` mounts the file system again, as after a power
    failure."""

    def __init__(self, image, mount_point):
        self.image = image
        self.mount_point = mount_point
        self.is_mounted = False
        mount_point.mkdir()
        with open(image, "wb") as file:
            file.truncate(MEBIBYTES << 20)
        command("mkfs.ext4", "-q", "-F", image)

    def mount(self):
        if self.is_mounted:
            self.unmount()
        command("mount", "-o", "loop", self.image, self.mount_point)
        self.is_mounted = True

    def unmount(self):
        until(60, lambda: subprocess.run(["umount", self.mount_point], stderr=subprocess.DEVNULL).returncode == 0)
        self.is_mounted = os.path.ismount(self.mount_point)
        if self.is_mounted:
            raise RuntimeError(f"{self.mount_point} cannot be unmounted: what holds it?")

    def cut(self):
        folder = os.open(self.mount_point, os.O_RDONLY)
        try:
            fcntl.ioctl(folder, EXT4_IOC_SHUTDOWN, struct.pack("I", GOING_DOWN_WITHOUT_LOG))
        finally:
            os.close(folder)


@contextlib.contextmanager
def loop_device(bench):
    for tool in ("mkfs.ext4", "mount", "umount"):
        if shutil.which(tool) is None:
            raise Skipped(f"there is no {tool}")
    if os.geteuid() != 0:
        raise Skipped("a loop device needs root")
    try:
        processes.leave_mounts()
    except OSError as error:
        raise Skipped(f"nothing may be mounted here: {error}") from error
    folder = bench.new_folder("power")
    device = LoopDevice(folder / "image", folder / "mounted")
    try:
        try:
            device.mount()
        except subprocess.CalledProcessError as error:
            raise Skipped(f"no loop device can be mounted: {error.stderr.decode().strip()}") from error
        yield device
    finally:
        device.unmount()


def command(*arguments):
    subprocess.run(list(map(str, arguments)), check=True, stdin=subprocess.DEVNULL, capture_output=True, timeout=60)
