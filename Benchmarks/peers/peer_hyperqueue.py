"""HyperQueue by its Python package, whose server and worker (of 2 cores) run in this process. It has no journal there.

Each task is a process, so there are no no-ops. Commands are one job of many tasks. The time from submission to start
includes the start of a shell.
"""
import os
import sys

from common import COMMANDS, NO_OPS, RUNS_AGAIN, START, Fifo, Row, count, folder, inside, median_start

VERSION = "0.27.0"
inside("hyperqueue", f"hyperqueue=={VERSION}")
import hyperqueue.client  # noqa: E402
from hyperqueue import Job, LocalCluster  # noqa: E402
from hyperqueue.cluster import WorkerConfig  # noqa: E402

# It draws a bar of the progress otherwise.
hyperqueue.client.create_progress_callback = lambda: lambda jobs: None


def task(command, number=1, priority=0):
    job = Job(max_fails=None)
    for _ in range(number):
        job.program(command, stdout=None, stderr=None, priority=priority)
    return job


def measure():
    row = Row("HyperQueue", VERSION, "none (its journal is off)", "runs again from its beginning", RUNS_AGAIN)
    row.figure(NO_OPS, None)
    data, jobs = folder("hyperqueue"), count(2_000, 200)
    os.chdir(data)
    first, last = Fifo(), Fifo()
    shell = ["/bin/sh", "-c"]
    with LocalCluster(server_dir=data) as cluster:
        client = cluster.client()
        # The first and the last task say when they run, because a client learns only once a second what has ended.
        client.submit(task([*shell, first.shell], priority=5))
        client.submit(task(["/bin/true"], jobs))
        client.submit(task([*shell, last.shell], priority=-5))
        cluster.start_worker(WorkerConfig(cores=2))
        begun = first.wait()
        row.figure(COMMANDS, jobs / (last.wait() - begun))
        row.figure(START, median_start(
            count(300, 50), lambda: client.submit(task([*shell, first.shell])), first.wait, pause=0.01))
    sys.stdout.flush()
    # The threads of the server would keep this program running.
    os._exit(0)


measure()
