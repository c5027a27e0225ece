"""A store in PostgreSQL, which three coordinators share whose clocks are years apart (promises P1 to P3, P7 and P11).
They log in as the role that Deploy/postgres/store.sql makes, with its password. The server is killed, stands still and
ends its connections; a coordinator is killed, stands still until another one has ended its tenure, or its clock jumps;
all coordinators are started again, one after another; a later version changes the schema. Launches go on through each
of these. Meanwhile a client submits, and repeats what was not answered. At the end the steward keeps house: what has
ended is still there, whichever clock has dated its end.

With `--older` the coordinators begin with the programs of an earlier version, and are updated one after another; later
one of them goes back for a while."""

import signal
import time

import jobs
import members as fleets
from bench import until
from clocks import SIZES
from database import DeployedDatabase
from members import Member, SET_BACK
from shim import Shim

NAMES = ["one", "two", "three"]
YEAR = 365 * 86400
# How far the clock of each coordinator is off when it starts, in seconds.
CLOCKS = {"one": 0, "two": 3 * YEAR, "three": -2 * YEAR}
JUMPS = [size for size in SIZES if size <= YEAR]
# For how long the steward keeps what has ended, and how long it may take until it looks.
KEPT_SECONDS, KEEPS_HOUSE_WITHIN_SECONDS = 30 * 86400, 90
# A version before schema 3 counts these days by its wall clock. Beside one, the clocks are less than this time apart.
KEPT_FOR_LONG = {"BATON_RETENTION_ENDED": "3650d"}
# A coordinator that has become too old for the store ends within this time.
TOO_OLD_WITHIN_SECONDS = 5
# A request with a delay is promoted by the steward. The clock of a coordinator that follows it is behind it for up to a
# second, and so is the time that it counts from.
DELAY_SECONDS, EARLY_SECONDS, LATE_SECONDS = 6, 3, 60


def run(bench):
    """In each round one or two faults hit the fleet while it works, and then its jobs must succeed."""
    runtime = fleets.new_runtime(bench)
    shims = {name: Shim(bench) for name in NAMES}
    for name, seconds in CLOCKS.items():
        shims[name].clock_offset = seconds * 10**9
    with DeployedDatabase() as server:
        more = KEPT_FOR_LONG if bench.older else {}
        environments = {name: shim.environment | more for name, shim in shims.items()}
        group = [Member(bench, name, server, runtime, environment=environments[name]) for name in NAMES]
        for member in group:
            member.shim = shims[member.name]
            member.binaries = bench.older or bench.binaries
        with fleets.come_up(*group) as members:
            if bench.plant:
                return PLANTS[bench.plant.name](bench, members)
            deck, faults = [], FAULTS | (FAULTS_WITH_OLDER if bench.older else {})
            with fleets.loaded(bench, members) as client:
                for number in bench.each_round():
                    delayed = submit_delayed(bench, members)
                    kinds = [fleets.draw(bench, deck, faults) for _ in range(1 + number % 2)]
                    if bench.older and number == 1:
                        kinds = [UPDATE]
                    fleets.one_round(bench, members, [(kind, faults[kind]) for kind in kinds])
                    check_delayed(bench, *delayed)
                    client.rest(bench)
                if not bench.older:
                    check_kept(bench, members)
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


# ---- What has ended


def check_kept(bench, members):
    """A request that each coordinator has ended, whose clocks are years apart, must be there after the steward has kept
    house. That it has is seen by a request that is made to look as if its time were over."""
    ended = [end_at(bench, members, member, f"kept-by-{member.name}") for member in members]
    old = end_at(bench, members, members[0], "old")
    members[0].rows("UPDATE request SET ended_steady = ended_steady - ? WHERE id = ?", (KEPT_SECONDS + 60) * 10**9, old)
    numbers = lambda requests: ", ".join(map(str, requests))
    count = lambda requests: members[0].rows(f"SELECT count(*) FROM request WHERE id IN ({numbers(requests)})")
    begin = time.monotonic()
    if not until(KEEPS_HOUSE_WITHIN_SECONDS, lambda: count([old]) == [(0,)], every=0.5):
        bench.violation(f"a request whose time is over is there after {time.monotonic() - begin:.0f} s")
    gone = len(ended) - count(ended)[0][0]
    bench.expect(gone == 0, f"{gone} of {len(ended)} requests that had just ended were deleted before their time")
    bench.note(f"the steward kept house within {time.monotonic() - begin:.0f} s, and {gone} requests are gone")


def end_at(bench, members, member, name):
    """Lets this coordinator end a request that waits. Returns the request's number in the store."""
    job = jobs.new_job(members[0], name, batches=1, pause=0, kind="processing")
    jobs.submit(member, [job], extra="earliestBeginDate: 1h\n")
    member.baton("cancel", job.identifier)
    find = "SELECT r.id FROM request r JOIN identifier i ON i.id = r.identifier WHERE i.name = ? AND r.state = 5"
    ((request,),) = member.rows(find, job.identifier)
    return request


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
    and start. When it says that they may not, those that run end and say why, and none starts. (`--older` shows the
    writes of two real versions.)"""
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
    running = [member for member in members if member.runs]
    known = {member.name: len(member.said()) for member in members}
    begin_of_end = time.monotonic()
    rows("UPDATE baton_schema SET oldest_writer = version")
    for member in running:
        expect_too_old(bench, member, known[member.name])
    seconds = time.monotonic() - begin_of_end
    bench.figure("seconds until coordinators that are too old have ended", round(seconds, 1))
    begin = len(two.said())
    started = two.start_coordinator(two.own_environment, seconds=fleets.STARTS_WITHIN_SECONDS)
    said = two.said(begin)
    bench.expect(not started, f"{two.name} has started with a schema that it must not write")
    bench.expect(b"of Baton 99.0" in said, f"{two.name} does not say that the schema is newer: {said[-400:]!r}")
    two.kill_coordinator()
    rows("UPDATE baton_schema SET oldest_writer = ?", oldest)
    for member in [*running, two]:
        member.begin()


def expect_too_old(bench, member, begin):
    """A coordinator that runs must notice that the schema takes no writes of its version, and end with the status that
    asks for a person."""
    is_over = until(TOO_OLD_WITHIN_SECONDS + 10, lambda: not member.runs, every=0.02)
    said = member.said(begin)
    if bench.expect(is_over, f"{member.name} goes on with a schema that it must not write"):
        status = member.coordinator.returncode
        bench.expect(status == 78, f"{member.name}, too old for the schema, ended with {status}")
    bench.expect(b"of Baton 99.0" in said, f"{member.name} does not say that the schema is newer: {said[-400:]!r}")
    member.kill_coordinator()


# ---- An earlier version beside this one

UPDATE = "update of all coordinators"


def update_all(bench, members):
    """Updates one coordinator after another. Those of both versions share the store meanwhile."""
    for member in bench.random.sample(members, len(members)):
        replace(bench, member, bench.binaries)
    versions = members[0].rows("SELECT version, oldest_writer FROM baton_schema")
    bench.note(f"all coordinators are updated; the schema and the oldest version that writes are {versions}")


def go_back(bench, members):
    """One coordinator goes back to the earlier version for some time, and to this one."""
    member = fleets.chosen(bench, members)
    replace(bench, member, bench.older)
    time.sleep(bench.random.uniform(2, 6))
    replace(bench, member, bench.binaries)


def replace(bench, member, binaries):
    status = member.stop_coordinator(20)
    bench.expect(status == 0, f"after SIGTERM {member.name} ended with {status}: {member.said()[-300:]!r}")
    member.binaries = binaries
    member.begin()


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
FAULTS_WITH_OLDER = {UPDATE: update_all, "earlier version beside": go_back}


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


def keep_by_wall_clock(bench, members):
    """The store forgets when requests ended on the steady clock, so that they are kept by the date of their end."""
    bench.round = 1
    members[0].rows(
        "CREATE FUNCTION forget_steady() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
        " IF NEW.ended_steady > (SELECT steady FROM clock) - 86400000000000 THEN NEW.ended_steady := NULL; END IF;"
        " RETURN NEW; END $$")  # fmt: skip
    members[0].rows(
        "CREATE TRIGGER forgets_steady BEFORE UPDATE ON request FOR EACH ROW EXECUTE FUNCTION forget_steady()")
    bench.land("clocks years apart")
    check_kept(bench, members)


PLANTS = {
    "sets-back": set_back,
    "answers-early": answer_early,
    "has-no-fence": revive,
    "keeps-by-wall-clock": keep_by_wall_clock,
}
