"""An old copy of the store is put in place while nothing runs: the coordinator, the workers and PostgreSQL are all
started again (promise P12). Nothing that lives remembers what is missing, but each worker keeps its receipts in its data
folder, and brings them with its first hello. So the fleet is paused, and no batch runs again before a person has looked.
The store is in its file, or in PostgreSQL."""

import contextlib
import re
import subprocess
import time

import jobs
from bench import until
from database import Database
from fleet import Fleet

LEASE_SECONDS = 20
# More than the row needs.
BATCHES = 20_000
PAUSE_SECONDS = 0.02
# A worker writes its receipts so often while its connection lasts.
KEPT_EVERY_SECONDS = 5
NOTICED_WITHIN_SECONDS = 20
# For so long nothing may run of what is noticed.
QUIET_SECONDS = 2
WENT_BACKWARDS = b"the store went backwards"


def run(bench):
    for number in bench.each_round():
        with contextlib.ExitStack() as stack:
            server = stack.enter_context(Database()) if number % 2 == 0 else None
            environment = {"BATON_STORE": server.address} if server else {}
            fleet = stack.enter_context(Fleet(bench, LEASE_SECONDS, environment))
            one_round(bench, fleet, server)


def one_round(bench, fleet, server):
    start(fleet)
    job = jobs.new_job(fleet, "restored", batches=BATCHES, pause=PAUSE_SECONDS)
    jobs.submit(fleet, [job])
    jobs.wait_for_lines(job, 5)
    store = Copy(fleet, server)
    end(fleet, server, is_orderly=True)
    store.take()
    if server:
        server.start()
    start(fleet)
    # Until the worker has written a receipt that the copy does not cover.
    written = receipts(fleet)
    if not until(4 * KEPT_EVERY_SECONDS, lambda: receipts(fleet) > written and len(jobs.lines_of(job)) > 20):
        raise RuntimeError("the worker does not keep its receipts")
    end(fleet, server, is_orderly=bench.random.random() < 0.5)
    store.put_back()
    if bench.plant:
        (fleet.folder / "host-anna" / "receipts").unlink()
    if server:
        server.start()
    offset = fleet.log.stat().st_size
    start(fleet)
    name = "PostgreSQL" if server else "the file"
    said = until(NOTICED_WITHIN_SECONDS, lambda: WENT_BACKWARDS in fleet.said(offset))
    bench.expect(said, f"an old copy in {name} was not noticed by the receipts of the worker")
    if not said:
        return
    before = len(jobs.lines_of(job))
    time.sleep(QUIET_SECONDS)
    bench.expect(len(jobs.lines_of(job)) == before, f"batches run on an old copy in {name} before the fleet is resumed")
    bench.land(f"an old copy in {name}")
    fleet.baton("resume")
    bench.expect(jobs.wait_for_lines(job, before + 3, seconds=40), f"after 'baton resume' nothing runs, in {name}")


def start(fleet):
    if not fleet.start_coordinator(seconds=40):
        raise RuntimeError(f"the coordinator does not start: {fleet.said()[-500:]!r}")
    fleet.start_host("anna")


def end(fleet, server, is_orderly):
    """Ends everything that could remember."""
    if is_orderly:
        fleet.stop_coordinator()
    for name in list(fleet.hosts):
        fleet.kill_host(name)
    fleet.kill_coordinator()
    if server:
        server.stop()


def receipts(fleet):
    """The sum of the commits in the worker's receipts."""
    try:
        text = (fleet.folder / "host-anna" / "receipts").read_text()
    except FileNotFoundError:
        return 0
    return sum(int(number) for number in re.findall(r"^-?\d+ (\d+) ", text, re.MULTILINE))


class Copy:
    """A copy of a store that no process has open."""

    def __init__(self, fleet, server):
        self.fleet, self.server = fleet, server
        self.database = server.data if server else fleet.database
        self.path = server.folder / "copy" if server else fleet.folder / "copy.sqlite"

    def take(self):
        subprocess.run(["cp", "-a", self.database, self.path], check=True, timeout=60)

    def put_back(self):
        if self.server:
            subprocess.run(["rm", "-rf", self.database], check=True, timeout=60)
        else:
            for suffix in ("-wal", "-shm"):
                self.database.with_name(self.database.name + suffix).unlink(missing_ok=True)
        subprocess.run(["cp", "-a", self.path, self.database], check=True, timeout=60)
