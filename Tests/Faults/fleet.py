"""A coordinator and its workers: the real binaries, with their own folders and their own port."""

import json
import os
import re
import signal
import sqlite3
import subprocess
import time

import processes
import wire
from bench import until

LISTENING = re.compile(rb"listens on 127\.0\.0\.1:(\d+) \(gRPC\)")
OPERATORS = re.compile(rb"127\.0\.0\.1:(\d+) \(operators\)")


class Fleet:
    """Processes that are started here end with `close`. Leases last `lease_seconds`. Losses alone never fail a
    request."""

    def __init__(self, bench, lease_seconds=1, environment=None, data=None):
        self.bench = bench
        self.folder = bench.new_folder("fleet")
        self.lease_seconds = lease_seconds
        self.data = data or self.folder / "coordinator"
        (self.folder / "runtime").mkdir(mode=0o700)
        self.port = 0
        # The folder of the coordinator's program.
        self.binaries = bench.binaries
        # Where operators are served and hosts join; 0 is any free port, and None is nowhere.
        self.operators = None
        # Whether the times in the store can be compared. A row that moves clocks says no.
        self.has_true_clock = True
        self.environment = {
            "PATH": os.environ["PATH"],
            # Some rows count the descriptors of the coordinator, and a crash must leave a core.
            "BATON_ALLOW_DEBUGGING": "1",
            "HOME": str(self.folder),
            "LANG": "C.UTF-8",
            "XDG_RUNTIME_DIR": str(self.folder / "runtime"),
            "XDG_STATE_HOME": str(self.folder / "state"),
            "BATON_LEASE_TERM": f"{lease_seconds}s",
            "BATON_LOSSES_QUARANTINE_AFTER": "100",
            "BATON_LOSSES_BACKOFF": "0s",
            "BATON_PROBES": "none",
            # The rows run as root. Their commands write beside the data folders of the hosts, which the sandbox forbids.
            "BATON_ALLOW_ROOT": "true",
            "BATON_SANDBOX_REQUIRE": "none",
            "BATON_TREAT_UNKNOWN_AS_IDLE": "idle",
            # A backtrace takes seconds, and the port and the store stay in use until it is written.
            "SWIFT_BACKTRACE": "enable=no",
        } | self.planted(environment or {})
        self.is_over = False
        self.coordinator = None
        self.hosts = {}
        # The words before each command, which run it in another place, such as a network namespace.
        self.prefix = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.is_over = True
        self.close()

    def planted(self, environment):
        """The environment with the library of the planted bug, if there is one, loaded before all other libraries."""
        if self.bench.plant is None:
            return environment
        libraries = [self.bench.plant.library(self.bench), environment.get("LD_PRELOAD")]
        preload = ":".join(filter(None, libraries))
        return environment | {"LD_PRELOAD": preload, "FAULT_PLANT": self.bench.plant.name}

    def close(self):
        for name in list(self.hosts):
            self.kill_host(name)
        self.kill_coordinator()

    # ---- The coordinator

    @property
    def log(self):
        return self.folder / "coordinator.log"

    @property
    def socket(self):
        """The coordinator's Unix socket."""
        return self.folder / "runtime" / "baton" / f"{self.port}.sock"

    @property
    def database(self):
        return self.data / "baton.sqlite"

    def spawn_coordinator(self, environment=None, http="off"):
        """Starts the coordinator without waiting for it. Returns the offset in its log at which its output begins."""
        command = [*self.prefix, self.binaries / "baton", "coordinator", "--data", self.data]
        command += ["--listen", f"127.0.0.1:{self.port}", "--http", http]
        if self.operators is not None:
            command += ["--operators", f"127.0.0.1:{self.operators}"]
        with open(self.log, "ab") as log:
            start = log.tell()
            self.coordinator = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                env=self.environment | self.planted(environment or {}))
        return start

    def start_coordinator(self, environment=None, http="off", seconds=60):
        """Starts the coordinator, on a free port the first time and on the same port later. Returns False if it ends
        instead."""
        start = self.spawn_coordinator(environment, http)
        found = until(seconds, lambda: self.listening(start) or not self.runs, every=0.005)
        if not self.runs or not found:
            return False
        self.port = int(self.listening(start)[1])
        if self.operators is not None:
            self.operators = int(OPERATORS.search(self.said(start))[1])
        self.environment["BATON_COORDINATOR"] = f"127.0.0.1:{self.port}"
        return True

    def listening(self, start):
        return LISTENING.search(self.said(start))

    def said(self, start=0):
        """The output of the coordinator in its log since this offset."""
        with open(self.log, "rb") as log:
            log.seek(start)
            return log.read()

    @property
    def runs(self):
        return self.coordinator is not None and self.coordinator.poll() is None

    def kill_coordinator(self):
        if self.runs:
            self.coordinator.kill()
            self.coordinator.wait()

    def stop_coordinator(self, seconds=10):
        """Sends SIGTERM. Returns the exit status, or None if the coordinator had to be killed."""
        if not self.runs:
            return self.coordinator.returncode
        self.coordinator.terminate()
        try:
            return self.coordinator.wait(seconds)
        except subprocess.TimeoutExpired:
            self.kill_coordinator()
            return None

    # ---- Hosts

    def start_host(self, name, slots=2, environment=None, coordinator=None):
        """Starts a supervisor, which starts the worker proper."""
        command = [*self.prefix, self.bench.binaries / "baton-worker", "--name", name, "--data", self.folder / f"host-{name}"]
        command += ["--slots", str(slots), "--coordinator", coordinator or f"127.0.0.1:{self.port}"]
        with open(self.folder / f"{name}.log", "ab") as log:
            self.hosts[name] = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                env=self.environment | self.planted(environment or {}))

    def join(self, name):
        """Lets this host join the fleet. From then on its worker speaks TLS."""
        invited = self.json("host", "invite", name, "--address", f"127.0.0.1:{self.operators}")
        command = [*self.prefix, self.bench.binaries / "baton-worker", "join", invited["address"], "--pin", invited["pin"]]
        command += ["--token", invited["token"], "--data", self.folder / f"host-{name}"]
        subprocess.run(command, env=self.environment, check=True, timeout=60, capture_output=True)

    def worker_of(self, name):
        """The process id of the worker proper, or None while its supervisor has none."""
        return self.child_of(name, "worker")

    def transfers_of(self, name):
        """The process id of the host's transfers, or None while its supervisor has none."""
        return self.child_of(name, "transfers")

    def child_of(self, name, role):
        program = os.path.realpath(self.bench.binaries / "baton-worker")
        for child in processes.children().get(self.hosts[name].pid, []):
            if processes.executable_of(child) == program and processes.has_variable(child, "BATON_SUPERVISED_ROLE", role):
                return child
        return None

    def kill_host(self, name):
        """Kills supervisor, worker and commands at once, as if the host had lost its power."""
        supervisor = self.hosts.pop(name, None)
        if supervisor is not None:
            processes.kill_tree(supervisor.pid)
            supervisor.wait()

    def kill_worker(self, name):
        """Kills the worker proper only. Returns False if there was none."""
        worker = self.worker_of(name)
        if worker is not None:
            os.kill(worker, signal.SIGKILL)
        return worker is not None

    def wait_for_hosts(self, count, seconds=60):
        return until(seconds, lambda: len(self.ready_hosts()) >= count)

    def ready_hosts(self):
        try:
            return [host["name"] for host in self.json("hosts") if host["state"] == "ready"]
        except (subprocess.SubprocessError, ValueError):
            return []

    # ---- The operator's side

    def baton(self, *arguments, seconds=30, check=True):
        """Runs the command to its end. With `check`, an exit status other than 0 raises CalledProcessError."""
        return subprocess.run(
            [*self.prefix, self.bench.binaries / "baton", *map(str, arguments)], env=self.environment, timeout=seconds, check=check,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=self.folder)  # fmt: skip

    def json(self, *arguments):
        return json.loads(self.baton(*arguments, "-o", "json").stdout)

    def show(self, identifier):
        return self.json("show", identifier)

    def client(self, timeout=10):
        return Client(self.socket, (self.data / "token").read_text().strip(), timeout)

    # ---- The store

    def rows(self, sql, *values):
        """Reads the database as it is. If the coordinator is stopped, this is its complete state."""
        connection = sqlite3.connect(f"file:{self.database}?mode=ro", uri=True, timeout=10)
        try:
            return connection.execute(sql, values).fetchall()
        finally:
            connection.close()


class Client:
    """An operator on its own connection."""

    def __init__(self, path, token, timeout):
        self.connection = wire.Connection(path, token, timeout)

    def close(self):
        self.connection.close()

    def submit(self, items):
        """Submits `items`, which are pairs of submission id and identifier. Returns for each the request's id and its
        number within the identifier, or None and the reason of the refusal. After any error other than CallFailed, the
        submissions may or may not be in the store."""
        return self.submitted(self.begin_submit(items))

    def begin_submit(self, items):
        body = b"".join(wire.field(1, wire.field(1, key) + wire.field(2, name)) for key, name in items)
        return self.connection.begin("/baton.v1.Operators/Submit", body + wire.field(2, "faults"))

    def submitted(self, call):
        reply = self.connection.finish(call)
        return [answer_of(value) for number, value in wire.fields(reply) if number == 1]

    def show(self, identifier):
        """The state of the request, and for each launch its number, host and outcome ('' while the launch is open)."""
        reply = self.connection.call("/baton.v1.Operators/Show", wire.field(1, identifier))
        request = wire.first(reply, 1)
        launches = [
            (wire.first(value, 1, 0), wire.first(value, 2, b"").decode(), wire.first(value, 5, b"").decode())
            for number, value in wire.fields(reply)
            if number == 2
        ]
        return wire.first(request, 8, b"").decode(), launches

    def hosts(self):
        return self.connection.call("/baton.v1.Operators/Hosts", b"")


def answer_of(answer):
    accepted = wire.first(answer, 1)
    if accepted is None:
        refused = wire.first(answer, 2, b"")
        return None, wire.first(refused, 1, b"").decode()
    return wire.first(accepted, 1, 0), wire.first(accepted, 3, 0)


def started(fleet, hosts=(), slots=2, **options):
    """Starts the coordinator and these hosts, waits until the hosts are ready, and returns the fleet. Raises
    RuntimeError if that fails."""
    if not fleet.start_coordinator(**options):
        raise RuntimeError(f"the coordinator does not start: {fleet.said()[-500:]!r}")
    if fleet.bench.plant:
        fleet.bench.plant.put_into(fleet.database)
    for name in hosts:
        fleet.start_host(name, slots)
    if not fleet.wait_for_hosts(len(hosts)):
        raise RuntimeError("the hosts do not come up")
    return fleet


def wall_clock():
    """The time in nanoseconds since 1970, as in the store."""
    return time.time_ns()
