"""Sidekiq on Redis: `always` or `everysec` is Redis' appendfsync.

Jobs are submitted in calls of 1,000, and run in two processes of 10 threads.
"""
import os
import socket
import subprocess
import sys
import tempfile

from common import (COMMANDS, HERE, LOST, REDIS_DURABILITY, START, Row, count, debian_version, drain, redis, setup,
                    start, stop)

JOBS = HERE / "sidekiq_jobs.rb"


class Queue:
    """The queue of Sidekiq, in Redis."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.answers = self.socket.makefile("rb")

    def left(self):
        self.socket.sendall(b"LLEN queue:default\r\n")
        return int(self.answers.readline()[1:])


def measure(sync):
    setup("redis", "sidekiq")
    port, version = redis(sync)
    row = Row("Sidekiq", f"{debian_version('ruby-sidekiq')}, Redis {version}", REDIS_DURABILITY[sync], "is lost", LOST)
    environment = os.environ | {"REDIS_URL": f"redis://127.0.0.1:{port}/0"}
    queue = Queue(port)

    def ruby(*words):
        made = subprocess.run(["ruby", JOBS, *map(str, words)], env=environment, check=True, capture_output=True)
        return float(made.stdout)

    def workers():
        command = ["sidekiq", "-r", JOBS, "-c", "10"]
        return [start(command, env=environment, cwd=tempfile.gettempdir()) for _ in range(2)]

    jobs = count(50_000, 10_000)
    submission = ruby("submit", "Noop", jobs)
    both = workers()
    row.no_ops(jobs, submission, drain(queue.left, jobs))
    for worker in both:
        stop(worker)
    jobs = count(2_000, 200)
    ruby("submit", "Command", jobs)
    workers()
    row.figure(COMMANDS, drain(queue.left, jobs))
    row.figure(START, ruby("start", count(500, 100)))


measure(sys.argv[1])
