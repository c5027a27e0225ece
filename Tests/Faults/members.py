"""Several coordinators that share a store in PostgreSQL: what the rows of such fleets have in common. A round submits
jobs at each coordinator, makes its faults while they run, and then they must have succeeded, each batch committed once,
and no launch ended."""

import contextlib
import itertools
import pathlib
import re
import shutil
import subprocess
import time

import jobs
from bench import until
from fleet import Fleet
from submitter import Submitter, check_places

HOSTS = ["anna", "ben", "cora"]
# The jobs of a fault, at all coordinators together.
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
STARTS_WITHIN_SECONDS = 40
# The only fault that lasts longer than a lease.
ENDS_LAUNCHES = "PostgreSQL stopped past the lease"
PUT_OFF = "submissions of jobs that were put off"
# What a coordinator says when the store lacks its commits, or those of another coordinator.
SET_BACK = b"lacks changes"


class Member(Fleet):
    """One of the coordinators, with its data folder, and the hosts that are started here."""

    def __init__(self, bench, name, server, runtime, address=None, environment=None, lease_seconds=LEASE_SECONDS):
        super().__init__(bench, lease_seconds, {"BATON_STORE": address or server.store})
        # What only the coordinator has, and not its hosts and commands.
        self.own_environment = (environment or {}) | getattr(server, "login", {})
        self.has_true_clock = environment is None
        # Hosts find all coordinators by their sockets, which have to be in the folder that the hosts know.
        self.environment["XDG_RUNTIME_DIR"] = str(runtime)
        self.name = name
        self.server = server
        self.epoch = None
        self.names = itertools.count(1)

    def planted(self, environment):
        # What is planted for these rows is in the database or on the way to it, and not in the programs.
        return environment

    @property
    def socket(self):
        return pathlib.Path(self.environment["XDG_RUNTIME_DIR"]) / "baton" / f"{self.port}.sock"

    def rows(self, sql, *values):
        return self.server.rows(sql, *values)

    def begin(self):
        """Starts this coordinator, and notes the number of its tenure. Raises RuntimeError if it does not start. If it
        refuses because the store is away for a moment, it is started again, as a service manager would do."""
        begin = time.monotonic()
        if not until(STARTS_WITHIN_SECONDS, self.attempt, every=0.2):
            raise RuntimeError(f"coordinator {self.name} does not start: {self.said()[-500:]!r}")
        self.bench.figure("seconds until a coordinator listens", round(time.monotonic() - begin, 2))
        self.epoch = self.rows("SELECT max(epoch) FROM coordinator")[0][0]

    def attempt(self):
        return self.start_coordinator(self.own_environment, seconds=STARTS_WITHIN_SECONDS)

    @property
    def has_ended(self):
        """Whether the store says that this coordinator's tenure has ended."""
        return self.rows("SELECT is_ended FROM coordinator WHERE epoch = ?", self.epoch) == [(1,)]

    def commits(self):
        return self.rows("SELECT commits FROM coordinator WHERE epoch = ?", self.epoch)

    def listed(self):
        """The jobs as an operator sees them here, without what depends on the moment."""
        found = self.json("list", "com.example.faults.*", "--all")
        return [(one["request"], one["identifier"], one["state"]) for one in found]


def new_runtime(bench):
    folder = bench.new_folder("runtime")
    folder.chmod(0o700)
    return folder


@contextlib.contextmanager
def come_up(*members, joins=False):
    """Starts the coordinators, and hosts that know all of them. With `joins` the hosts join the fleet and speak TLS;
    otherwise they use the sockets of the coordinators. Ends everything at the end of the `with` block."""
    with contextlib.ExitStack() as stack:
        for member in members:
            stack.enter_context(member)
        first = members[0]
        first.begin()
        for member in members[1:]:
            enter(first, member)
            member.begin()
        for name in HOSTS:
            if joins:
                first.join(name)
            first.start_host(name, coordinator=",".join(f"127.0.0.1:{member.port}" for member in members))
        if not until(60, lambda: len(ready_hosts(members)) == len(HOSTS)):
            raise RuntimeError("the hosts do not come up")
        yield list(members)


def enter(first, member):
    """Gives a new coordinator what the coordinators of this fleet have in common."""
    member.data.mkdir(mode=0o700)
    for name in ("authority.pem", "receipt.key"):
        shutil.copy2(first.data / name, member.data / name)


@contextlib.contextmanager
def loaded(bench, members):
    """A client submits during the `with` block, and everything is checked after it."""
    client = Submitter(members[0], batch=4, pause=0.05)
    client.start()
    yield client
    client.stop()
    for member in members:
        check_places(bench, member)
    for member in members:
        status = member.stop_coordinator()
        bench.expect(status == 0, f"after SIGTERM {member.name} ended with {status}: {member.said()[-300:]!r}")
    client.check(bench)
    jobs.check_launches(bench, members[0])
    for member in members:
        bench.figure("hosts that were at two coordinators", moved_hosts(member))


def ready_hosts(members):
    """Each coordinator knows whether its own hosts are ready."""
    return {host for member in members for host in member.ready_hosts()}


def moved_hosts(fleet):
    """How many hosts were connected to two coordinators."""
    logs = [fleet.folder / f"{host}.log" for host in HOSTS]
    said = [log.read_text() for log in logs if log.exists()]
    return sum(len(set(re.findall(r"address=(\S+) \[BatonWorker\] connected to", text))) > 1 for text in said)


def draw(bench, deck, kinds):
    """The next kind of fault. Each kind comes once before one comes again."""
    if not deck:
        deck += bench.random.sample(sorted(kinds), len(kinds))
    return deck.pop()


def one_round(bench, members, faults):
    """Makes these faults while the fleet works. `faults` are pairs of a kind and a function of bench and members. Then
    all jobs must succeed."""
    first, new, kinds = members[0], [], [kind for kind, _ in faults]
    for kind, fault in faults:
        check_coordinators(bench, members, kinds)
        new += submit(bench, members, kinds)
        strike(bench, members, kind, fault, new)
    if not jobs.wait_until_done(first):
        bench.violation(f"after {kinds} jobs are stuck: {unfinished(first)}, ready hosts {ready_hosts(members)}")
    check_round(bench, members, new, kinds)


def submit(bench, members, kinds=()):
    """Submits a few jobs, some at each coordinator, and returns them. Right after a fault a coordinator may say that it
    accepts nothing now (status 75); then other jobs are submitted."""
    for number, member in enumerate(members):
        count = (JOBS + number) // len(members)
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


def batches_of(new):
    """How many batches of these jobs have run. A batch that ran again, after a lost launch, counts once."""
    return sum(len({batch for _, batch, _ in jobs.lines_of(job)}) for job in new)


def strike(bench, members, kind, fault, new):
    """Makes this fault while the jobs run, and expects that they go on. The fault has landed if jobs were running when
    it began, unless it returns False."""
    there_are = BATCHES * len(new)
    goal = batches_of(new) + bench.random.randint(1, 20)
    until(30, lambda: batches_of(new) >= goal, every=0.005)
    time.sleep(bench.random.uniform(0, 0.1))
    before, begin = batches_of(new), time.monotonic()
    if fault(bench, members) is not False and before < there_are:
        bench.land(kind)
    seconds = time.monotonic() - begin
    bench.note(f"{kind} for {seconds:.1f} s after {before} of {there_are} batches; {batches_of(new)} when it was over")
    expect_progress(bench, kind, lambda: batches_of(new), there_are)


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


# ---- Faults of a coordinator


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


def expect_end(bench, member, begin, what, more_seconds=0):
    """Another coordinator must end the tenure of this one, which stands still since `begin`."""
    bound = ENDED_WITHIN_SECONDS + more_seconds
    is_ended = until(30, lambda: member.has_ended, every=0.1)
    seconds = time.monotonic() - begin
    bench.figure(f"seconds until a coordinator that {what} was ended", round(seconds, 2))
    on_time = is_ended and seconds <= bound + bench.stalls.since(begin)
    late = f"{member.name} {what} for {seconds:.1f} s, and was not ended within {bound} s"
    bench.expect(on_time, late)


def expect_gone(bench, member, commits, what):
    """A coordinator whose tenure was ended must end by itself, and commit nothing more."""
    has_committed = lambda: member.commits() != commits
    until(20, lambda: not member.runs or has_committed(), every=0.05)
    bench.expect(not has_committed(), f"{member.name} has committed something after its tenure was ended")
    bench.expect(not member.runs, f"{member.name} runs on after its tenure was ended: it {what}")
    member.kill_coordinator()


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
    for other in lists[1:]:
        found = difference(lists[0], other)
        bench.expect(not found, f"after {kinds} the coordinators list other requests: {found}")
    for member in members:
        verified = member.baton("audit", "verify", check=False)
        said = (verified.stdout + verified.stderr)[-300:]
        bench.expect(verified.returncode == 0, f"after {kinds} the audit log is not whole at {member.name}: {said!r}")


def check_coordinators(bench, members, kinds):
    """Only a coordinator that a fault had stopped may have ended, and that one was started again. In the time of each
    other fault no coordinator stood still."""
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
    """No launch may have ended early if each fault was shorter than a lease; and a launch may begin only after the one
    before it has ended."""
    names = ", ".join(f"'{job.identifier}'" for job in new)
    ended = fleet.rows(
        "SELECT i.name, l.number, h.name, l.outcome, l.reason FROM launch l JOIN request r ON r.id = l.request"
        f" JOIN identifier i ON i.id = r.identifier JOIN host h ON h.id = l.host WHERE i.name IN ({names})"
        " AND l.outcome IS DISTINCT FROM 'finished'")  # fmt: skip
    bench.expect(not ended or ENDS_LAUNCHES in kinds, f"after {kinds} launches have ended early: {ended}")
    # Times of clocks that are years apart cannot be compared.
    too_late = " OR l.ended_at > n.started_at" if fleet.has_true_clock else ""
    beside = fleet.rows(
        "SELECT l.request, l.number FROM launch l JOIN launch n ON n.request = l.request AND n.number = l.number + 1"
        f" WHERE l.ended_at IS NULL{too_late}")  # fmt: skip
    bench.expect(not beside, f"after {kinds} two launches of a request ran at the same time: {beside}")
    jobs.check_launches(bench, fleet)
