"""A fleet moves its store to PostgreSQL and back while its workers run launches (promises P1, P3, P11). `baton store move`
is killed on the way, at any time; a coordinator can start on one of the two stores at most, and the next move goes on.
No launch ends, and no batch runs twice."""

import contextlib
import signal
import sqlite3
import subprocess
import time

import jobs
from bench import until
from database import Database
from fleet import Fleet

LEASE_SECONDS = 30
BATCHES = 40
# A batch takes at least twice this time.
PAUSE_SECONDS = 0.15
# What SQLite's header says of a database that a coordinator may open: "Batn".
STORE = 0x4261746E
KILLS = 3


def run(bench):
    with Database() as server:
        for _ in bench.each_round():
            server.rows("DROP SCHEMA public CASCADE; CREATE SCHEMA public")
            with Fleet(bench, LEASE_SECONDS) as fleet:
                one_round(bench, fleet, server)


def one_round(bench, fleet, server):
    if not fleet.start_coordinator():
        raise RuntimeError(f"the coordinator does not start: {fleet.said()[-500:]!r}")
    fleet.start_host("anna")
    job = jobs.new_job(fleet, "moved", batches=BATCHES, pause=PAUSE_SECONDS)
    jobs.submit(fleet, [job])
    jobs.wait_for_lines(job, 2)
    for target in (server.address, str(fleet.data)):
        status = fleet.stop_coordinator()
        bench.expect(status == 0, f"after SIGTERM the coordinator ended with {status}")
        move(bench, fleet, server, target)
        before = len(jobs.lines_of(job))
        if target == server.address:
            expect_refusal(bench, fleet)
            fleet.environment["BATON_STORE"] = target
        else:
            del fleet.environment["BATON_STORE"]
        if not fleet.start_coordinator(seconds=40):
            raise RuntimeError(f"no coordinator starts after a move: {fleet.said()[-500:]!r}")
        jobs.wait_for_lines(job, before + 2)
        bench.land("to PostgreSQL" if target == server.address else "back")
    bench.expect(jobs.wait_until_done(fleet), "the job does not end after the moves")
    shown = fleet.show(job.identifier)
    bench.expect(shown["launches"] == 1, f"a launch was lost: {shown['launches']} launches")
    jobs.check(bench, fleet, [job])


def move(bench, fleet, server, target):
    """Kills moves, and then lets one end."""
    command = [fleet.bench.binaries / "baton", "store", "move", "--to", target, "--data", fleet.data]
    for _ in range(KILLS):
        process = subprocess.Popen(
            command, env=fleet.environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(bench.random.uniform(0, 0.6))
        process.send_signal(signal.SIGKILL)
        process.wait()
        # The server ends the session of a dead client when it next looks.
        bench.expect(
            until(20, lambda: server.rows("SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'") == [(1,)]),
            "the session of a move that was killed does not end")
        stores = live_stores(fleet, server)
        bench.expect(len(stores) <= 1, f"a coordinator can start on {stores}")
        if process.returncode == 0 or target_name(target) in stores:
            # The move was faster than the kill.
            bench.land("killed after the end")
            return
        bench.land("killed")
    done = fleet.baton("store", "move", "--to", target, "--data", fleet.data, check=False, seconds=60)
    bench.expect(done.returncode == 0, f"a move after {KILLS} that were killed: {done.stderr[-400:]!r}")
    stores = live_stores(fleet, server)
    bench.expect(stores == [target_name(target)], f"after the move a coordinator can start on {stores}")


def target_name(target):
    return "PostgreSQL" if target.startswith("postgres") else "the folder"


def live_stores(fleet, server):
    """The stores on which a coordinator can start."""
    found = []
    with contextlib.closing(sqlite3.connect(fleet.database)) as connection:
        if connection.execute("PRAGMA application_id").fetchone() == (STORE,):
            found.append("the folder")
    tables = server.rows("SELECT to_regclass('baton_schema') IS NOT NULL, to_regclass('baton_move') IS NULL")
    if tables in ([(True, True)], [("t", "t")]):
        found.append("PostgreSQL")
    return found


def expect_refusal(bench, fleet):
    start = len(fleet.said())
    bench.expect(not fleet.start_coordinator(), "a coordinator starts on the store that has moved")
    bench.expect(b"has moved to" in fleet.said(start), f"the refusal does not say where the store is: {fleet.said(start)!r}")
