"""huey on SQLite, with a commit for each submission, and a consumer with two worker processes.

The consumer asks for work each 1 to 2 ms; its default is 100 ms to 10 s.
"""
import subprocess
import signal
import sys

from common import (COMMANDS, LOST, START, Row, Stamps, count, drain, folder, inside, median_start, seconds, send_stamp,
                    start, stop, this_program)

VERSION = "3.5.4"
inside("huey", f"huey=={VERSION}")
from huey import SqliteHuey  # noqa: E402
from huey.consumer import Consumer  # noqa: E402


def tasks(path):
    huey = SqliteHuey(filename=path, fsync=True, results=False)

    @huey.task()
    def noop(number):
        pass

    @huey.task()
    def command(number):
        subprocess.run(["/bin/true"])

    @huey.task()
    def stamp(port):
        send_stamp(port)

    return huey, noop, command, stamp


def consume(path):
    Consumer(tasks(path)[0], workers=2, worker_type="process", initial_delay=0.001, max_delay=0.002, backoff=1.05,
             periodic=False, check_worker_health=False).run()


def measure():
    row = Row("huey", VERSION, "SQLite, synchronous=FULL, each write", "is lost", LOST)
    path, stamps = f"{folder('huey')}/huey.db", Stamps()
    huey, noop, command, stamp = tasks(path)

    def submit(task, jobs):
        for number in range(jobs):
            task(number)

    def consumer():
        return start(this_program("consume", path))

    jobs = count(5_000, 1_000)
    submission = seconds(lambda: submit(noop, jobs))
    process = consumer()
    row.no_ops(jobs, submission, drain(huey.pending_count, jobs))
    stop(process, signal.SIGINT)
    jobs = count(2_000, 200)
    submit(command, jobs)
    process = consumer()
    row.figure(COMMANDS, drain(huey.pending_count, jobs))
    row.figure(START, median_start(count(500, 100), lambda: stamp(stamps.port), stamps.wait))
    stop(process, signal.SIGINT)


if sys.argv[1] == "consume":
    consume(sys.argv[2])
else:
    measure()
