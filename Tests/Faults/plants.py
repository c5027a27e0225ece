"""Planted bugs on the real binaries. Each row must catch the bug that is planted for it. Some bugs are libraries
between Baton and the system (plants.c), some are triggers that undo in the store what Baton writes, and one is an older
database that a row puts in the place of its own."""

import contextlib
import dataclasses
import pathlib
import shutil
import sqlite3
import subprocess

from bench import Skipped


@dataclasses.dataclass(frozen=True)
class Plant:
    """A bug: its name, the row that must catch it, the number of rounds, the message that the row must print (a regular
    expression), and the trigger, if the bug is a trigger."""

    name: str
    row: str
    rounds: int
    said: str
    trigger: str = ""

    def library(self, bench):
        if self.trigger:
            return None
        library = bench.folder / "plants.so"
        if not library.exists():
            compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
            if compiler is None:
                raise Skipped("there is no C compiler")
            source = pathlib.Path(__file__).with_name("plants.c")
            command = [compiler, "-O1", "-Wall", "-Werror", "-shared", "-fPIC", "-o", library, source, "-ldl", "-pthread"]
            subprocess.run(command, check=True, timeout=60)
        return str(library)

    def put_into(self, database):
        if self.trigger:
            with contextlib.closing(sqlite3.connect(database, timeout=10)) as connection:
                connection.executescript(f"CREATE TRIGGER IF NOT EXISTS planted {self.trigger}")


# A launch that lost its lease commits one more batch, as if the fence did not exist.
STALE_COMMIT = """AFTER UPDATE OF outcome ON launch WHEN NEW.outcome = 'lost'
    BEGIN UPDATE progress SET batches = batches + 1 WHERE request = NEW.request AND batches BETWEEN 1 AND 50; END"""
# An acknowledged checkpoint disappears.
LOST_CHECKPOINT = """AFTER UPDATE OF batches ON progress WHEN NEW.batches = 20
    BEGIN UPDATE progress SET batches = 18 WHERE request = NEW.request; END"""
LOST_SUBMISSION = """AFTER INSERT ON submission WHEN NEW.id % 50 = 9
    BEGIN DELETE FROM submission WHERE id = NEW.id; END"""
# A request that was lost is never resumed.
NO_REQUEUE = """AFTER UPDATE OF state ON request WHEN OLD.state = 2 AND NEW.state = 1
    BEGIN UPDATE request SET state = 0, cause = 0, eligible_at = 9000000000000000000 WHERE id = NEW.id; END"""
LOST_SPAN = """AFTER INSERT ON unsent_span WHEN NEW.request % 3 = 0
    BEGIN DELETE FROM unsent_span WHERE request = NEW.request; END"""
# The store forgets the secret of a name, so the next worker that uses the name gets it.
FORGETS_SECRETS = """AFTER INSERT ON host WHEN NEW.secret IS NOT NULL
    BEGIN UPDATE host SET secret = NULL WHERE name = NEW.name; END"""
# A transfer is forgotten, so no launch is told of it.
LOST_TRANSFER = """AFTER INSERT ON transfer WHEN NEW.number = 2
    BEGIN DELETE FROM transfer WHERE request = NEW.request AND number = 2; END"""
# A notification is forgotten, so its receiver is not told.
LOST_NOTIFICATION = """AFTER INSERT ON notification WHEN NEW.subject % 3 = 0
    BEGIN DELETE FROM notification WHERE subject = NEW.subject AND position = NEW.position; END"""
# Each attempt has an id of its own.
OTHER_ID = """AFTER UPDATE OF attempts ON notification WHEN NEW.attempts > OLD.attempts
    BEGIN UPDATE notification SET id = NEW.id || 'x' WHERE subject = NEW.subject AND position = NEW.position; END"""

TABLE = [
    Plant("no-requeue", "workers", 6, "jobs are stuck", NO_REQUEUE),
    Plant("stale-commit", "workers", 30, "began with batch", STALE_COMMIT),
    Plant("lost-submission", "coordinator", 6, "acknowledged submissions are lost", LOST_SUBMISSION),
    Plant("lost-checkpoint", "coordinator", 6, "is not the next one", LOST_CHECKPOINT),
    Plant("stale-commit-of-zombies", "zombies", 10, "began with batch", STALE_COMMIT),
    Plant("stale-commit-after-partition", "partitions", 10, "began with batch", STALE_COMMIT),
    Plant("group-kill-only", "hostile", 4, "left"),
    Plant("no-sync", "power", 4, "acknowledged submissions are lost"),
    Plant("traps-on-damage", "torn", 40, "trapped"),
    Plant("wall-clock", "clocks", 6, "because the clock jumped"),
    # What the row finds depends on the page that is missing.
    Plant("swallows-full", "disk-full", 8, "no submission is accepted|the coordinator ended|row did not get to its end"),
    Plant("swallows-eio", "disk-failing", 4, "still runs"),
    Plant("stalls-with-disk", "disk-slow", 5, "because the disk was slow"),
    # The row itself puts an older copy of the database in its place.
    Plant("sets-back", "postgres", 1, "because the store was set back"),
    # The server does with commits what synchronous_commit = off does, which coordinators refuse.
    Plant("answers-early", "postgres", 1, "acknowledged submissions are lost"),
    # The row takes back that the coordinator was ended.
    Plant("has-no-fence", "postgres", 1, "has committed something after its tenure was ended"),
    # The store forgets the steady times, as it did when requests were kept by the wall clock.
    Plant("keeps-by-wall-clock", "postgres", 1, "were deleted before their time"),
    # The relay rolls a commit back, and answers that it was made.
    Plant("forges-answers", "postgres-commits", 1, "a commit that was answered was not made"),
    # Commits do not wait for the standby.
    Plant("waits-for-nobody", "postgres-standby", 1, "acknowledged submissions are lost"),
    # The row itself puts a trigger into the store.
    Plant("lost-submission", "postgres-full", 1, "acknowledged submissions are lost"),
    Plant("lost-checkpoint", "postgres-cut-off", 1, "the next batch is 8"),
    # The row takes the mark of a store away that has moved.
    Plant("forgets-marks", "move", 1, "a coordinator can start on"),
    # The row takes the worker's receipts away.
    Plant("forgets-receipts", "restore", 1, "an old copy in the file was not noticed"),
    Plant("halves-files", "transfers", 3, "is not what the server holds"),
    Plant("asks-for-no-ranges", "transfers", 8, "fetched from the beginning"),
    Plant("lost-transfer", "transfers", 8, "was told to no launch", LOST_TRANSFER),
    Plant("lost-notification", "webhooks", 1, "was not told", LOST_NOTIFICATION),
    Plant("draws-another-id", "webhooks", 3, "another id", OTHER_ID),
    Plant("lost-span", "telemetry", 3, "is missing", LOST_SPAN),
    Plant("traps-on-garbage", "frames", 2000, "the coordinator ended"),
    Plant("leaks-sockets", "frames", 3000, "connections are left open"),
    Plant("traps-on-alias", "yaml", 500, "trapped"),
    Plant("leaks-sockets", "hostile-clients", 1, "connections that say nothing are open"),
    Plant("forgets-secrets", "hostile-clients", 12, "the name of a host was taken over", FORGETS_SECRETS),
    Plant("slow-start", "overload", 4000, "after a restart took"),
]
