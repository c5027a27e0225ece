"""beanstalkd, by clients of plain sockets: `f0` syncs its log at each write, `f50` (the default) at most each 50 ms.

500 submissions are under way at a time. Two processes reserve a job, run it, and delete it.
"""
import socket
import subprocess
import sys

from common import (COMMANDS, RUNS_AGAIN, START, Row, Stamps, count, debian_version, drain, folder, free_port,
                    median_start, seconds, send_stamp, setup, start, stop, this_program, until_listening)

DURABILITY = {"f0": "its own log, each write (-f0)", "f50": "its own log, each 50 ms (-f50)"}


class Client:
    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.answers = self.socket.makefile("rb")

    def put(self, body, jobs=1):
        one = b"put 100 0 60 %d\r\n%s\r\n" % (len(body), body)
        for first in range(0, jobs, 500):
            size = min(500, jobs - first)
            self.socket.sendall(one * size)
            for _ in range(size):
                assert self.answers.readline().startswith(b"INSERTED")

    def reserve(self):
        self.socket.sendall(b"reserve\r\n")
        _, number, size = self.answers.readline().split()
        return number, self.answers.read(int(size) + 2)[:-2]

    def delete(self, number):
        self.socket.sendall(b"delete %s\r\n" % number)
        self.answers.readline()

    def left(self):
        self.socket.sendall(b"stats\r\n")
        text = self.answers.read(int(self.answers.readline().split()[1]) + 2).decode()
        counts = dict(line.split(": ", 1) for line in text.splitlines() if ": " in line)
        return int(counts["current-jobs-ready"]) + int(counts["current-jobs-reserved"])


def work(port):
    client = Client(port)
    while True:
        number, body = client.reserve()
        if body == b"true":
            subprocess.run(["/bin/true"])
        elif body.startswith(b"stamp"):
            send_stamp(int(body[5:]))
        client.delete(number)


def measure(sync):
    setup("beanstalkd")
    row = Row("beanstalkd", debian_version("beanstalkd"), DURABILITY[sync], "runs again from its beginning", RUNS_AGAIN)
    port, stamps = free_port(), Stamps()
    start(["beanstalkd", "-l", "127.0.0.1", "-p", port, "-b", folder("beanstalkd"), f"-{sync}"])
    until_listening(port)
    client = Client(port)

    def workers():
        return [start(this_program("work", str(port))) for _ in range(2)]

    jobs = count(20_000, 4_000)
    submission = seconds(lambda: client.put(b"noop", jobs))
    both = workers()
    row.no_ops(jobs, submission, drain(client.left, jobs))
    for worker in both:
        stop(worker)
    jobs = count(2_000, 200)
    client.put(b"true", jobs)
    workers()
    row.figure(COMMANDS, drain(client.left, jobs))
    row.figure(START, median_start(
        count(500, 100), lambda: client.put(b"stamp%d" % stamps.port), stamps.wait))


if sys.argv[1] == "work":
    work(int(sys.argv[2]))
else:
    measure(sys.argv[1])
