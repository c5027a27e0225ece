"""A fleet moves its store to PostgreSQL and back while its coordinator and its workers run (promises P1, P3, P11). The
coordinator, the command or PostgreSQL is killed at a named point of the move. Then a coordinator can start on one of
the two stores at most; the coordinator is started again with the settings that it had, as a service manager does,
and goes on where the store is. No launch ends, and no batch runs twice."""

import contextlib
import shutil
import signal
import sqlite3
import subprocess

import jobs
from bench import until
from database import Database, new_folder
from fleet import Fleet
from relay import Point, Relay

LEASE_SECONDS = 60
# More than the rounds need; at the end the job is cancelled.
BATCHES = 20_000
# A batch takes at least twice this time.
PAUSE_SECONDS = 0.15
# What SQLite's header says of a database that a coordinator may open: "Batn".
STORE = 0x4261746E
FOLDER, DATABASE = "the folder", "PostgreSQL"
# What a connection has said when its copy is compared.
COMPARED = b"DECLARE move_"
# The points that the server sees, in their order, and whether the store has left its old place there.
POINTS = {
    DATABASE: [
        (Point("in the copy", b"INSERT INTO request "), False),
        (Point("in the comparison", b"DECLARE move_request "), False),
        (Point("before the copy is committed", b"COMMIT", COMPARED), False),
        (Point("after the copy is committed", b"COMMIT", COMPARED, is_after=True), False),
        (Point("after the store has left", b"DROP TABLE baton_move", COMPARED), True),
        (Point("after the copy is live", b"DROP TABLE baton_move", COMPARED, is_after=True), True),
    ],
    FOLDER: [
        (Point("in the copy", b"DECLARE move_request "), False),
        (Point("after the copy is in place", b"LOCK TABLE coordinator"), False),
        (Point("before the store leaves", b"COMMIT", b"CREATE FUNCTION refuse_moved_store"), False),
        (Point("after the store has left", b"COMMIT", b"CREATE FUNCTION refuse_moved_store", is_after=True), True),
    ],
}
VICTIMS = ["coordinator", "command", "interrupted command", "server"]


def run(bench):
    decks = {place: [] for place in POINTS}
    with Database() as server, relay(server) as between, Fleet(bench, LEASE_SECONDS) as fleet:
        move = Move(bench, fleet, server, between)
        move.start()
        fleet.start_host("anna")
        job = jobs.new_job(fleet, "moved", batches=BATCHES, pause=PAUSE_SECONDS)
        jobs.submit(fleet, [job])
        move.job = job
        jobs.wait_for_lines(job, 2)
        for _ in bench.each_round():
            for place, deck in decks.items():
                if not deck:
                    deck += [(point, victim) for point in POINTS[place] for victim in VICTIMS]
                    bench.random.shuffle(deck)
                move.one(place, *deck.pop())
        shown = fleet.show(job.identifier)
        bench.expect(shown["launches"] == 1, f"a launch was lost: {shown['launches']} launches")
        fleet.baton("cancel", job.identifier)
        batches = [batch for _, batch, _ in jobs.lines_of(job)]
        bench.expect(batches == list(range(len(batches))), "the batches are not one after the other, each once")


@contextlib.contextmanager
def relay(server):
    folder = new_folder()
    made = Relay(folder, server.folder, server.port)
    try:
        yield made
    finally:
        made.close()
        shutil.rmtree(folder, ignore_errors=True)


class Move:
    def __init__(self, bench, fleet, server, between):
        self.bench, self.fleet, self.server, self.relay = bench, fleet, server, between
        self.job = None

    def start(self):
        """Starts the coordinator, with the same settings each time."""
        if not self.fleet.start_coordinator(seconds=40):
            raise RuntimeError(f"the coordinator does not start: {self.fleet.said()[-500:]!r}")

    def target(self, place):
        return self.relay.address if place == DATABASE else str(self.fleet.data)

    def spawn(self, place):
        command = [self.bench.binaries / "baton", "store", "move", "--to", self.target(place)]
        return subprocess.Popen(
            command, env=self.fleet.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT)  # fmt: skip

    def one(self, place, point, victim):
        """Kills the victim at the point of a move to this place, and then lets a move get there."""
        point, has_left = point
        name = f"{victim}, on the way to {place}, {point.name}"
        self.bench.note(name)
        self.relay.hold(point)
        command = self.spawn(place)
        if not until(30, lambda: self.relay.landed or command.poll() is not None) or not self.relay.landed:
            self.relay.let_go()
            command.kill()
            said = command.communicate()[0][-400:]
            self.bench.violation(f"{name}: the move did not come to the point: {said!r}")
            return
        self.strike(victim, command)
        self.relay.let_go()
        self.recover(victim, place, has_left, name)
        said = command.communicate(timeout=60)[0]
        self.bench.note(f"the command said {said[-200:]!r}")
        self.bench.land(f"{victim} {point.name}")
        if not has_left:
            self.finish(place)
        if self.bench.plant:
            self.forget_mark()
        self.expect_one(place, "after a move")

    def strike(self, victim, command):
        if victim == "coordinator":
            self.fleet.kill_coordinator()
        elif victim == "server":
            self.server.kill()
        else:
            command.send_signal(signal.SIGKILL if victim == "command" else signal.SIGINT)
            command.wait()

    def recover(self, victim, place, has_left, name):
        """The store is where it has to be, and the work goes on there."""
        if victim == "server":
            self.server.start()
        other = FOLDER if place == DATABASE else DATABASE
        # A coordinator whose store has left ends, also if the command is gone. One that runs has the folder's lock.
        # Where its connection broke in the commit by which the store leaves, it ends to find out where the store is.
        may_end = has_left or victim == "coordinator" or place == FOLDER
        if has_left and not until(30, lambda: not self.fleet.runs):
            self.bench.violation(f"{name}: the coordinator does not end")
        if may_end and until(3, lambda: not self.fleet.runs):
            stores = self.live_stores()
            self.bench.expect(len(stores) <= 1, f"{name}: a coordinator can start on {stores}")
            self.start()
        self.bench.expect(self.fleet.runs, f"{name}: the coordinator ended: {self.fleet.said()[-300:]!r}")
        self.expect_one(place if has_left else other, name)
        self.expect_work(name)

    def finish(self, place):
        command = self.spawn(place)
        said = command.communicate(timeout=120)[0]
        self.bench.expect(command.returncode == 0, f"a move after one that was killed: {said[-400:]!r}")
        if not until(30, lambda: not self.fleet.runs):
            self.bench.violation("the coordinator does not end after the move")
        status = self.fleet.coordinator.poll()
        self.bench.expect(status == 75, f"after the move the coordinator ended with {status}")
        self.start()
        self.expect_work("after a move")

    def expect_work(self, name):
        before = len(jobs.lines_of(self.job))
        if not jobs.wait_for_lines(self.job, before + 3, seconds=40):
            self.bench.violation(f"{name}: the work does not go on")

    def expect_one(self, place, name):
        stores = self.live_stores()
        self.bench.expect(stores == [place], f"{name}: a coordinator can start on {stores}, and not on {place} only")

    def live_stores(self):
        """The stores on which a coordinator can start."""
        found = []
        with contextlib.closing(sqlite3.connect(self.fleet.database, timeout=10)) as connection:
            if connection.execute("PRAGMA application_id").fetchone() == (STORE,):
                found.append(FOLDER)
        (tables,) = self.server.rows(
            "SELECT (to_regclass('baton_schema') IS NOT NULL AND to_regclass('baton_move') IS NULL)::int")
        return found + ([DATABASE] if tables == (1,) else [])

    def forget_mark(self):
        """The planted bug: the folder's store loses the mark that it has moved."""
        with contextlib.closing(sqlite3.connect(self.fleet.database, timeout=10)) as connection:
            connection.executescript(f"DROP TABLE IF EXISTS baton_move; PRAGMA application_id = {STORE}")
