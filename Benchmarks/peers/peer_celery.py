"""Celery on Redis, without results: `always` or `everysec` is Redis' appendfsync.

One worker with two processes takes 50 tasks for each at a time, and acknowledges a task before it runs, as is the
default.
"""
import os
import subprocess
import sys
import tempfile

import common
from common import COMMANDS, HERE, LOST, REDIS_DURABILITY, START, Row, Stamps, count, drain, median_start, seconds

VERSION = "5.7.0"
common.inside("celery", f"celery[redis]=={VERSION}", "packaging")
import redis  # noqa: E402
from celery import Celery  # noqa: E402

app = Celery("peer_celery", broker=os.environ.get("REDIS_URL"), backend=None)
app.conf.update(
    task_ignore_result=True, worker_prefetch_multiplier=50, broker_connection_retry_on_startup=True,
    worker_hijack_root_logger=False)


@app.task(name="noop")
def noop(number):
    pass


@app.task(name="command")
def command(number):
    subprocess.run(["/bin/true"])


@app.task(name="stamp")
def stamp(port):
    common.send_stamp(port)


def submit(task, jobs):
    with app.pool.acquire(block=True), app.amqp.producer_pool.acquire(block=True) as producer:
        for number in range(jobs):
            task.apply_async((number,), producer=producer)


def measure(sync):
    port, version = common.redis(sync)
    os.environ["REDIS_URL"] = app.conf.broker_url = f"redis://127.0.0.1:{port}/0"
    row = Row("Celery", f"{VERSION}, Redis {version}", REDIS_DURABILITY[sync],
              "is lost, unless the task is acknowledged late", LOST)
    client, stamps = redis.Redis(port=port), Stamps()

    def worker():
        return common.start(
            [f"{sys.prefix}/bin/celery", "-A", "peer_celery", "worker", "-c", "2", "-l", "ERROR", "--without-gossip",
             "--without-mingle", "--without-heartbeat"],
            cwd=tempfile.gettempdir(), env=os.environ | {"PYTHONPATH": str(HERE)})

    def left():
        return client.llen("celery") + client.hlen("unacked")

    jobs = count(4_000, 1_000)
    submission = seconds(lambda: submit(noop, jobs))
    process = worker()
    row.no_ops(jobs, submission, drain(left, jobs))
    common.stop(process)
    jobs = count(2_000, 400)
    submit(command, jobs)
    worker()
    row.figure(COMMANDS, drain(left, jobs))
    row.figure(START, median_start(count(500, 100), lambda: stamp.delay(stamps.port), stamps.wait))


if __name__ == "__main__":
    measure(sys.argv[1])
