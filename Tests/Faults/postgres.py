"""A store in PostgreSQL, which two coordinators share (promises P1 to P3 and P11). The server is killed, stands still
and ends its connections; a coordinator is killed, or stands still until the other one has ended its tenure. Launches go
on through each of these. Meanwhile a client submits, and repeats what was not answered."""

import itertools
import pathlib
import re
import shutil
import signal
import subprocess
import time

import jobs
from bench import until
from database import Database
from fleet import Fleet
from submitter import Submitter, check_places

HOSTS = ["anna", "ben", "cora"]
JOBS = 4
# A batch takes at least twice this time.
PAUSE_SECONDS = 0.07
BATCHES = 16
# Longer than each fault, with the heartbeat before it and the moves of a worker after it. So no launch may end.
LEASE_SECONDS = 15
# A coordinator that stands still for the term is ended by another one, which looks every second.
TERM_SECONDS = 5
ENDED_WITHIN_SECONDS = TERM_SECONDS + 3
GOES_ON_WITHIN_SECONDS = 20
SUBMITTED_WITHIN_SECONDS = 20
PUT_OFF = "submissions of jobs that were put off"
# What a coordinator says when the store lacks its commits, or those of another coordinator.
SET_BACK = b"lacks changes"


class Member(Fleet):
    """One of the coordinators, with its data folder, and the hosts that are started here."""

    def __init__(self, bench, name, server, runtime):
        super().__init__(bench, LEASE_SECONDS, {"BATON_STORE": server.address})
        # Hosts find both coordinators by their sockets, which have to be in the folder that the hosts know.
        self.environment["XDG_RUNTIME_DIR"] = str(runtime)
        self.name = name
        self.server = server
        self.epoch = None
        self.names = itertools.count(1)

    def planted(self, environment):
        # What is planted for this row is in the database, and not in the programs.
        return environment

    @property
    def socket(self):
        return pathlib.Path(self.environment["XDG_RUNTIME_DIR"]) / "baton" / f"{self.port}.sock"

    def rows(self, sql, *values):
        return self.server.rows(sql, *values)

    def begin(self):
        """Starts this coordinator, and notes the number of its tenure."""
        begin = time.monotonic()
        if not self.start_coordinator(seconds=40):
            raise RuntimeError(f"coordinator {self.name} does not start: {self.said()[-500:]!r}")
        self.bench.figure("seconds until a coordinator listens", round(time.monotonic() - begin, 2))
        self.epoch = self.rows("SELECT max(epoch) FROM coordinator")[0][0]

    @property
    def has_ended(self):
        """Whether the store says that this coordinator's tenure has ended."""
        return self.rows("SELECT is_ended FROM coordinator WHERE epoch = ?", self.epoch) == [(1,)]

    def commits(self):
        return self.rows("SELECT commits FROM coordinator WHERE epoch = ?", self.epoch)

    def listed(self):
        """The jobs as an operator sees them here, without what depends on the moment."""
        found = self.json("list", "com.example.faults.*")
        return [(one["request"], one["identifier"], one["state"]) for one in found]


def run(bench):
    """In each round one or two faults hit the fleet while it works, and then its jobs must succeed."""
    runtime = bench.new_folder("runtime")
    runtime.chmod(0o700)
    with (
        Database() as server,
        Member(bench, "one", server, runtime) as first,
        Member(bench, "two", server, runtime) as second,
    ):
        members = [first, second]
        come_up(first, second)
        if bench.plant:
            return set_back(bench, members)
        client, deck = Submitter(first, batch=4, pause=0.05), []
        client.start()
        for number in bench.each_round():
            one_round(bench, members, [draw(bench, deck) for _ in range(1 + number % 2)])
            client.rest(bench)
        client.stop()
        for member in members:
            check_places(bench, member)
        for member in members:
            status = member.stop_coordinator()
            bench.expect(status == 0, f"after SIGTERM {member.name} ended with {status}: {member.said()[-300:]!r}")
        client.check(bench)
        jobs.check_launches(bench, first)
        moved = [name for name in HOSTS if len(coordinators_of(first, name)) == 2]
        bench.figure("hosts that were at both coordinators", len(moved))
        struck = any(kind.startswith("coordinator") for kind in bench.kinds)
        bench.expect(moved or not struck, "no host has moved to the other coordinator: nothing was shown")
        return None


def come_up(first, second):
    first.begin()
    second.data.mkdir(mode=0o700)
    for name in ("authority.pem", "receipt.key"):
        shutil.copy2(first.data / name, second.data / name)
    second.begin()
    for name in HOSTS:
        first.start_host(name, coordinator=f"127.0.0.1:{first.port},127.0.0.1:{second.port}")
    if not until(60, lambda: len(ready_hosts([first, second])) == len(HOSTS)):
        raise RuntimeError("the hosts do not come up")


def ready_hosts(members):
    """Each coordinator knows whether its own hosts are ready."""
    return {host for member in members for host in member.ready_hosts()}


def coordinators_of(fleet, host):
    """The addresses to which this host was connected."""
    said = (fleet.folder / f"{host}.log").read_text()
    return set(re.findall(r"address=(\S+) \[BatonWorker\] connected to", said))


def draw(bench, deck):
    """The next kind of fault. Each kind comes once before one comes again."""
    if not deck:
        deck += bench.random.sample(sorted(FAULTS), len(FAULTS))
    return deck.pop()


def one_round(bench, members, kinds):
    first, new = members[0], []
    for kind in kinds:
        check_coordinators(bench, members, kinds)
        new += submit(bench, members, kinds)
        strike(bench, members, kind, new)
    if not jobs.wait_until_done(first):
        bench.violation(f"after {kinds} jobs are stuck: {unfinished(first)}, ready hosts {ready_hosts(members)}")
    check_round(bench, members, new, kinds)


def submit(bench, members, kinds=()):
    """Submits a few jobs, some at each coordinator, and returns them. Right after a fault a coordinator may say that it
    accepts nothing now (status 75); then other jobs are submitted."""
    count = JOBS // len(members)
    for member in members:
        attempt = lambda: accepted_jobs(bench, members, member, count, kinds)
        accepted = until(SUBMITTED_WITHIN_SECONDS, attempt, every=0.2)
        if not accepted:
            said = member.said()[-300:]
            raise RuntimeError(f"{member.name} accepts nothing for {SUBMITTED_WITHIN_SECONDS} s: {said!r}")
        yield from accepted


def accepted_jobs(bench, members, member, count, kinds):
    new = [jobs.new_job(members[0], f"job{next(members[0].names)}", BATCHES, PAUSE_SECONDS) for _ in range(count)]
    try:
        jobs.submit(member, new)
    except subprocess.CalledProcessError as error:
        if error.returncode not in (69, 75):
            raise
        bench.figure(PUT_OFF, bench.figures.get(PUT_OFF, 0) + 1)
        bench.note(f"after {kinds} {member.name} put off a submission: {error.stderr.decode()[-300:]}")
        check_coordinators(bench, members, kinds)
        return None
    return new


def strike(bench, members, kind, new):
    """Makes this fault while the jobs run, and expects that they go on."""
    ran, there_are = lambda: sum(len(jobs.lines_of(job)) for job in new), BATCHES * len(new)
    goal = ran() + bench.random.randint(1, 20)
    until(30, lambda: ran() >= goal, every=0.005)
    time.sleep(bench.random.uniform(0, 0.1))
    before, begin = ran(), time.monotonic()
    FAULTS[kind](bench, members)
    if before < there_are:
        bench.land(kind)
    seconds = time.monotonic() - begin
    bench.note(f"{kind} for {seconds:.1f} s after {before} of {there_are} batches; {ran()} when it was over")
    expect_progress(bench, kind, ran, there_are)


def expect_progress(bench, kind, ran, all_batches):
    """The work must go on soon after the fault is over."""
    begin, before = time.monotonic(), ran()
    bound = GOES_ON_WITHIN_SECONDS
    until(bound + 30, lambda: ran() > before or before == all_batches, every=0.02)
    seconds = time.monotonic() - begin
    bench.figure(f"{kind}: seconds until the work went on", round(seconds, 2))
    on_time = seconds <= bound + bench.stalls.since(begin)
    bench.expect(on_time, f"after '{kind}' the work went on after {seconds:.1f} s, not within {bound} s")


def unfinished(fleet):
    return fleet.rows(
        "SELECT i.name, r.state, r.launches FROM request r JOIN identifier i ON i.id = r.identifier"
        " WHERE r.state < 3 AND i.name LIKE 'com.example.faults.%'")


# ---- Faults


def kill_server(bench, members):
    server = members[0].server
    server.kill()
    time.sleep(bench.random.uniform(1, 3))
    server.start()


def stop_server(bench, members):
    server = members[0].server
    seconds = bench.random.uniform(1, 8)
    bench.note(f"PostgreSQL stands still for {seconds:.1f} s")
    server.signal(signal.SIGSTOP)
    time.sleep(seconds)
    server.signal(signal.SIGCONT)


def end_connections(bench, members):
    for _ in range(bench.random.randint(1, 3)):
        ended = members[0].rows(
            "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
            " WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()")  # fmt: skip
        bench.expect(ended[0][0] > 0, "there was no connection to end")
        time.sleep(bench.random.uniform(0, 0.3))


def chosen(bench, members):
    """A coordinator whose hosts have launches; if nothing runs, the steward."""
    rows = members[0].rows
    owners = rows(
        "SELECT DISTINCT h.owner FROM launch l JOIN host h ON h.id = l.host WHERE l.ended_at IS NULL ORDER BY 1")
    steward = rows("SELECT steward FROM store")
    epoch = bench.random.choice(owners or steward)[0]
    member = next((member for member in members if member.epoch == epoch), members[0])
    offices = [name for name, found in (("with launches", owners), ("steward", steward)) if (member.epoch,) in found]
    bench.note(f"the coordinator is {member.name} ({', '.join(offices)})")
    return member


def kill_coordinator(bench, members):
    member = chosen(bench, members)
    member.kill_coordinator()
    time.sleep(bench.random.uniform(0.5, 4))
    member.begin()


def stop_coordinator(bench, members):
    """The other coordinator must end the tenure of this one, which then must commit nothing and end by itself."""
    member = chosen(bench, members)
    begin = time.monotonic()
    member.coordinator.send_signal(signal.SIGSTOP)
    is_ended = until(30, lambda: member.has_ended, every=0.1)
    seconds = time.monotonic() - begin
    bench.figure("seconds until a coordinator that stood still was ended", round(seconds, 2))
    on_time = is_ended and seconds <= ENDED_WITHIN_SECONDS + bench.stalls.since(begin)
    late = f"{member.name} stood still for {seconds:.1f} s, and was not ended within {ENDED_WITHIN_SECONDS} s"
    bench.expect(on_time, late)
    time.sleep(bench.random.uniform(0, 1.5))
    commits = member.commits()
    member.coordinator.send_signal(signal.SIGCONT)
    gone = until(10, lambda: not member.runs)
    bench.expect(gone, f"{member.name} runs on for 10 s after its tenure was ended")
    bench.expect(member.commits() == commits, f"{member.name} has committed something after its tenure was ended")
    member.kill_coordinator()
    time.sleep(bench.random.uniform(0, 2))
    member.begin()


FAULTS = {
    "PostgreSQL killed": kill_server,
    "PostgreSQL stopped": stop_server,
    "connections ended": end_connections,
    "coordinator killed": kill_coordinator,
    "coordinator stopped": stop_coordinator,
}


# ---- What must be true after each round


def check_round(bench, members, new, kinds):
    first = members[0]
    check_coordinators(bench, members, kinds)
    jobs.check(bench, first, new)
    check_launches(bench, first, new, kinds)
    deadlocks = first.server.deadlocks()
    bench.expect(deadlocks == 0, f"after {kinds} there were {deadlocks} deadlocks")
    paused = first.rows("SELECT is_paused, former_incarnation FROM store")
    bench.expect(paused == [(0, None)], f"after {kinds} the fleet is paused, or the store has another name: {paused}")
    lists = [member.listed() for member in members]
    bench.expect(len(lists[0]) >= len(new), f"after {kinds} only {len(lists[0])} requests are listed")
    bench.expect(lists[0] == lists[1], f"after {kinds} the coordinators list other requests: {difference(*lists)}")
    for member in members:
        verified = member.baton("audit", "verify", check=False)
        said = (verified.stdout + verified.stderr)[-300:]
        bench.expect(verified.returncode == 0, f"after {kinds} the audit log is not whole at {member.name}: {said!r}")


def check_coordinators(bench, members, kinds):
    """Only a coordinator that a fault had stopped may have ended, and that one was started again. In the time of each
    fault of the server no coordinator stood still."""
    for member in members:
        if member.runs and not member.has_ended:
            continue
        until(5, lambda: not member.runs)
        bench.violation(f"with {kinds} {member.name} was ended, and had not stood still: {member.said()[-400:]!r}")
        member.kill_coordinator()
        member.begin()


def difference(one, two):
    return sorted(set(one) ^ set(two))[:4]


def check_launches(bench, fleet, new, kinds):
    """No launch may have ended early, because each fault was shorter than a lease; and a launch may begin only after
    the one before it has ended."""
    names = ", ".join(f"'{job.identifier}'" for job in new)
    ended = fleet.rows(
        "SELECT i.name, l.number, h.name, l.outcome, l.reason FROM launch l JOIN request r ON r.id = l.request"
        f" JOIN identifier i ON i.id = r.identifier JOIN host h ON h.id = l.host WHERE i.name IN ({names})"
        " AND l.outcome IS DISTINCT FROM 'finished'")  # fmt: skip
    bench.expect(not ended, f"after {kinds} launches have ended early: {ended}")
    beside = fleet.rows(
        "SELECT l.request, l.number FROM launch l JOIN launch n ON n.request = l.request AND n.number = l.number + 1"
        " WHERE l.ended_at IS NULL OR l.ended_at > n.started_at")  # fmt: skip
    bench.expect(not beside, f"after {kinds} two launches of a request ran at the same time: {beside}")
    jobs.check_launches(bench, fleet)


# ---- The control


def set_back(bench, members):
    """Puts an older copy of the cluster in its place while the fleet works. The fleet must be paused, and a coordinator
    must say why (promise P12). That is reported as a violation, so that the row is seen to notice lost commits."""
    bench.round, first = 1, members[0]
    first.server.copy()
    new = list(submit(bench, members))
    until(30, lambda: sum(len(jobs.lines_of(job)) for job in new) >= 8)
    first.server.set_back()
    bench.land("set back")
    is_paused = until(30, lambda: first.rows("SELECT is_paused FROM store") == [(1,)], every=0.1)
    says_why = lambda: [member.name for member in members if SET_BACK in member.said()]
    if bench.expect(until(10, says_why), f"no coordinator says that the store was set back; paused: {is_paused}"):
        bench.expect(not is_paused, f"the fleet is paused, because the store was set back, as {says_why()} say")
