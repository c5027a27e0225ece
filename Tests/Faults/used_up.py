"""Two coordinators on a PostgreSQL server that has no room (promises P1 to P3): the disk of its tables is full, or that
of its log, or others have all its connections. What was answered is kept, clients are told why nothing more is taken,
and the work goes on once there is room, without a hand."""

import contextlib
import os
import shutil
import socket
import struct
import subprocess
import time

import members as fleets
import processes
from bench import Skipped, until
from database import Database
from members import Member

# A cluster needs 40 MiB and its log 10 MiB.
SIZES = {"data": "96m", "wal": "48m"}
SETTINGS = ["max_connections = 30", "min_wal_size = 2MB", "max_wal_size = 8MB", "wal_recycle = off"]
TOLD_WITHIN_SECONDS = 20
FULL = "disk of PostgreSQL is full"
TOO_MANY = b"too many clients"


class SmallDatabase(Database):
    """A server with two small disks, for its tables and for its log."""

    def __init__(self):
        super().__init__(SETTINGS)
        self.mounted = []

    def make(self):
        owner = self.owner or {"user": os.geteuid(), "group": os.getegid()}
        for name, size in SIZES.items():
            place = self.folder / name
            place.mkdir()
            options = f"size={size},mode=0700,uid={owner['user']},gid={owner['group']}"
            command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", place]
            made = subprocess.run(command, capture_output=True, text=True)
            if made.returncode != 0:
                raise Skipped(f"nothing may be mounted here: {made.stderr.strip()}")
            self.mounted.append(place)
        super().make()

    @property
    def options_of_initdb(self):
        return ["--waldir", self.folder / "wal", "--wal-segsize", "1"]

    def fill(self, name):
        """Takes all the room of this disk."""
        with contextlib.suppress(OSError), open(self.filler(name), "ab", buffering=0) as file:
            while True:
                file.write(bytes(4096))

    def free(self, name):
        self.filler(name).unlink()

    def filler(self, name):
        return self.folder / name / "filler"

    def close(self):
        folder, self.folder = self.folder, None
        super().close()
        for place in self.mounted:
            until(20, lambda: subprocess.run(["umount", place], stderr=subprocess.DEVNULL).returncode == 0)
        shutil.rmtree(folder, ignore_errors=True)


def run(bench):
    """In each round the server has no room for some time, and then the jobs must succeed."""
    if os.geteuid() != 0:
        raise Skipped("a small disk needs root")
    processes.leave_mounts()
    runtime = fleets.new_runtime(bench)
    with SmallDatabase() as server:
        group = [Member(bench, name, server, runtime) for name in ("one", "two")]
        spare = Member(bench, "three", server, runtime)
        with fleets.come_up(*group) as members, spare:
            fleets.enter(members[0], spare)
            if bench.plant:
                members[0].rows(LOST_SUBMISSIONS[0])
                members[0].rows(LOST_SUBMISSIONS[1])
            deck = []
            with fleets.loaded(bench, members) as client:
                for _ in bench.each_round():
                    kind = fleets.draw(bench, deck, FAULTS)
                    fault = lambda bench, members: FAULTS[kind](bench, members, client, spare)
                    fleets.one_round(bench, members, [(kind, fault)])
                    client.rest(bench)


# ---- Full disks


def fill_tables(bench, members, client, _):
    """Clients must be told that the disk is full, and each coordinator must take submissions again without a hand."""
    server = members[0].server
    begin, told = time.monotonic(), len(client.failures)
    server.fill("data")
    is_told = lambda: any(FULL in str(error.message) for error in client.failures[told:])
    until(TOLD_WITHIN_SECONDS, is_told)
    bench.expect(is_told(), f"nobody is told that the disk of PostgreSQL is full: {client.failures[told:][-2:]}")
    time.sleep(bench.random.uniform(0, 3))
    server.free("data")
    bench.note(f"the disk was full for {time.monotonic() - begin:.1f} s; {len(client.failures) - told} refusals")


def fill_log(bench, members, client, _):
    """PostgreSQL ends when it has no room for its log. Then a person makes room, and starts it again."""
    server = members[0].server
    begin = len(server.said())

    def has_fallen():
        # Segments that are not needed any more make room again.
        server.fill("wal")
        with contextlib.suppress(subprocess.SubprocessError):
            server.rows("SELECT pg_switch_wal()")
        return "PANIC" in server.said()[begin:]

    fell = until(TOLD_WITHIN_SECONDS, has_fallen, every=0.1)
    time.sleep(bench.random.uniform(0, 2))
    server.free("wal")
    ended = until(2, lambda: not server.runs)
    bench.note(f"the server has {'ended' if ended else 'gone on'}")
    if not server.runs:
        server.start()
    until(30, server.answers)
    return bool(fell)


# ---- Connections


def take_connections(bench, members, client, spare):
    """Others have all connections, and those of the coordinators are ended. A coordinator that is started now must end,
    and say why. Then there is room again."""
    server = members[0].server
    others = []
    try:
        take_all(server, others)
        ended = int(others[0].query(
            "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = 'baton'"))
        take_all(server, others)
        begin = spare.log.stat().st_size if spare.log.exists() else 0
        started = spare.start_coordinator(seconds=fleets.STARTS_WITHIN_SECONDS)
        said = spare.said(begin)
        bench.expect(not started, "a coordinator starts although there is no connection for it")
        bench.expect(TOO_MANY in said, f"a coordinator that gets no connection does not say why: {said[-400:]!r}")
        time.sleep(bench.random.uniform(0, 2))
        bench.note(f"{len(others)} connections were taken, {ended} of coordinators were ended")
    finally:
        for other in others:
            other.close()
    spare.begin()
    status = spare.stop_coordinator()
    bench.expect(status == 0, f"after SIGTERM {spare.name} ended with {status}: {spare.said()[-300:]!r}")
    return ended > 0


def take_all(server, others):
    """Opens connections until the server has no more."""
    with contextlib.suppress(ConnectionError):
        while True:
            others.append(Other(server))


class Other:
    """A connection of another program."""

    def __init__(self, server):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(20)
        self.socket.connect(f"{server.folder}/.s.PGSQL.{server.port}")
        words = b"user\0postgres\0database\0postgres\0\0"
        self.socket.sendall(struct.pack("!II", 8 + len(words), 196608) + words)
        self.file = self.socket.makefile("rb")
        self.answers()

    def answers(self):
        """The messages until the server waits for the next query. Raises ConnectionError if it refuses."""
        found = []
        while not found or found[-1][0] != b"Z":
            kind = self.file.read(1)
            if kind in (b"", b"E"):
                self.close()
                raise ConnectionError("the server lets nobody in")
            found.append((kind, self.file.read(struct.unpack("!I", self.file.read(4))[0] - 4)))
        return found

    def query(self, sql):
        """The only value that the query returns."""
        text = sql.encode() + b"\0"
        self.socket.sendall(b"Q" + struct.pack("!I", len(text) + 4) + text)
        return next(body[6:] for kind, body in self.answers() if kind == b"D")

    def close(self):
        self.file.close()
        self.socket.close()


FAULTS = {"disk full": fill_tables, "disk of the log full": fill_log, "connections used up": take_connections}

# The control: some submissions disappear from the store.
LOST_SUBMISSIONS = [
    "CREATE FUNCTION lose() RETURNS trigger LANGUAGE plpgsql AS"
    " $$ BEGIN DELETE FROM submission WHERE id = NEW.id; RETURN NULL; END $$",
    "CREATE TRIGGER loses AFTER INSERT ON submission FOR EACH ROW WHEN (NEW.id % 50 = 9) EXECUTE FUNCTION lose()",
]
