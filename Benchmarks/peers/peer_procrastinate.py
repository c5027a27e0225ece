"""procrastinate on PostgreSQL. Jobs are submitted in calls of 500; two worker processes run 10 each at a time."""
import asyncio
import sys

from common import (COMMANDS, LOST, START, Row, Stamps, beside_postgres, count, drain, inside, median_start, seconds,
                    send_stamp, start, stop, this_program)

VERSION = "3.10.0"
address = beside_postgres()
inside("procrastinate", f"procrastinate=={VERSION}", "psycopg[binary,pool]")
import procrastinate  # noqa: E402
import psycopg  # noqa: E402

if sys.argv[1] == "work":
    connector = procrastinate.PsycopgConnector(conninfo=address, min_size=4, max_size=12)
else:
    connector = procrastinate.SyncPsycopgConnector(conninfo=address)
app = procrastinate.App(connector=connector)


@app.task(name="noop")
async def noop(number):
    pass


@app.task(name="command")
async def command(number):
    process = await asyncio.create_subprocess_exec("/bin/true")
    await process.wait()


@app.task(name="stamp")
async def stamp(port):
    send_stamp(port)


async def work():
    async with app.open_async():
        await app.run_worker_async(concurrency=10, listen_notify=True)


def submit(task, jobs):
    for first in range(0, jobs, 500):
        task.batch_defer(*[{"number": number} for number in range(first, min(first + 500, jobs))])


def measure():
    database, stamps = psycopg.connect(address, autocommit=True), Stamps()
    version = database.execute("show server_version").fetchone()[0].split()[0]
    row = Row("procrastinate", f"{VERSION}, PostgreSQL {version}", "PostgreSQL, synchronous_commit=on, each write",
              "waits until the user retries it", LOST)

    def left():
        return database.execute(
            "select count(*) from procrastinate_jobs where status in ('todo', 'doing')").fetchone()[0]

    def workers():
        return [start(this_program("work")) for _ in range(2)]

    app.schema_manager.apply_schema()
    jobs = count(3_000, 500)
    submission = seconds(lambda: submit(noop, jobs))
    both = workers()
    row.no_ops(jobs, submission, drain(left, jobs))
    for worker in both:
        stop(worker)
    jobs = count(2_000, 200)
    submit(command, jobs)
    both = workers()
    row.figure(COMMANDS, drain(left, jobs))
    row.figure(START, median_start(count(500, 100), lambda: stamp.defer(port=stamps.port), stamps.wait))
    for worker in both:
        stop(worker)


if sys.argv[1] == "work":
    asyncio.run(work())
else:
    with app.open():
        measure()
