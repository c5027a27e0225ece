"""A store in PostgreSQL, which three coordinators share whose clocks are years apart (promises P1 to P3, P7 and P11).
The server is killed, stands still and ends its connections; a coordinator is killed, stands still until another one has
ended its tenure, or its clock jumps; all coordinators are started again, one after another; a later version changes the
schema. Launches go on through each of these. Meanwhile a client submits, and repeats what was not answered."""

import signal
import time

import jobs
import members as fleets
from bench import until
from clocks import SIZES
from database import Database
from members import Member, SET_BACK
from shim import Shim

NAMES = ["one", "two", "three"]
YEAR = 365 * 86400
# How far the clock of each coordinator is off when it starts, in seconds.
CLOCKS = {"one": 0, "two": 3 * YEAR, "three": -2 * YEAR}
JUMPS = [size for size in SIZES if size <= YEAR]
# The steward deletes what ended 30 days ago by its own wall clock. With these clocks it would delete at once what others
# have ended. So the clocks are less than this time apart, after all jumps too.
RETENTION = {"BATON_RETENTION_ENDED": "3650d"}
# A request with a delay is promoted by the steward. The clock of a coordinator that follows it is behind it for up to a
# second, and so is the time that it counts from.
DELAY_SECONDS, EARLY_SECONDS, LATE_SECONDS = 6, 3, 60


def run(bench):
    """In each round one or two faults hit the fleet while it works, and then its jobs must succeed."""
    runtime = fleets.new_runtime(bench)
    shims = {name: Shim(bench) for name in NAMES}
    for name, seconds in CLOCKS.items():
        shims[name].clock_offset = seconds * 10**9
    with Database() as server:
        environments = {name: shim.environment | RETENTION for name, shim in shims.items()}
        group = [Member(bench, name, server, runtime, environment=environments[name]) for name in NAMES]
        for member in group:
            member.shim = shims[member.name]
        with fleets.come_up(*group) as members:
            if bench.plant:
                return PLANTS[bench.plant.name](bench, members)
            deck = []
            with fleets.loaded(bench, members) as client:
                for number in bench.each_round():
                    delayed = submit_delayed(bench, members)
                    kinds = [fleets.draw(bench, deck, FAULTS) for _ in range(1 + number % 2)]
                    fleets.one_round(bench, members, [(kind, FAULTS[kind]) for kind in kinds])
                    check_delayed(bench, *delayed)
                    client.rest(bench)
            read = [name for name in NAMES if shims[name].clock_reads > 0]
            bench.expect(read == NAMES, f"only {read} have read the clock that was moved")
            struck = {"coordinator killed", "coordinator stopped", "rolling restart"} & bench.kinds.keys()
            moved = bench.figures["hosts that were at two coordinators"]
            bench.expect(moved or not struck, "no host has moved to another coordinator: nothing was shown")
    return None


# ---- Delays


def submit_delayed(bench, members):
    """Submits a job with a delay at a coordinator that is drawn. Returns the job, and the time by the clock of this
    program, which is not moved."""
    job = jobs.new_job(members[0], f"delayed{bench.round}", batches=1, pause=0, kind="processing")
    begin = time.time()
    extra = f"earliestBeginDate: {DELAY_SECONDS}s\nrequiresIdle: false\n"
    jobs.submit(bench.random.choice(members), [job], extra=extra)
    return job, begin


def check_delayed(bench, job, begin):
    """The job must have started after its delay, and not years later."""
    if not until(LATE_SECONDS, lambda: jobs.lines_of(job)):
        waited = time.time() - begin
        bench.violation(f"{job.identifier}, to start after {DELAY_SECONDS} s, has not after {waited:.0f} s")
        return
    waited = job.log.stat().st_mtime - begin
    bench.figure(f"seconds that a delay of {DELAY_SECONDS} s took", round(waited, 1))
    early = f"{job.identifier} started after {waited:.1f} s, {DELAY_SECONDS} s were asked for"
    bench.expect(waited >= DELAY_SECONDS - EARLY_SECONDS, early)


# ---- Faults of the server


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


def stop_server_for_long(bench, members):
    """For longer than the coordinators wait for an answer, and than leases last. Launches end, and their requests must
    go on where they were."""
    server = members[0].server
    server.signal(signal.SIGSTOP)
    time.sleep(fleets.LEASE_SECONDS + bench.random.uniform(1, 6))
    server.signal(signal.SIGCONT)


def end_connections(bench, members):
    for _ in range(bench.random.randint(1, 3)):
        ended = members[0].rows(
            "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
            " WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()")  # fmt: skip
        bench.expect(ended[0][0] > 0, "there was no connection to end")
        time.sleep(bench.random.uniform(0, 0.3))


# ---- Faults of coordinators


def kill_coordinator(bench, members):
    member = fleets.chosen(bench, members)
    member.kill_coordinator()
    time.sleep(bench.random.uniform(0.5, 4))
    member.begin()


def stop_coordinator(bench, members, revive=False):
    """Another coordinator must end the tenure of this one, which then must commit nothing and end by itself. With
    `revive` the row of its tenure says that it goes on, as if there were no fence."""
    member = fleets.chosen(bench, members)
    begin = time.monotonic()
    member.coordinator.send_signal(signal.SIGSTOP)
    fleets.expect_end(bench, member, begin, "stood still")
    time.sleep(bench.random.uniform(0, 1.5))
    commits = member.commits()
    if revive:
        member.rows("UPDATE coordinator SET is_ended = 0, is_settled = 0 WHERE epoch = ?", member.epoch)
    member.coordinator.send_signal(signal.SIGCONT)
    fleets.expect_gone(bench, member, commits, "stood still")
    time.sleep(bench.random.uniform(0, 2))
    member.begin()


def restart_all(bench, members):
    """Ends all coordinators with SIGTERM, one after another, each when the one before it is back."""
    for member in bench.random.sample(members, len(members)):
        status = member.stop_coordinator(20)
        bench.expect(status == 0, f"after SIGTERM {member.name} ended with {status}: {member.said()[-300:]!r}")
        member.begin()


def jump(bench, members):
    """Moves the clock of each coordinator while it runs, by up to a year."""
    for member in members:
        reads, seconds = member.shim.clock_reads, bench.random.choice([-1, 1]) * bench.random.choice(JUMPS)
        member.shim.clock_offset = CLOCKS[member.name] * 10**9 + seconds * 10**9
        bench.expect(until(5, lambda: member.shim.clock_reads > reads), f"{member.name} does not read its clock")
        bench.note(f"the clock of {member.name} jumps to {member.shim.clock_offset / 1e9:+.0f} s")
    time.sleep(1)


def expand_schema(bench, members):
    """A later version of Baton adds columns and says that this version may write: coordinators of this version go on,
    and start. When it says that they may not, they refuse to start, and say why. (There is no later version yet, whose
    own writes could be seen.)"""
    rows = members[0].rows
    (before,) = rows("SELECT version, oldest_writer, made_by FROM baton_schema")
    later = before[0] + 1
    for table in ("coordinator", "host", "identifier", "request", "launch", "progress", "submission"):
        rows(f"ALTER TABLE {table} ADD COLUMN later{later} bigint NOT NULL DEFAULT 7")
    oldest = before[1] or before[0]
    rows("UPDATE baton_schema SET version = ?, oldest_writer = ?, made_by = '99.0'", later, oldest)
    one, two = bench.random.sample(members, 2)
    for member in (one, two):
        member.kill_coordinator()
    one.begin()
    rows("UPDATE baton_schema SET oldest_writer = version")
    begin = len(two.said())
    started = two.start_coordinator(two.own_environment, seconds=fleets.STARTS_WITHIN_SECONDS)
    said = two.said(begin)
    bench.expect(not started, f"{two.name} has started with a schema that it must not write")
    bench.expect(b"of Baton 99.0" in said, f"{two.name} does not say that the schema is newer: {said[-400:]!r}")
    two.kill_coordinator()
    rows("UPDATE baton_schema SET oldest_writer = ?", oldest)
    two.begin()


FAULTS = {
    "PostgreSQL killed": kill_server,
    "PostgreSQL stopped": stop_server,
    fleets.ENDS_LAUNCHES: stop_server_for_long,
    "connections ended": end_connections,
    "coordinator killed": kill_coordinator,
    "coordinator stopped": stop_coordinator,
    "rolling restart": restart_all,
    "clocks jumped": jump,
    "schema of a later version": expand_schema,
}


# ---- The controls


def set_back(bench, members):
    """Puts an older copy of the cluster in its place while the fleet works. The fleet must be paused, and a coordinator
    must say why (promise P12). That is reported as a violation, so that the row is seen to notice lost commits."""
    bench.round, first = 1, members[0]
    first.server.copy()
    new = list(fleets.submit(bench, members))
    until(30, lambda: fleets.batches_of(new) >= 8)
    first.server.set_back()
    bench.land("set back")
    is_paused = until(30, lambda: first.rows("SELECT is_paused FROM store") == [(1,)], every=0.1)
    says_why = lambda: [member.name for member in members if SET_BACK in member.said()]
    if bench.expect(until(10, says_why), f"no coordinator says that the store was set back; paused: {is_paused}"):
        bench.expect(not is_paused, f"the fleet is paused, because the store was set back, as {says_why()} say")


def answer_early(bench, members):
    """The server answers commits before they are on its disk, and is killed: acknowledged submissions must be lost."""
    bench.round, first = 1, members[0]
    first.server.answer_early()
    client = fleets.Submitter(first, batch=4, pause=0.05)
    client.start()
    until(30, lambda: len(client.promised) > 200)
    kill_server(bench, members)
    bench.land("PostgreSQL killed")
    client.stop()
    for member in members:
        member.kill_coordinator()
    client.check(bench)


def revive(bench, members):
    """A coordinator that was ended finds no fence: it must be seen to commit."""
    bench.round = 1
    list(fleets.submit(bench, members))
    stop_coordinator(bench, members, revive=True)


PLANTS = {"sets-back": set_back, "answers-early": answer_early, "has-no-fence": revive}
