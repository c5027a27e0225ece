"""Bytes that no client sends. Meanwhile the coordinator must answer other clients, and must not grow."""

import os
import pathlib
import socket
import struct
import time

import jobs
import processes
import wire
from bench import until
from disks import TRAPS
from fleet import Fleet, started

SUBMIT, SHOW, CONNECT = "/baton.v1.Operators/Submit", "/baton.v1.Operators/Show", "/baton.v1.Workers/Connect"
METHODS = [SUBMIT, SHOW, CONNECT]
METHODS += ["/baton.v1.Operators/Apply", "/baton.v1.Operators/List", "/baton.v1.Workers/ReportDeath"]
GROWTH_BYTES = 256 << 20
ANSWER_SECONDS = 2
LOOK_EVERY = 500
# Connections that stay open and silent during the whole row.
HALF_OPEN = 40


def run(bench):
    """Sends one malformed thing after another, on separate connections or many on one connection. A worker is connected
    and runs a job, and must not notice."""
    with Fleet(bench, lease_seconds=2) as fleet:
        fleet.operators = 0
        started(fleet, ["anna"])
        job = jobs.new_job(fleet, "beside", batches=100_000, pause=0.02)
        jobs.submit(fleet, [job])
        attacker = Attacker(bench, fleet)
        before, sockets = processes.resident_bytes(fleet.coordinator.pid), attacker.sockets()
        while attacker.sent < bench.rounds:
            attacker.strike(bench.random.choice(attacker.kinds))
            bench.round = attacker.sent
            if attacker.sent >= attacker.next_look:
                attacker.look(before)
            if not fleet.runs:
                break
        attacker.finish(before, sockets)
        if fleet.runs:
            check_beside(bench, fleet, job)
        fleet.stop_coordinator()
        jobs.check_store(bench, fleet)


def check_beside(bench, fleet, job):
    """The job that ran during the whole row must still have its first launch, and must make progress."""
    state, launches = fleet.client().show(job.identifier)
    bench.expect(state == "running" and len(launches) == 1, f"the job beside it is {state} in launch {len(launches)}")
    lines = len(jobs.lines_of(job))
    bench.expect(jobs.wait_for_lines(job, lines + 2, seconds=20), "the job beside it does not get on")
    fleet.baton("cancel", job.identifier)
    if not jobs.wait_until_done(fleet):
        bench.violation("the job beside it cannot be cancelled")


class Attacker:
    def __init__(self, bench, fleet):
        self.bench = bench
        self.fleet = fleet
        self.random = bench.random
        self.token = (fleet.data / "token").read_text().strip()
        self.sent = 0
        self.next_look = LOOK_EVERY
        self.half_open = []
        self.kinds = [
            self.garbage, self.mutated_session, self.truncated, self.odd_frames, self.flood, self.rapid_reset,
            self.bad_messages, self.bad_messages, self.bad_messages, self.oversize, self.no_token, self.leave_half_open,
        ]  # fmt: skip

    def strike(self, kind):
        try:
            count = kind()
        except OSError:
            # The coordinator closed the connection, which is allowed.
            count = 1
        self.sent += count
        self.bench.landed += count
        name = kind.__name__.replace("_", " ")
        self.bench.kinds[name] = self.bench.kinds.get(name, 0) + count

    # ---- What is sent

    def raw(self, data):
        """Sends bytes on a new connection, and waits for nothing."""
        with self.dial() as connection:
            connection.sendall(data)
        return 1

    def dial(self):
        """A connection through the Unix socket, or over TLS."""
        if self.random.random() < 0.5:
            return wire.dial_tls(self.fleet.operators, 5)
        return wire.dial(self.fleet.socket, 5)

    def session(self, method=None, body=b""):
        """What a correct client sends for one call."""
        headers = wire.request_headers(method or self.random.choice(METHODS), self.token)
        return wire.greeting() + wire.frame(wire.HEADERS, wire.END_HEADERS, 1, headers) + wire.frame(
            wire.DATA, wire.END_STREAM, 1, wire.message(body))  # fmt: skip

    def garbage(self):
        return self.raw(self.random.randbytes(self.random.randint(1, 4096)))

    def mutated_session(self):
        data = bytearray(self.session(body=self.random.randbytes(40)))
        for _ in range(self.random.randint(1, 8)):
            data[self.random.randrange(len(data))] = self.random.randrange(256)
        return self.raw(bytes(data))

    def truncated(self):
        data = self.session()
        return self.raw(data[: self.random.randrange(len(data))])

    def odd_frames(self):
        """Valid frames in the wrong places, and frames with wrong lengths."""
        frames = b"".join(
            wire.frame(self.random.randrange(16), self.random.randrange(256), self.random.choice([0, 1, 2, 3, 2**31 - 1]),
                       self.random.randbytes(self.random.choice([0, 1, 4, 5, 8, 300])))
            for _ in range(20))  # fmt: skip
        lie = struct.pack(">I", self.random.choice([1 << 14, 1 << 20, (1 << 24) - 1]))[1:] + bytes([0, 0, 0, 0, 0, 1])
        self.raw(wire.greeting() + frames + lie)
        return 20

    def flood(self):
        kind = self.random.choice([wire.PING, wire.SETTINGS, wire.WINDOW_UPDATE])
        payload = {wire.PING: bytes(8), wire.SETTINGS: b"", wire.WINDOW_UPDATE: struct.pack(">I", 1)}[kind]
        self.raw(wire.greeting() + wire.frame(kind, 0, 0, payload) * 300)
        return 300

    def rapid_reset(self):
        headers = wire.request_headers(SHOW, self.token)
        pairs = (
            wire.frame(wire.HEADERS, wire.END_HEADERS, stream, headers) + wire.frame(wire.RESET, 0, stream, bytes(4))
            for stream in range(1, 200, 2))  # fmt: skip
        self.raw(wire.greeting() + b"".join(pairs))
        return 100

    def bad_messages(self):
        """Sends calls that are valid except for their protobuf messages. Each call must be answered, on one
        connection."""
        connection = wire.Connection(self.fleet.socket, self.token, 5)
        try:
            for _ in range(20):
                self.call(connection, self.random.choice(METHODS), self.message())
        finally:
            connection.close()
        return 20

    def message(self):
        numbers = [0, 1, -1, 2**31, 2**63 - 1, -(2**63)]
        texts = ["", "com.example.faults.beside", "\0", "x" * 300, "com.*", "../../etc", "\U0001f600" * 70]
        body = b""
        for _ in range(self.random.randint(0, 6)):
            value = self.random.choice([self.random.choice(numbers), self.random.choice(texts), self.random.randbytes(30)])
            inner = wire.field(self.random.randint(1, 13), value)
            body += inner if self.random.random() < 0.5 else wire.field(self.random.randint(1, 13), inner)
        return body if self.random.random() < 0.8 else body[: self.random.randint(0, len(body))] + self.random.randbytes(3)

    def call(self, connection, method, body):
        if method == CONNECT:
            connection.send(connection.open_stream(method), body)
            return
        try:
            connection.call(method, body)
        except wire.CallFailed:
            pass

    def oversize(self):
        """Announces and sends more than a message may have, until the coordinator closes the connection."""
        connection = wire.Connection(self.fleet.socket, self.token, 5)
        try:
            connection.call(SUBMIT, bytes(self.random.choice([17 << 20, 1 << 20])))
        except wire.CallFailed:
            pass
        finally:
            connection.close()
        return 1

    def no_token(self):
        connection = wire.Connection(self.fleet.socket, "0" * 64, 5)
        try:
            connection.call(SHOW, wire.field(1, "com.example.faults.beside"))
            self.bench.violation("a call with a wrong token was answered")
        except wire.CallFailed:
            pass
        finally:
            connection.close()
        return 1

    def leave_half_open(self):
        connection = self.dial()
        connection.sendall(self.session()[: self.random.choice([0, 10, 40, 100])])
        self.half_open.append(connection)
        if len(self.half_open) > HALF_OPEN:
            self.half_open.pop(0).close()
        return 1

    # ---- What must hold

    def look(self, before):
        self.next_look += LOOK_EVERY
        start = time.monotonic()
        if not self.fleet.runs:
            status, said = self.fleet.coordinator.returncode, self.fleet.said()[-300:]
            self.bench.violation(f"the coordinator ended with {status}: {said!r}")
            return
        try:
            client = self.fleet.client(timeout=10)
            client.show("com.example.faults.beside")
            client.close()
        except (OSError, wire.CallFailed) as error:
            self.bench.violation(f"a good client is not answered: {error}")
        took = time.monotonic() - start
        self.bench.figure("seconds until a good client was answered", round(took, 3))
        self.bench.expect(took < ANSWER_SECONDS + self.bench.stalls.since(start), f"a good client waited {took:.1f} s")
        grown = processes.resident_bytes(self.fleet.coordinator.pid) - before
        self.bench.figure("MiB that it grew", grown >> 20)
        self.bench.expect(grown < GROWTH_BYTES, f"the coordinator grew by {grown >> 20} MiB")

    def finish(self, before, sockets):
        for connection in self.half_open:
            connection.close()
        self.look(before)
        if not self.fleet.runs:
            status = self.fleet.coordinator.returncode
            return self.bench.expect(status not in TRAPS, f"the coordinator trapped with {status}")
        back = until(30, lambda: self.sockets() <= sockets)
        return self.bench.expect(back, f"{self.sockets() - sockets} connections are left open")

    def sockets(self):
        folder = pathlib.Path(f"/proc/{self.fleet.coordinator.pid}/fd")
        return sum(is_socket(file) for file in folder.iterdir())


def is_socket(file):
    try:
        return os.readlink(file).startswith("socket:")
    except OSError:
        return False
