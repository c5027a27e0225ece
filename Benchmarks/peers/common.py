"""What the programs of the peers share. Benchmarks/peers/run starts them; it also ends what they leave running.

A program measures one system in one setting, and prints a line of JSON for each figure (see `Row`). With --small it
does with less work. It installs what it needs: Debian's packages with Scripts/setup, Python's packages in a virtual
environment in .build/peers. Only Python's standard library is needed here.
"""
import atexit
import json
import os
import pathlib
import re
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
# What becomes of a job when its worker dies. The picture shows the systems in these groups.
GOES_ON, RUNS_AGAIN, LOST = "goes on", "runs again", "lost"
NO_OPS, COMMANDS, START = "no-op jobs", "commands", "submit to start"
UNITS = {NO_OPS: "jobs/s", COMMANDS: "jobs/s", START: "ms"}

started = []


def count(full, small):
    """The number of jobs: `small` with --small."""
    return small if "--small" in sys.argv else full


class Row:
    """A system in one setting: a row of the table.

    durability: what is on disk when a submission, a claim or an end of a job is confirmed.
    death: what becomes of a job when its worker dies; fate: the same as GOES_ON, RUNS_AGAIN or LOST.
    """

    def __init__(self, system, version, durability, death, fate):
        self.facts = {
            "system": system, "version": version, "durability": durability, "death": death, "fate": fate}

    def figure(self, name, value):
        """Prints a figure. The unit is in UNITS: jobs per second, or milliseconds for START. None: the system has no
        such work."""
        measured = {
            "figure": name, "value": value and round(value, 3), "unit": UNITS[name],
            "load": round(os.getloadavg()[0], 2), "isSmall": "--small" in sys.argv,
            "at": time.strftime("%Y-%m-%dT%H:%M:%S")}
        print(json.dumps(self.facts | measured), flush=True)

    def no_ops(self, jobs, seconds, rate):
        """NO_OPS, end to end: the jobs, over the seconds of submitting them and the time that `rate`, in jobs per
        second, needs to run them."""
        self.figure(NO_OPS, jobs / (seconds + jobs / rate))


# ---- Set-up

def make(what, *command):
    """Runs a command. Ends this program if the command fails, and says then that `what` is missing."""
    if subprocess.run(command, stdin=subprocess.DEVNULL, stdout=sys.stderr).returncode != 0:
        sys.exit(f"cannot install {what}")


def setup(*words):
    """Installs Debian's packages: Scripts/setup with these words. Ends this program if they cannot be installed."""
    make(" ".join(words), ROOT / "Scripts/setup", *words)


def inside(name, *packages):
    """Continues in the virtual environment .build/peers/NAME, which has these packages of Python: this program is
    executed again there."""
    folder = ROOT / ".build/peers" / name
    # Names the installed packages. It is written last, so a folder without it is not complete.
    stamp = folder / "packages"
    if not stamp.exists() or stamp.read_text() != "\n".join(packages):
        make("a virtual environment", sys.executable, "-m", "venv", "--clear", folder)
        make(" ".join(packages), folder / "bin/python", "-m", "pip", "install", "--quiet",
             "--disable-pip-version-check", "--no-input", *packages)
        stamp.write_text("\n".join(packages))
    if pathlib.Path(sys.prefix).resolve() != folder.resolve():
        os.execv(folder / "bin/python", [folder / "bin/python", *sys.argv])


def beside_postgres():
    """Continues beside a PostgreSQL server of its own, which syncs each commit: this program is executed again there.
    Returns the URI of the server's database."""
    if "BATON_TEST_POSTGRES" not in os.environ:
        setup("postgres")
        command = [ROOT / "Scripts/with-postgres", "--fsync", sys.executable, *sys.argv]
        os.execv(command[0], command)
    return os.environ["BATON_TEST_POSTGRES"]


def debian_version(package):
    """The version of an installed package, without what Debian adds to it."""
    found = subprocess.run(["dpkg-query", "-W", "-f=${Version}", package], capture_output=True, text=True).stdout
    return re.sub(r"^\d+:|[-+~].*", "", found.strip())


def folder(name):
    """A new temporary folder."""
    return tempfile.mkdtemp(prefix=f"{name}-")


# ---- Processes

def start(command, log=None, **settings):
    """Starts a process, which ends with this program. It writes to the file `log`, or nowhere."""
    output = open(log, "ab") if log else subprocess.DEVNULL
    process = subprocess.Popen(
        [str(word) for word in command], stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, **settings)
    started.append(process)
    return process


def stop(process, number=signal.SIGTERM):
    """Ends a process with the signal, or after 10 seconds with SIGKILL."""
    if process.poll() is None:
        process.send_signal(number)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    started.remove(process)


@atexit.register
def stop_all():
    for process in reversed(list(started)):
        stop(process)


# Otherwise the functions of atexit do not run.
signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))


def this_program(*words):
    """The command that runs this program in another role."""
    return [sys.executable, pathlib.Path(sys.argv[0]).resolve(), *words]


def free_port():
    """A port of 127.0.0.1 on which nothing listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def until_listening(port):
    def answers():
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            return False
        return True
    until(answers, 60, interval=0.05)


def redis(sync):
    """Starts Redis with an append-only file and this `appendfsync`. Returns its port and its version."""
    setup("redis")
    port, data = free_port(), folder("redis")
    start(["redis-server", "--bind", "127.0.0.1", "--port", port, "--dir", data, "--save", "", "--appendonly", "yes",
           "--appendfsync", sync])
    until_listening(port)
    return port, debian_version("redis-server")


REDIS_DURABILITY = {
    "always": "Redis, appendfsync=always, each write",
    "everysec": "Redis, appendfsync=everysec, each second"}


# ---- Measuring

def until(condition, seconds=300, interval=0.005):
    """Waits until the condition is true, which it asks for each `interval` seconds. Raises TimeoutError after so many
    seconds."""
    deadline = time.perf_counter() + seconds
    while not condition():
        if time.perf_counter() > deadline:
            raise TimeoutError(f"the work did not end within {seconds} s")
        time.sleep(interval)


def seconds(work):
    """How long the call takes."""
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def drain(left, jobs):
    """The rate in jobs per second at which workers that have just been started do the jobs. The time until they have
    done the first ones does not count. `left` returns how many jobs are left."""
    until(lambda: left() < jobs, 60, interval=0.001)
    rest, begun = left(), time.perf_counter()
    if rest < jobs / 4:
        raise ValueError(f"{jobs} jobs are too few for a measurement: {rest} are left after the first look")
    until(lambda: left() == 0)
    return rest / (time.perf_counter() - begun)


def median_start(jobs, submit, wait, pause=0.003):
    """The median time in milliseconds from the beginning of a submission until the job runs, of so many jobs one after
    the other. `wait` returns the time at which the job ran."""
    times = []
    for _ in range(jobs):
        begun = time.perf_counter()
        submit()
        times.append(wait() - begun)
        # The worker ends the job before the next one is submitted.
        time.sleep(pause)
    return statistics.median(times) * 1000


class Stamps:
    """A UDP socket on loopback. A job sends a datagram to its port when it runs."""

    def __init__(self):
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 0))
        self.socket.settimeout(60)
        self.port = self.socket.getsockname()[1]

    def wait(self):
        self.socket.recv(16)
        return time.perf_counter()


sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)


def send_stamp(port):
    """What a job does when it runs: it sends a datagram to `Stamps`."""
    sender.sendto(b"x", ("127.0.0.1", port))


class Fifo:
    """A named pipe. A command opens it when it runs."""

    def __init__(self):
        self.path = f"{folder('fifo')}/fifo"
        os.mkfifo(self.path)
        self.shell = f": > {self.path}"

    def wait(self):
        # It returns when the command opens the other end.
        pipe = os.open(self.path, os.O_RDONLY)
        now = time.perf_counter()
        os.close(pipe)
        return now
