"""A store that is not as the coordinator left it: cut, flipped, old, or from another store. The coordinator must start
with a consistent prefix of what happened, or refuse and name the cause."""

import contextlib
import shutil
import sqlite3
import struct
import time

import jobs
from bench import until
from disks import TRAPS
from fleet import Fleet, started
from submitter import define

FRAME_HEADER, FILE_HEADER = 24, 32
FILES = ["baton.sqlite", "baton.sqlite-wal"]
WORDS_OF_CAUSE = (b"damaged", b"database", b"disk", b"malformed")


def run(bench):
    """Damages a store with a long log and some history: cuts the log at frames and within a frame, flips bits in the
    log and in the database, and puts files of another store or another time in their place."""
    with Fleet(bench) as fleet:
        original = make_store(bench, fleet)
        keys = original.keys
        kinds = [cut_at_frame, cut_in_frame, flip_log, flip_database, swap]
        for number in bench.each_round():
            shutil.rmtree(fleet.data, ignore_errors=True)
            shutil.copytree(original.folder, fleet.data)
            kind = kinds[number % len(kinds)]
            what = kind(bench, fleet.data, original, number // len(kinds))
            bench.note(what)
            bench.land(kind.__name__.replace("_", " "))
            look(bench, fleet, keys, what)
    old_backups(bench)


class Original:
    """A folder as a killed coordinator leaves it, an older copy of its database, and its submissions in their order."""

    def __init__(self, folder, older, keys):
        self.folder = folder
        self.older = older
        self.keys = keys
        log = (folder / FILES[1]).read_bytes()
        self.frame = FRAME_HEADER + struct.unpack(">I", log[8:12])[0]
        self.frames = (len(log) - FILE_HEADER) // self.frame


def make_store(bench, fleet):
    """Makes a store in which requests have ended, requests wait, and most of the content is in the log only."""
    started(fleet, ["anna"])
    define(fleet)
    done = [jobs.new_job(fleet, f"done{n}", batches=3, pause=0) for n in range(4)]
    jobs.submit(fleet, done)
    jobs.wait_until_done(fleet)
    older = fleet.folder / "older.sqlite"
    fleet.stop_coordinator()
    shutil.copy(fleet.data / FILES[0], older)
    fleet.start_coordinator()
    client, keys = fleet.client(), []
    for number in range(120):
        items = [(f"key-{number}-{n}", f"com.example.parked.{number}-{n}") for n in range(2)]
        client.submit(items)
        keys += [key for key, _ in items]
    client.close()
    fleet.kill_host("anna")
    fleet.kill_coordinator()
    folder = fleet.folder / "original"
    shutil.copytree(fleet.data, folder)
    return Original(folder, older, keys)


# ---- What is done to it


def cut_at_frame(bench, data, original, number):
    frame = number % original.frames if not bench.is_quick else bench.random.randrange(original.frames)
    return cut(data, FILE_HEADER + frame * original.frame)


def cut_in_frame(bench, data, original, _):
    size = FILE_HEADER + original.frames * original.frame
    return cut(data, bench.random.randrange(size))


def cut(data, size):
    with open(data / FILES[1], "r+b") as file:
        file.truncate(size)
    return f"log cut at byte {size}"


def flip_log(bench, data, _, __):
    return flip(bench, data / FILES[1])


def flip_database(bench, data, original, _):
    """Flips a bit of the database. The log is copied into it first, so that the database is what is read."""
    with contextlib.closing(sqlite3.connect(data / FILES[0])) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return flip(bench, data / FILES[0])


def flip(bench, path):
    content = bytearray(path.read_bytes())
    if not content:
        raise RuntimeError(f"{path} is empty: there is nothing to flip")
    at, bit = bench.random.randrange(len(content)), bench.random.randrange(8)
    content[at] ^= 1 << bit
    path.write_bytes(content)
    return f"bit {bit} of byte {at} of {path.name} flipped"


def swap(bench, data, original, number):
    """Replaces files by those of other times and other programs, one kind after the other."""
    database, log = data / FILES[0], data / FILES[1]
    choices = ["older database, newer log", "no log", "log only", "another program's database", "text", "empty", "exchanged"]
    choice = choices[number % len(choices)]
    match choice:
        case "older database, newer log":
            shutil.copy(original.older, database)
        case "no log":
            log.unlink()
        case "log only":
            database.unlink()
        case "another program's database":
            log.unlink()
            database.unlink()
            with contextlib.closing(sqlite3.connect(database)) as connection:
                connection.execute("CREATE TABLE request (id)")
                connection.commit()
        case "text":
            database.write_text("this is no database\n" * 400)
        case "empty":
            database.write_bytes(b"")
        case "exchanged":
            first, second = database.read_bytes(), log.read_bytes()
            database.write_bytes(second)
            log.write_bytes(first)
    return choice


# ---- What must come of it


def look(bench, fleet, keys, what):
    start = len(fleet.said())
    if fleet.start_coordinator(seconds=30):
        look_at_started(bench, fleet, keys, what)
        return
    status, said = fleet.coordinator.returncode, fleet.said(start)
    if status is None:
        fleet.kill_coordinator()
        return bench.violation(f"{what}: neither started nor refused after 30 s: {said[-300:]!r}")
    bench.expect(status not in TRAPS, f"{what}: trapped with {status}: {said[-300:]!r}")
    named = any(word in said.lower() for word in WORDS_OF_CAUSE)
    good = status in TRAPS or (status != 0 and named)
    bench.expect(good, f"{what}: refused with {status} and no cause: {said[-300:]!r}")
    bench.figure("refused with a named cause", bench.figures.get("refused with a named cause", 0) + 1)
    return None


def look_at_started(bench, fleet, keys, what):
    """The coordinator must answer every question and end by SIGTERM, and its store must be a prefix of what
    happened."""
    bench.figure("started", bench.figures.get("started", 0) + 1)
    listed = fleet.baton("list", "--all", "-o", "json", check=False)
    time.sleep(0.02)
    status = fleet.stop_coordinator() if fleet.runs else fleet.coordinator.returncode
    ended = status is not None and status not in TRAPS
    bench.expect(ended, f"{what}: started, then ended with {status}: {fleet.said()[-300:]!r}")
    bench.expect(listed.returncode == 0, f"{what}: started, but `list` says {listed.stderr[-200:]!r}")
    try:
        for problem in inconsistencies(fleet, keys):
            bench.violation(f"{what}: started on a store where {problem}")
    except sqlite3.Error as error:
        bench.violation(f"{what}: started on a store that cannot be read: {error}")


def inconsistencies(fleet, keys):
    """What is inconsistent in the store. Half of a transaction would show here."""
    found = [text for (text,) in fleet.rows("PRAGMA integrity_check") if text != "ok"][:2]
    found += [f"a foreign key is broken: {row}" for row in fleet.rows("PRAGMA foreign_key_check")][:2]
    present = [key for (key,) in fleet.rows("SELECT key FROM submission WHERE key LIKE 'key-%' ORDER BY id")]
    if present != keys[: len(present)]:
        found.append("the submissions are no prefix of those that were made")
    checks = {
        "a submission has no request": "SELECT 1 FROM submission s WHERE NOT EXISTS (SELECT 1 FROM request WHERE id = s.request)",
        "launches are missing": "SELECT 1 FROM request r WHERE launches <> (SELECT count(*) FROM launch WHERE request = r.id)",
        "a succeeded request lacks batches": "SELECT 1 FROM request r JOIN progress p ON p.request = r.id WHERE r.state = 3 AND"
        " p.batches <> (SELECT sum(batches) FROM launch WHERE request = r.id)",
        "the counts of a pattern are wrong": "SELECT 1 FROM pattern p WHERE (SELECT coalesce(sum(scheduled + ready + running +"
        " succeeded + failed + cancelled), 0) FROM share WHERE pattern = p.id) <> (SELECT count(*) FROM request r JOIN definition d ON d.id = r.definition WHERE d.pattern = p.id)",
    }
    return found + [text for text, sql in checks.items() if fleet.rows(sql)]


def old_backups(bench):
    """A store that went backwards under a live worker must be noticed, and no answered batch may run again unnoticed
    (promise P12): the coordinator must report it, or the request must have an event for it."""
    for bench.round in range(1, max(1, bench.rounds // 50) + 1):
        with Fleet(bench) as fleet:
            started(fleet, ["anna"])
            job = jobs.new_job(fleet, "restored", batches=150, pause=0.01)
            jobs.submit(fleet, [job])
            jobs.wait_for_lines(job, 5)
            backup = fleet.folder / "backup.sqlite"
            with contextlib.closing(sqlite3.connect(fleet.database)) as connection:
                connection.execute("VACUUM INTO ?", [str(backup)])
            jobs.wait_for_lines(job, 40)
            fleet.kill_coordinator()
            for name in [*FILES, "baton.sqlite-shm"]:
                (fleet.data / name).unlink(missing_ok=True)
            shutil.copy(backup, fleet.database)
            check_noticed(bench, fleet, job)


def check_noticed(bench, fleet, job):
    start = len(fleet.said())
    if not fleet.start_coordinator():
        bench.land("old backup")
        said = fleet.said(start)
        return bench.expect(b"backup" in said, f"an old backup: refused with no cause: {said[-300:]!r}")
    until(20, lambda: b"backwards" in fleet.said(start))
    shown = fleet.baton("show", job.identifier, "-o", "json", check=False).stdout
    ran = [batch for _, batch, _ in jobs.lines_of(job)]
    again = len(ran) - len(set(ran))
    bench.land("old backup")
    bench.expect(b"backwards" in fleet.said(start), "an old backup under a live worker was not noticed")
    bench.expect(b"storeWentBackwards" in shown, f"the request does not say that the store went backwards: {shown[-300:]!r}")
    bench.expect(again == 0, f"{again} batches ran again after an old backup before anybody said so")
    fleet.baton("resume")
    bench.expect(jobs.wait_until_done(fleet, seconds=20), "after 'baton resume' the job did not go on")
    return None
