"""Two coordinators on a PostgreSQL server that has a standby, which takes over when the server is killed (promises P1
to P3 and P12). What was answered is on a synchronous standby, so nothing is lost, and launches go on. A standby that
lags behind lacks some of it: then the fleet has to be paused, a coordinator has to say why, and nothing may run before
the operator lets it go on."""

import contextlib
import shutil
import signal
import subprocess
import time

import jobs
import members as fleets
from bench import until
from database import Database
from fleet import wall_clock
from members import Member, SET_BACK
from submitter import Submitter

PORTS = [5432, 5433]
NOTICED_WITHIN_SECONDS = 30


class Standby(Database):
    """A copy of a server that runs, and that follows it."""

    def __init__(self, primary, port):
        super().__init__(port=port)
        self.primary = primary

    def make(self):
        command = [self.binaries / "pg_basebackup", "-D", self.data, "-X", "stream", "-c", "fast", "-R", "--no-sync"]
        address = f"{self.primary.address}&application_name=standby{self.port}"
        subprocess.run(
            [*command, "-d", address], check=True, timeout=60, cwd=self.folder, env=self.environment,
            stdin=subprocess.DEVNULL, capture_output=True, **self.owner)  # fmt: skip
        with open(self.data / "postgresql.conf", "a", encoding="utf-8") as file:
            file.write(f"port = {self.port}\nunix_socket_directories = '{self.folder}'\n")

    def stop_following(self):
        """From now on this standby gets nothing of its server."""
        self.rows("ALTER SYSTEM SET primary_conninfo = ''")
        self.rows("SELECT pg_reload_conf()")
        if not until(20, lambda: self.rows("SELECT count(*) FROM pg_stat_wal_receiver") == [(0,)], every=0.05):
            raise RuntimeError("the standby does not stop following its server")

    def promote(self):
        if self.rows("SELECT pg_promote(true, 30)") != [("t",)]:
            raise RuntimeError(f"the standby does not take over: {self.said()[-500:]}")


class Pair:
    """A server that writes, and its standby. Each lives in a folder of its own that stays the same for all rounds, so
    that the address of the two stays the same too."""

    def __init__(self, stack, is_synchronous):
        self.stack = stack
        self.primary = stack.enter_context(Database(port=PORTS[0]))
        self.standby = None
        self.folders = {PORTS[0]: self.primary.folder}
        self.follow(PORTS[1], is_synchronous)
        hosts = ",".join(str(self.folders[port]) for port in PORTS)
        ports = ",".join(map(str, PORTS))
        self.address = f"postgresql://postgres@/postgres?host={hosts}&port={ports}&target_session_attrs=read-write"

    def follow(self, port, is_synchronous):
        """Makes a new standby with this port."""
        self.standby = Standby(self.primary, port)
        self.standby.folder = self.folders.get(port)
        self.stack.enter_context(self.standby)
        self.folders[port] = self.standby.folder
        self.confirm(is_synchronous)

    def confirm(self, is_synchronous):
        """Lets commits wait for the standby, or not, when the standby follows."""
        follows = "SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming'"
        if not until(30, lambda: self.primary.rows(follows) == [(1,)], every=0.05):
            raise RuntimeError(f"the standby does not follow: {self.standby.said()[-500:]}")
        names = f"standby{self.standby.port}" if is_synchronous else ""
        self.primary.rows(f"ALTER SYSTEM SET synchronous_standby_names = '{names}'")
        self.primary.rows("SELECT pg_reload_conf()")
        state = "sync" if is_synchronous else "async"
        is_confirmed = lambda: self.primary.rows("SELECT sync_state FROM pg_stat_replication") == [(state,)]
        if not until(30, is_confirmed, every=0.05):
            raise RuntimeError(f"the standby is not {state}")

    def fail_over(self, pause=0):
        """Kills the server, and lets the standby take over."""
        self.primary.kill()
        time.sleep(pause)
        # The standby does not wait for another one: there is none.
        self.standby.rows("ALTER SYSTEM SET synchronous_standby_names = ''")
        self.standby.rows("SELECT pg_reload_conf()")
        self.standby.promote()
        gone, self.primary = self.primary, self.standby
        return gone

    # What the members ask a server.

    def rows(self, sql, *values):
        return self.primary.rows(sql, *values)

    def deadlocks(self):
        # The log of a server that is gone stays in its folder, where the next standby goes on with it.
        return self.primary.deadlocks() + self.standby.said().count("deadlock detected")


def run(bench):
    """In each round a synchronous standby takes over or stands still. At the end one that lags behind takes over."""
    runtime, deck = fleets.new_runtime(bench), []
    with contextlib.ExitStack() as stack:
        servers = Pair(stack, is_synchronous=bench.plant is None)
        group = [Member(bench, name, servers, runtime, address=servers.address) for name in ("one", "two")]
        with fleets.come_up(*group) as members:
            if bench.plant:
                bench.round = 1
                lose(bench, members, noticed=False)
                return
            with fleets.loaded(bench, members) as client:
                for number in bench.each_round():
                    kind = fleets.draw(bench, deck, FAULTS)
                    fleets.one_round(bench, members, [(kind, FAULTS[kind])])
                    client.rest(bench)
            for member in members:
                member.begin()
            until(60, lambda: len(fleets.ready_hosts(members)) == len(fleets.HOSTS))
            lose(bench, members)


# ---- Faults in which nothing is lost


def fail_over(bench, members):
    """The new server gets a standby of its own in the folder of the old one."""
    servers = members[0].server
    gone = servers.fail_over(bench.random.uniform(0, 2))
    bench.note(f"the server with port {servers.primary.port} has taken over")
    shutil.rmtree(gone.data)
    servers.follow(gone.port, is_synchronous=True)


def stop_standby(bench, members):
    """Commits wait for a standby that stands still, and no coordinator may take another one for silent."""
    seconds = bench.random.uniform(1, 8)
    standby = members[0].server.standby
    standby.signal(signal.SIGSTOP)
    time.sleep(seconds)
    standby.signal(signal.SIGCONT)


FAULTS = {"failover": fail_over, "standby stopped": stop_standby}


# ---- A standby that lags behind


def lose(bench, members, noticed=True):
    """The standby gets nothing more, work goes on, and then the standby takes over. With `noticed` the fleet must be
    paused, and go on when the operator says so. Otherwise what was lost is reported as a violation, so that the row is
    seen to notice lost commits."""
    first, servers = members[0], members[0].server
    servers.confirm(is_synchronous=False)
    client = Submitter(first, batch=4, pause=0.05)
    client.start()
    client.rest(bench)
    servers.standby.stop_following()
    new = list(fleets.submit(bench, members))
    promised = len(client.promised)
    until(30, lambda: fleets.batches_of(new) >= 16 and len(client.promised) > promised + 20)
    begin = time.monotonic()
    servers.fail_over(bench.random.uniform(0, 1))
    promoted = wall_clock()
    client.stop()
    is_paused = until(NOTICED_WITHIN_SECONDS, lambda: first.rows("SELECT is_paused FROM store") == [(1,)], every=0.1)
    bench.figure("seconds until lost commits were noticed", round(time.monotonic() - begin, 2))
    says_why = lambda: [member.name for member in members if SET_BACK in member.said()]
    until(10, says_why)
    bench.note(f"{says_why()} say that commits are lost; the fleet is {'paused' if is_paused else 'not paused'}")
    if not noticed:
        bench.land("failover to a standby that lags")
        for member in members:
            member.kill_coordinator()
        client.check(bench)
        return
    kept = {key for (key,) in first.rows("SELECT key FROM submission")}
    lost = len(client.promised.keys() - kept)
    bench.figure("acknowledged submissions that were lost with a server, and noticed", lost)
    if lost:
        bench.land("failover to a standby that lags")
    bench.expect(is_paused, "commits are lost with a server, and the fleet is not paused")
    bench.expect(says_why(), f"commits are lost with a server, and no coordinator says it: {first.said()[-400:]!r}")
    go_on(bench, members, promoted)


def go_on(bench, members, promoted):
    """The coordinators end, and are started again. Nothing may run before the operator says so; then jobs run, also
    those that were lost in the middle."""
    first = members[0]
    for member in members:
        bench.expect(until(30, lambda: not member.runs), f"{member.name} goes on with a store that lacks its commits")
        member.kill_coordinator()
        member.begin()
    back = until(60, lambda: len(fleets.ready_hosts(members)) == len(fleets.HOSTS))
    bench.expect(back, f"after the loss only {fleets.ready_hosts(members)} come back")
    started = first.rows("SELECT count(*) FROM launch WHERE started_at > ?", promoted)[0][0]
    bench.expect(started == 0, f"{started} launches began while the fleet was paused")
    bench.expect(first.rows("SELECT is_paused FROM store") == [(1,)], "a restart has let the fleet go on")
    first.baton("resume")
    new = list(fleets.submit(bench, members))
    bench.expect(jobs.wait_until_done(first), f"after 'baton resume' jobs are stuck: {fleets.unfinished(first)}")
    jobs.check(bench, first, new)
    jobs.check_launches(bench, first)
    deadlocks = first.server.deadlocks()
    bench.expect(deadlocks == 0, f"there were {deadlocks} deadlocks")
    for member in members:
        status = member.stop_coordinator()
        bench.expect(status == 0, f"after SIGTERM {member.name} ended with {status}: {member.said()[-300:]!r}")
