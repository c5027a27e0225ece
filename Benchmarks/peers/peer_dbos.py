"""DBOS (Python): workflows of a queue, in one process. `sqlite` or `postgres` is where it keeps them.

The queue is polled each 10 ms; the default is 1 s. No-ops are measured in two ways, of which the faster one counts:
submitted to the queue one after the other while they run, and called directly by 16 threads, without a queue. Commands
are submitted before the process knows their queue.
"""
import logging
import os
import sqlite3
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import common
from common import COMMANDS, GOES_ON, NO_OPS, START, Row, count, drain, folder, inside, median_start, seconds, until

VERSION = "3.4.0"
kind = sys.argv[1]
if kind == "postgres":
    address = common.beside_postgres().replace("postgresql://", "postgresql+psycopg://")
inside("dbos", f"dbos=={VERSION}")
import sqlalchemy  # noqa: E402
from dbos import DBOS  # noqa: E402

if kind == "sqlite":
    path = f"{folder('dbos')}/dbos.db"
    # The database keeps this mode. With its default, each commit needs more syncs of the disk.
    sqlite3.connect(path).execute("pragma journal_mode=wal")
    address = f"sqlite:///{path}"

DBOS(config={
    "name": "bench", "system_database_url": address, "run_admin_server": False, "log_level": "ERROR",
    "notification_listener_polling_interval_sec": 0.01})
begins = {}


@DBOS.workflow()
def noop(number: int) -> int:
    return number


@DBOS.workflow()
def command(number: int) -> int:
    return subprocess.run(["/bin/true"]).returncode


@DBOS.workflow()
def stamp(number: int) -> int:
    begins[number] = time.perf_counter()
    return number


def submit(queue, workflow, jobs):
    for number in range(jobs):
        DBOS.enqueue_workflow(queue, workflow, number)


def listen(queue):
    DBOS.register_queue(queue, worker_concurrency=20, polling_interval_sec=0.01)


def measure():
    database = sqlalchemy.create_engine(address)
    table = "workflow_status" if kind == "sqlite" else "dbos.workflow_status"

    def ask(question):
        with database.connect() as connection:
            return connection.execute(sqlalchemy.text(question)).scalar()

    def left():
        return ask(f"select count(*) from {table} where status <> 'SUCCESS'")

    if kind == "sqlite":
        version, durability = "", "SQLite, synchronous=FULL, each write"
    else:
        version = ", PostgreSQL " + ask("show server_version").split()[0]
        durability = "PostgreSQL, synchronous_commit=on, each write"
    row = Row("DBOS", VERSION + version, durability, "goes on at the step that was interrupted", GOES_ON)

    listen("quick")
    jobs = count(1_500, 200)

    def run():
        submit("quick", noop, jobs)
        until(lambda: left() == 0, interval=0.02)

    with ThreadPoolExecutor(16) as threads:
        fastest = min(seconds(run), seconds(lambda: list(threads.map(noop, range(jobs)))))
    row.figure(NO_OPS, jobs / fastest)
    jobs = count(2_000, 200)
    submit("late", command, jobs)
    listen("late")
    row.figure(COMMANDS, drain(left, jobs))
    numbers = iter(range(1_000))

    def wait():
        until(lambda: len(begins) > wait.seen, interval=0.0005)
        wait.seen += 1
        return begins[wait.seen - 1]

    wait.seen = 0
    row.figure(START, median_start(
        count(200, 40), lambda: DBOS.enqueue_workflow("quick", stamp, next(numbers)), wait, pause=0.02))


logging.getLogger("dbos").setLevel(logging.ERROR)
DBOS.launch()
measure()
# Its threads would keep this program running.
sys.stdout.flush()
os._exit(0)
