"""SIGKILL of workers, hosts and the coordinator at any instant (promises P1 to P6, P10)."""

import time

import jobs
from bench import until
from fleet import Fleet, started, wall_clock
from shim import Shim
from submitter import Submitter

HOSTS = ["anna", "ben", "cora", "dora", "emil", "finn"]
BATCHES = 60
RUNS_WITHIN_SECONDS = 20


class Load:
    """Keeps a few jobs unfinished at all times, and tells on which host each of them runs. Every third job is divided
    into shards, and has two lanes."""

    def __init__(self, fleet, at_once):
        self.fleet = fleet
        self.at_once = at_once
        self.all = []

    def refill(self):
        """Submits jobs until the unfinished ones have `at_once` lanes, or one more. Raises CalledProcessError if a job
        is not accepted."""
        running = {name for name, *_ in self.running()}
        names = {name for name, in self.fleet.rows(
            "SELECT i.name FROM request r JOIN identifier i ON i.id = r.identifier WHERE r.state < 3"
            " AND i.name LIKE 'com.example.faults.%'")}  # fmt: skip
        lanes = {job.identifier: job.lanes for job in self.all}
        missing, new = self.at_once - sum(lanes.get(name, 1) for name in names | running), []
        while missing > 0:
            number = len(self.all) + len(new)
            new.append(jobs.new_job(self.fleet, f"job{number}", BATCHES, lanes=2 if number % 3 == 2 else 1))
            missing -= new[-1].lanes
        if new:
            jobs.submit(self.fleet, new)
            self.all += new

    def running(self):
        """The identifier, host, row of the request or shard, and launch number of every open launch."""
        return self.fleet.rows(
            "SELECT i.name, h.name, l.request, l.number FROM launch l JOIN request r ON r.id = l.request"
            " JOIN identifier i ON i.id = r.identifier JOIN host h ON h.id = l.host WHERE l.ended_at IS NULL")  # fmt: skip

    def wait_for_launch(self, hosts, meanwhile=None):
        """Waits until at least one of these hosts has a launch, and returns those that have one. Meanwhile it replaces
        jobs that have ended, and calls `meanwhile`, which may bring hosts back. Raises RuntimeError, with all that is
        known, if nothing runs for some time."""
        deadline = time.monotonic() + RUNS_WITHIN_SECONDS
        while True:
            wanted = hosts() if callable(hosts) else hosts
            if found := sorted({host for _, host, *_ in self.running() if host in wanted}):
                return found
            if time.monotonic() > deadline:
                raise RuntimeError(f"nothing runs any more on {wanted}, jobs are stuck: {self.state()}")
            if meanwhile:
                meanwhile()
            self.refill()
            time.sleep(0.02)

    def check(self, bench):
        """Checks all jobs, as `jobs.check` does, and that one of three or more was divided."""
        bench.figure("jobs", len(self.all))
        bench.figure("jobs that are divided", divided := sum(job.lanes > 1 for job in self.all))
        bench.expect(divided > 0 or len(self.all) < 3, "no job was divided: nothing was shown of shards")
        jobs.check(bench, self.fleet, self.all)

    def state(self):
        """The facts that help a person to find out why nothing runs."""
        unfinished = self.fleet.rows(
            "SELECT i.name, r.state, r.launches FROM request r JOIN identifier i ON i.id = r.identifier"
            " WHERE r.state < 3 AND i.name LIKE 'com.example.faults.%'")  # fmt: skip
        return f"unfinished {unfinished}, open {self.running()}, ready hosts {self.fleet.ready_hosts()}"


def workers(bench):
    """Kills either the worker proper, which its supervisor reports, or a whole host, which no process reports."""
    with Fleet(bench) as fleet:
        started(fleet, HOSTS)
        load, strikes, away = Load(fleet, at_once=5), [], {}
        # Some strikes hit a launch that has just ended by itself, so there are a few more strikes than asked for.
        for bench.round in range(1, bench.rounds + bench.rounds // 8 + 3):
            mend(fleet, away)
            load.refill()
            strikes.append(strike_host(bench, fleet, load, away, "worker" if bench.round % 2 else "host"))
            time.sleep(bench.random.uniform(0, 0.1))
        mend(fleet, away, at_once=True)
        if not jobs.wait_until_done(fleet):
            bench.violation("jobs are stuck")
        fleet.stop_coordinator()
        count_losses(bench, fleet, strikes)
        load.check(bench)
        jobs.check_store(bench, fleet)


def mend(fleet, away, at_once=False):
    """Starts hosts whose time away is over. A supervisor that waits before its next start is replaced."""
    for name, until_then in list(away.items()):
        if at_once or time.monotonic() >= until_then:
            del away[name]
            fleet.kill_host(name)
            fleet.start_host(name)


def strike_host(bench, fleet, load, away, kind):
    """Kills a worker or a host that runs something. Returns the host, the kind, the time and the round."""
    while len(away) >= 3:
        time.sleep(0.02)
        mend(fleet, away)
    found = load.wait_for_launch(lambda: [name for name in HOSTS if name not in away], lambda: mend(fleet, away))
    host = bench.random.choice(found)
    time.sleep(bench.random.uniform(0, 0.03))
    at = wall_clock()
    if kind == "host":
        fleet.kill_host(host)
        away[host] = time.monotonic() + bench.random.choice([0, 0, 1.5])
    else:
        fleet.kill_worker(host)
        away[host] = time.monotonic() + 1
    return host, kind, at, bench.round


def count_losses(bench, fleet, strikes):
    """A strike has landed if it caused the loss of a launch on that host. Its request must run elsewhere in time
    (promise P6)."""
    for host, kind, at, bench.round in strikes:
        lost = fleet.rows(
            "SELECT l.request, coalesce((SELECT n.started_at FROM launch n WHERE n.request = l.request"
            f" AND n.number = l.number + 1), {jobs.ENDED}) FROM launch l JOIN request r ON r.id = l.request"
            " JOIN host h ON h.id = l.host"
            " WHERE h.name = ? AND l.started_at <= ? AND l.ended_at > ? AND l.outcome = 'lost'", host, at, at)  # fmt: skip
        if lost:
            bench.land(kind)
        bound = 2 if kind == "worker" else fleet.lease_seconds + 2
        for request, again in lost:
            # `again` is the end of the request if its last batch had been committed, and None if the request is stuck.
            seconds = ((again or 1 << 63) - at) / 1e9
            bench.figure(f"{kind}: seconds until it ran elsewhere", round(seconds, 2))
            late = f"request {request} ran again {seconds:.1f} s after its {kind} was killed, not within {bound} s"
            bench.expect(seconds <= bound + bench.stalls.between(at, at + seconds * 1e9), late)


# ---- The coordinator


# The named points are those of one commit: while its frames are written, after the write and before the sync, after the
# sync and before any client is told, and when the first byte of an answer is about to leave; and the copying of the log
# into the database.
KINDS = [
    "after-write", "before-commit", "after-commit", "before-answer", "in-checkpoint", "coordinator", "coordinator+host",
    "coordinator+worker", "SIGTERM",
]  # fmt: skip


def coordinator(bench):
    """Kills the coordinator at named points of a commit, at a random instant, and together with a host; and ends it
    properly with SIGTERM. Meanwhile a client submits, and repeats what was not answered."""
    shim = Shim(bench)
    with Fleet(bench) as fleet:
        started(fleet, HOSTS[:3], environment=shim.environment)
        load, client = Load(fleet, at_once=3), Submitter(fleet)
        client.start()
        for number in bench.each_round():
            load.refill()
            strike_coordinator(bench, fleet, load, shim, KINDS[number % len(KINDS)])
            client.rest(bench)
        client.stop()
        if not jobs.wait_until_done(fleet):
            bench.violation("jobs are stuck")
        fleet.stop_coordinator()
        load.check(bench)
        jobs.check_store(bench, fleet)
        client.check(bench)


def strike_coordinator(bench, fleet, load, shim, kind):
    host = load.wait_for_launch(HOSTS)[0]
    time.sleep(bench.random.uniform(0, 0.1))
    nth = bench.random.randint(1, 20)
    match kind:
        case "after-commit":
            shim.kill_after_commit = shim.commits + nth
        case "before-commit":
            shim.kill_before_commit = shim.commits + nth
        case "before-answer":
            shim.kill_before_answer = shim.commits + nth
        case "in-checkpoint":
            shim.kill_in_checkpoint = shim.syncs + 1
        case "after-write":
            shim.kill_after_write = shim.writes + nth
        case "coordinator" | "coordinator+host" | "coordinator+worker":
            fleet.coordinator.kill()
        case "SIGTERM":
            status = fleet.stop_coordinator()
            bench.expect(status == 0, f"after SIGTERM it ended with {status}, not with 0: {fleet.said()[-300:]!r}")
    if kind == "coordinator+worker":
        fleet.kill_worker(host)
    if kind == "coordinator+host":
        fleet.kill_host(host)
    # A client submits all the time, so that the point is reached.
    landed = kind.startswith(("coordinator", "SIG")) or until(30, lambda: shim.landed > 0, every=0.002)
    fleet.kill_coordinator()
    if landed:
        bench.land(kind)
    shim.reset()
    restart = time.monotonic()
    if not fleet.start_coordinator(environment=shim.environment):
        raise RuntimeError(f"after '{kind}' the coordinator does not start: {fleet.said()[-500:]!r}")
    bench.figure("seconds until it listens again", round(time.monotonic() - restart, 2))
    if kind == "coordinator+worker":
        # The supervisor reports to the new coordinator. Because it waits longer before each start of a worker, it is
        # replaced.
        time.sleep(bench.random.uniform(0, 0.6))
        fleet.kill_host(host)
    if host not in fleet.hosts:
        fleet.start_host(host)
