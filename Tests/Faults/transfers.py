"""Transfers while everything around them is killed and their server breaks connections (contract, rows 37 to 40). The
files that arrive must be those of the server, whole from the first moment on; what has arrived is not fetched again;
and every end is told to a launch."""

import contextlib
import hashlib
import json
import os
import signal
import threading
import time

import jobs
import processes
from bench import until
from fetch_jobs import SCRIPT, FetchJob
from file_server import HONEST, FileServer
from fleet import Fleet, started

HOSTS = ["anna", "ben", "cora", "dora"]
KINDS = ["transfers", "worker", "command", "coordinator", "transfers", "supervisor", "coordinator+transfers", "host"]
LANDS_WITHIN_SECONDS = 30
JOBS_AT_ONCE = 8
# A supervisor waits for 1 s before it starts a dead child again, then for 2 s and so on. It is replaced before that.
MOST_DEATHS = 2


class Run:
    """One run of the row: its fleet, its server, its jobs, and what was seen of its files."""

    def __init__(self, bench, fleet):
        self.bench = bench
        self.fleet = fleet
        self.hosts = HOSTS
        self.logs = fleet.folder / "logs"
        self.outside = fleet.folder / "outside"
        self.logs.mkdir()
        self.outside.mkdir()
        self.script = fleet.folder / "note-transfers"
        self.script.write_text(SCRIPT)
        self.script.chmod(0o755)
        self.jobs = []
        # Counts the processes of each host's transfers, and the deaths that each supervisor has seen. A process whose
        # supervisor was killed lives on for a moment, maybe beside the next one.
        self.process = dict.fromkeys(HOSTS, 0)
        self.orphans = {}
        self.deaths = dict.fromkeys(HOSTS, 0)
        self.records = {}
        self.server = FileServer(bench.seed, self.watch)
        self.seen = set()
        self.looking = threading.Thread(target=self.look_at_names, daemon=True)
        self.looking.start()

    @contextlib.contextmanager
    def another_process(self, host):
        """The process of the transfers is killed meanwhile. Who asks now is neither the last process nor the next."""
        self.process[host] += 1
        yield
        self.process[host] += 1

    def place(self, host):
        """Names the process of the transfers that asks now."""
        is_orphan = processes.is_alive(self.orphans.get(host, 0))
        return host, self.process[host], time.monotonic() if is_orphan else 0

    def report(self):
        """Reports what the threads have found, and hosts that have ended by themselves."""
        while self.server.problems:
            self.bench.violation(self.server.problems.pop(0))
        for host, supervisor in list(self.fleet.hosts.items()):
            if supervisor.poll() is not None:
                said = (self.fleet.folder / f"{host}.log").read_bytes()[-300:]
                self.bench.violation(f"the supervisor of {host} ended with {supervisor.returncode}: {said!r}")
                self.start_host(host)

    # ---- What the server and the folders show

    def watch(self, file, start):
        """Called at each question to the server. What the journal of the transfers says at this moment is synced."""
        path, record = self.record_of(file)
        if record is None:
            return None
        if "end" in record:
            self.server.problems.append(f"{file.name} was asked for after its end")
        synced = record["offset"] if record.get("validator") else 0
        if file.manner in HONEST and (start or 0) != synced:
            self.server.problems.append(
                f"{file.name}: {synced} bytes are in the journal, and it was fetched from {start or 'the beginning'}")
        return self.place(path.parent.parent.parent.name.removeprefix("host-"))

    def record_of(self, file):
        """The journal's record of a transfer, and its path."""
        known = self.records.get(file.name)
        for path in [known] if known else self.fleet.folder.glob("host-*/transfers/records/*.json"):
            with contextlib.suppress(OSError, ValueError):
                record = json.loads(path.read_text())
                if record["assignment"]["transfer"]["url"] == self.server.url(file.name):
                    self.records[file.name] = path
                    return path, record
        return None, None

    def look_at_names(self):
        while not self.server.is_over:
            with contextlib.suppress(OSError):
                self.look_once()
            time.sleep(0.03)

    def look_once(self):
        """Reads each file that has a new final name. It must be whole."""
        paths = [*self.fleet.folder.glob("host-*/transfers/files/*/*"), *self.outside.iterdir()]
        for path in paths:
            file = self.server.files.get(path.name)
            with contextlib.suppress(FileNotFoundError):
                inode = path.stat().st_ino
                if file is None or (inode, path) in self.seen:
                    continue
                digest = hashlib.sha256(path.read_bytes()).hexdigest()
                self.seen.add((inode, path))
                if not file.knows(digest):
                    self.server.problems.append(f"{file.name} has its final name, and is not what the server holds")

    # ---- Jobs

    def refill(self):
        unfinished = self.fleet.rows(
            "SELECT count(*) FROM request r JOIN identifier i ON i.id = r.identifier"
            " WHERE r.state < 3 AND i.name LIKE 'com.example.faults.%'")[0][0]  # fmt: skip
        # Several at once, because each submission is a command.
        if unfinished > JOBS_AT_ONCE - 3:
            return
        new = [FetchJob(self, len(self.jobs) + index) for index in range(JOBS_AT_ONCE - unfinished)]
        file = self.fleet.folder / "jobs.yaml"
        file.write_text("".join(job.yaml(self.script) for job in new))
        self.fleet.baton("submit", "-f", file)
        self.jobs += new

    def wait_for(self, what, find):
        """Waits for something that can be killed, and returns it."""
        deadline = time.monotonic() + LANDS_WITHIN_SECONDS
        while not (found := find()):
            if time.monotonic() > deadline:
                raise RuntimeError(f"there is no {what} any more, jobs are stuck: {self.state()}")
            self.report()
            self.refill()
            time.sleep(0.01)
        return found

    def state(self):
        unfinished = self.fleet.rows(
            "SELECT i.name, r.state, r.launches FROM request r JOIN identifier i ON i.id = r.identifier"
            " WHERE r.state < 3 AND i.name LIKE 'com.example.faults.%'")  # fmt: skip
        listed = self.fleet.baton("transfers", check=False).stdout.decode()[-3000:]
        return f"unfinished {unfinished}, ready hosts {self.fleet.ready_hosts()}, transfers {listed}"

    def busy_hosts(self):
        return [host for host in HOSTS if self.server.flows_to(self.place(host)) > 0]

    # ---- Faults

    def strike(self, kind):
        bench, fleet = self.bench, self.fleet
        if kind == "command":
            self.wait_for("command", self.kill_command)
            bench.land(kind)
            return
        busy = self.wait_for("flowing transfer", self.busy_hosts)
        replaces = kind in ("supervisor", "host")
        host = sorted(busy, key=lambda name: (self.deaths[name] * (-1 if replaces else 1), bench.random.random()))[0]
        if not replaces and "coordinator" != kind and self.deaths[host] >= MOST_DEATHS:
            kind = "host"
        time.sleep(bench.random.uniform(0, 0.1))
        bench.note(f"{kind} {host}")
        bench.land(kind)
        match kind:
            case "transfers":
                self.kill_transfers(host)
            case "worker":
                self.kill_worker(host)
            case "supervisor":
                self.kill_supervisor(host)
            case "host":
                with self.another_process(host):
                    fleet.kill_host(host)
                self.start_host(host)
            case "coordinator" | "coordinator+transfers":
                fleet.kill_coordinator()
                if kind != "coordinator":
                    self.kill_transfers(host)
                time.sleep(bench.random.uniform(0, 0.3))
                if not fleet.start_coordinator():
                    raise RuntimeError(f"after '{kind}' the coordinator does not start: {fleet.said()[-500:]!r}")

    def kill_command(self):
        """Kills the command of a launch. Returns False if there is none."""
        pids = [pid for children in processes.children().values() for pid in children]
        commands = sorted(pid for pid in pids if str(self.script) in processes.words_of(pid)[:2])
        if not commands:
            return False
        time.sleep(self.bench.random.uniform(0, 0.1))
        try:
            os.kill(self.bench.random.choice(commands), signal.SIGKILL)
        except ProcessLookupError:
            return False
        return True

    def kill_transfers(self, host):
        transfers = self.fleet.transfers_of(host)
        self.deaths[host] += 1
        with self.another_process(host):
            if transfers is not None:
                os.kill(transfers, signal.SIGKILL)

    def kill_worker(self, host):
        """The transfers must not notice that the worker dies."""
        transfers = self.fleet.transfers_of(host)
        self.deaths[host] += 1
        self.fleet.kill_worker(host)
        time.sleep(self.bench.random.uniform(0.05, 0.2))
        alive = transfers is None or self.fleet.transfers_of(host) == transfers
        self.bench.expect(alive, f"the transfers of {host} died with its worker")

    def kill_supervisor(self, host):
        """What it leaves has to end by itself. The next supervisor comes when the worker has ended, which has the data
        folder; the transfers may still be there."""
        worker = self.fleet.worker_of(host)
        self.orphans[host] = self.fleet.transfers_of(host) or 0
        with self.another_process(host):
            supervisor = self.fleet.hosts.pop(host)
            supervisor.kill()
            supervisor.wait()
        self.bench.expect(
            worker is None or until(20, lambda: not processes.is_alive(worker), every=0.005),
            f"the worker of {host} lives for 20 s after its supervisor was killed")
        self.start_host(host)

    def start_host(self, host):
        self.deaths[host] = 0
        self.fleet.start_host(host, slots=3, environment={"BATON_LABELS": f"seat={host}"})

    # ---- The end

    def check(self):
        bench, fleet = self.bench, self.fleet
        bench.note("the end begins")
        self.report()
        if not jobs.wait_until_done(fleet, seconds=180):
            bench.violation(f"jobs are stuck: {self.state()}")
        self.report()
        for job in self.jobs:
            for problem in job.problems():
                bench.violation(problem)
        failed = fleet.rows(
            "SELECT i.name, r.state, r.reason FROM request r JOIN identifier i ON i.id = r.identifier"
            " WHERE r.state <> 3")  # fmt: skip
        bench.expect(not failed, f"requests have not succeeded: {failed[:3]}")
        bench.note("all requests have ended")
        until(60, lambda: not self.leftovers(), every=0.1)
        left = self.leftovers()
        bench.expect(not left, f"{len(left)} files of requests that have ended are still there: {left[:3]}")
        jobs.check_store(bench, fleet)
        ranges = [start for file in self.server.files.values() for start in file.asked if start]
        bench.expect(ranges, "no range was asked for: nothing was shown")
        bench.figure("transfers", sum(len(job.wishes) for job in self.jobs))
        bench.figure("ranges that were asked for", len(ranges))
        for what, count in sorted(self.server.counts.items()):
            bench.figure(f"answers: {what}", count)

    def leftovers(self):
        folders = [f"host-*/transfers/{name}/*" for name in ("parts", "files", "records")]
        paths = [path for folder in folders for path in self.fleet.folder.glob(folder)]
        return [str(path) for path in [*paths, *self.outside.glob(".baton-*")]]


def run(bench):
    """Kills the process of the transfers, the worker, its command, the supervisor, whole hosts and the coordinator
    while files arrive, from a server that breaks connections, changes files, and lies about them."""
    with Fleet(bench) as fleet:
        fleet.environment |= {
            "BATON_TRANSFERS_AT_ONCE": "32", "BATON_TRANSFERS_MIN_FREE": "0",
            "BATON_TRANSFERS_FOLDERS": f"{fleet.folder}/outside/*",
        }  # fmt: skip
        row = Run(bench, fleet)
        try:
            started(fleet)
            for host in HOSTS:
                row.start_host(host)
            if not fleet.wait_for_hosts(len(HOSTS)):
                raise RuntimeError("the hosts do not come up")
            for number in bench.each_round():
                row.refill()
                row.strike(KINDS[number % len(KINDS)])
                row.report()
                time.sleep(bench.random.uniform(0, 0.3))
            row.check()
        finally:
            row.server.close()
