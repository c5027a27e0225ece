"""A coordinator, its workers and the processes of `baton console`: the real programs, in a folder of their own."""

import http.client
import json
import os
import pty
import re
import shutil
import signal
import socket
import ssl
import subprocess
import tempfile
import threading
import time
from pathlib import Path

from checks import until


# The names of consoles by their ports: each process draws one.
HOSTS = {}
# The coordinator's certificate is of its own fleet.
UNVERIFIED = ssl._create_unverified_context()


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Fleet:
    """Processes that are started here end with `close`."""

    def __init__(self, binaries):
        self.binaries, self.folder = Path(binaries), Path(tempfile.mkdtemp(prefix="baton-console-"))
        (self.folder / "run").mkdir(mode=0o700)
        self.port, self.https, self.silent = free_port(), free_port(), free_port()
        self.coordinator, self.workers, self.consoles, self.token = None, {}, [], None
        kept = {key: value for key, value in os.environ.items() if not key.startswith("BATON_")}
        self.environment = kept | {
            "XDG_RUNTIME_DIR": f"{self.folder}/run", "XDG_STATE_HOME": f"{self.folder}/state",
            "HOME": str(self.folder), "LANG": "C.UTF-8", "BATON_COORDINATOR": f"127.0.0.1:{self.port}",
            # The checks run as root in CI, and on machines without a battery or a person.
            "BATON_PROBES": "none", "BATON_ALLOW_ROOT": "true", "BATON_SANDBOX_REQUIRE": "none",
            "BATON_TREAT_UNKNOWN_AS_IDLE": "idle", "BATON_LEASE_TERM": "3s", "BATON_LOSSES_BACKOFF": "100ms",
            "BATON_RATES_CHANGES": "1000000", "BATON_RATES_SUBMISSIONS": "1000000", "BATON_RATES_FAILURES": "1000000",
            "SWIFT_BACKTRACE": "enable=no",
        }

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        for console in self.consoles:
            console.close()
        for name in list(self.workers):
            self.kill_worker(name)
        if self.coordinator:
            end(self.coordinator)
        shutil.rmtree(self.folder, ignore_errors=True)

    # ---- Commands

    def run(self, *words, check=True, input=None):
        done = subprocess.run(
            [self.binaries / "baton", *map(str, words)], capture_output=True, text=True, env=self.environment,
            cwd=self.folder, input=input, timeout=60)
        if check and done.returncode != 0:
            raise RuntimeError(f"baton {' '.join(map(str, words))}: {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout

    def json(self, *words, check=True):
        return json.loads(self.run(*words, "-o", "json", check=check) or "null")

    def state(self, identifier):
        return self.json("show", identifier)["state"]

    def call(self, method, path, body=None):
        """Calls the HTTP API as an administrator."""
        if not self.token:
            self.token = self.run("credential", "create", "check-console", "--scope", "admin").strip()
        connection = http.client.HTTPSConnection("127.0.0.1", self.https, context=UNVERIFIED, timeout=30)
        connection.request(method, path, json.dumps(body), {
            "Authorization": f"Bearer {self.token}", "Content-Type": "application/json"})
        answer = connection.getresponse()
        text = answer.read()
        connection.close()
        if answer.status >= 300:
            raise RuntimeError(f"{method} {path}: {answer.status} {text}")
        return json.loads(text)

    # ---- Daemons

    def start_coordinator(self):
        """Starts it on the same ports and data as before."""
        log = self.folder / "coordinator.log"
        begin = log.stat().st_size if log.exists() else 0
        settings = self.folder / "coordinator.yaml"
        with open(log, "ab") as file:
            self.coordinator = subprocess.Popen(
                [self.binaries / "baton", "coordinator", "--data", self.folder / "coordinator", "--listen",
                 f"127.0.0.1:{self.port}", "--http", "off", *(["--config", settings] if settings.exists() else [])],
                env=self.environment | {"BATON_HTTPS": f"127.0.0.1:{self.https}"}, stdin=subprocess.DEVNULL,
                stdout=file, stderr=file)
        if not until(30, lambda: b"listens on" in log.read_bytes()[begin:]):
            raise RuntimeError(f"the coordinator does not start:\n{log.read_text()[-4000:]}")

    def restart_coordinator(self):
        end(self.coordinator)
        self.start_coordinator()

    def kill_coordinator(self):
        self.coordinator.kill()
        self.coordinator.wait()

    def start_worker(self, name, slots=2, labels=None):
        settings = self.folder / f"{name}.yaml"
        lines = "".join(f"  {key}: {json.dumps(value)}\n" for key, value in (labels or {}).items())
        settings.write_text(f"labels:\n{lines}" if labels else "{}\n")
        with open(self.folder / f"{name}.log", "ab") as file:
            self.workers[name] = subprocess.Popen(
                [self.binaries / "baton-worker", "--config", settings, "--name", name, "--data", self.folder / name,
                 "--slots", str(slots)],
                env=self.environment, stdin=subprocess.DEVNULL, stdout=file, stderr=file, start_new_session=True)

    def kill_worker(self, name):
        """Kills the supervisor, the worker and its commands, as if the host had lost its power."""
        process = self.workers.pop(name)
        for _ in range(2):
            for pid in tree_of(process.pid):
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
        process.wait()

    def until_ready(self, count):
        def ready():
            return sum(host["state"] == "ready" for host in self.json("hosts")) >= count

        if not until(30, ready, 0.3):
            logs = "".join(path.read_text()[-1500:] for path in self.folder.glob("*.log"))
            raise RuntimeError(f"the workers do not connect:\n{logs}")

    def console(self, *options):
        console = ConsoleProcess(self, options)
        self.consoles.append(console)
        return console


class ConsoleProcess:
    """A process of `baton console --print` on a free port, with a terminal as its standard input."""

    def __init__(self, fleet, options):
        self.keyboard, terminal = pty.openpty()
        self.log = fleet.folder / f"console-{len(fleet.consoles)}.log"
        with open(self.log, "wb") as file:
            self.process = subprocess.Popen(
                [fleet.binaries / "baton", "console", "--print", "--http", "127.0.0.1:0", *options],
                env=fleet.environment, stdin=terminal, stdout=subprocess.PIPE, stderr=file, text=True)
        os.close(terminal)
        self.lines = []
        threading.Thread(target=self.read, daemon=True).start()
        self.address, self.is_used = self.next_address(), False
        self.begun = time.monotonic()
        self.port = int(re.search(r":(\d+)/", self.address)[1])
        self.origin = self.address.partition("/login")[0]
        self.host = self.origin.partition("//")[2]
        HOSTS[self.port] = self.host

    def read(self):
        for line in self.process.stdout:
            self.lines.append(line.strip())

    def next_address(self):
        """The next line that it prints: an address with a code."""
        if not until(20, lambda: self.lines, 0.05):
            raise RuntimeError(f"baton console prints no address:\n{self.log.read_text()}")
        line = self.lines.pop(0)
        if not re.fullmatch(r"http://baton-[0-9a-f]{16}\.localhost:\d+/login#\S+", line):
            raise RuntimeError(f"baton console printed '{line}', and not the address of a sign-in")
        return line

    def fresh_address(self):
        """Presses Enter."""
        os.write(self.keyboard, b"\n")
        return self.next_address()

    @property
    def code(self):
        return self.address.partition("#")[2]

    def close(self):
        if self.process.poll() is None:
            end(self.process)
        try:
            os.close(self.keyboard)
        except OSError:
            pass


def end(process):
    process.terminate()
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def tree_of(pid):
    """The process and all its descendants."""
    below = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(stat.read_text().rpartition(") ")[2].split()[1])
        except (OSError, IndexError):
            continue
        below.setdefault(parent, []).append(int(stat.parent.name))
    found = [pid]
    for member in found:
        found.extend(below.get(member, []))
    return found
