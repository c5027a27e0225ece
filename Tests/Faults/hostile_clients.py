"""Hostile clients, some with the token and some without: another user of the machine, and workers and operators that
send what no correct one sends. They must not be able to touch what belongs to others (the page on security)."""

import json
import pathlib
import resource
import socket
import ssl
import threading
import time

import jobs
import processes
import wire
from bench import until
from disks import TRAPS
from fleet import Fleet, started

APPLY, SUBMIT, CONNECT = "/baton.v1.Operators/Apply", "/baton.v1.Operators/Submit", "/baton.v1.Workers/Connect"
INVALID_ARGUMENT = 3
RUNNING = 2
DEFINITIONS = pathlib.Path(__file__).with_name("hostile_definitions.jsonl")
# The text in everything that is forged. If it is found in the store, a forgery was accepted.
MARK = "forged-by-a-stranger"
LOOK_EVERY = 25
# The number of descriptors that the coordinator may have. Twice as many connections are opened.
DESCRIPTORS = 400
# Within this number of seconds a silent connection must be closed, and an operator must be answered.
IDLE_SECONDS, ANSWER_SECONDS = 20, 10
GROWTH_BYTES = 256 << 20

# The kinds of messages of a worker and of a coordinator, by their field numbers in baton.proto.
ITEMS, WANTED, CHECKPOINT, UPDATE, OUTPUT, EXPIRING, ENDED = 4, 5, 6, 7, 8, 9, 10
DRAINING = 11
WELCOME, REFUSED, DEFINITION, LAUNCH, FOUND_ITEMS = 1, 2, 4, 5, 6


def run(bench):
    """First the clients without the token, each against its own fleet; then the others, round by round."""
    squat(bench)
    exhaust(bench)
    with Fleet(bench, lease_seconds=2) as fleet:
        started(fleet, ["anna"])
        job = jobs.new_job(fleet, "beside", batches=100_000, pause=0.02)
        jobs.submit(fleet, [job])
        jobs.wait_for_lines(job, 1)
        attacker = Attacker(bench, fleet, job)
        for _ in bench.each_round():
            attacker.strike()
            if not fleet.runs:
                break
        attacker.look()
        if fleet.runs:
            check_beside(bench, fleet, job)
        fleet.stop_coordinator()


def check_beside(bench, fleet, job):
    """The job that ran during the whole row must still have its first launch, and must make progress."""
    state, launches = fleet.client().show(job.identifier)
    bench.expect(state == "running" and len(launches) == 1, f"the job beside it is {state} in launch {len(launches)}")
    lines = len(jobs.lines_of(job))
    bench.expect(jobs.wait_for_lines(job, lines + 2, seconds=20), "the job beside it does not get on")


# ---- Without the token


def squat(bench):
    """The coordinator is down, and another program listens on its port: it speaks TLS with the certificate of a joined
    host's own server, and HTTP/2 without TLS. That program must not receive the token, must be told nothing over TLS, and
    nothing that it orders may run."""
    with Fleet(bench, lease_seconds=2) as fleet:
        fleet.operators = 0
        started(fleet)
        # One host reaches the coordinator through its Unix socket, and one over TLS.
        fleet.join("ben")
        fleet.join("squatter")
        for name in ("anna", "ben"):
            fleet.start_host(name)
        if not fleet.wait_for_hosts(2):
            raise RuntimeError("the hosts do not come up")
        token = (fleet.data / "token").read_text().strip()
        for stop in (fleet.stop_coordinator, fleet.kill_coordinator):
            stop()
            loot = fleet.folder / f"loot-{stop.__name__}"
            with Squatter(fleet.port, loot, fleet.folder / "host-squatter") as squatter:
                time.sleep(4)
                try:
                    fleet.baton("list", check=False, seconds=10)
                except OSError:
                    pass
                time.sleep(0.5)
            bench.land("squatted port")
            bench.note(f"{squatter.connections} connections came to the squatter")
            bench.expect(squatter.handshakes > 0, "the worker over TLS does not try to connect")
            bench.expect(squatter.told == 0, "a client takes a host's own server for the coordinator")
            bench.expect(token not in squatter.heard, "the token was sent to whoever listens on the coordinator's port")
            bench.expect(not loot.exists(), "a worker ran a command of whoever listens on the coordinator's port")
            if not fleet.start_coordinator():
                bench.violation("the coordinator does not start on its port again")
                return


class Squatter:
    """The parts of a coordinator that are needed to receive the token and to order the run of a command. It has the
    identity of a host that has joined."""

    def __init__(self, port, loot, host):
        self.loot = loot
        self.heard = ""
        self.connections = self.handshakes = self.told = 0
        self.is_over = False
        identity = json.loads((host / "identity.json").read_text())
        chain = host / "chain.pem"
        chain.write_text("\n".join([identity["serverCertificate"], *identity["roots"], identity["key"]]))
        self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.tls.load_cert_chain(chain)
        self.tls.set_alpn_protocols(["h2"])
        self.listener = socket.socket()
        self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.listener.bind(("127.0.0.1", port))
        self.listener.listen(64)

    def __enter__(self):
        threading.Thread(target=self.accept, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.is_over = True
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()

    def accept(self):
        while not self.is_over:
            try:
                peer, _ = self.listener.accept()
            except OSError:
                return
            self.connections += 1
            threading.Thread(target=self.serve, args=(peer,), daemon=True).start()

    def serve(self, peer):
        with peer:
            peer.settimeout(5)
            try:
                # A handshake of TLS begins with this byte (RFC 8446, section 5.1), and HTTP/2 with "PRI".
                if peer.recv(1, socket.MSG_PEEK) == b"\x16":
                    self.handshakes += 1
                    peer = self.tls.wrap_socket(peer, server_side=True)
                peer.sendall(wire.frame(wire.SETTINGS, 0, 0) + wire.frame(wire.SETTINGS, wire.ACK, 0))
                self.answer_all(peer)
            except OSError:
                pass

    def answer_all(self, peer):
        data = bytearray()
        while len(data) < len(wire.PREFACE):
            data += self.take(peer)
        del data[: len(wire.PREFACE)]
        while not self.is_over:
            while len(data) < 9 or len(data) < 9 + int.from_bytes(data[:3], "big"):
                data += self.take(peer)
            length = int.from_bytes(data[:3], "big")
            kind, stream, payload = data[3], int.from_bytes(data[5:9], "big"), bytes(data[9 : 9 + length])
            del data[: 9 + length]
            if kind == wire.HEADERS:
                self.heard += "".join(texts_in(payload))
                peer.sendall(wire.frame(wire.HEADERS, wire.END_HEADERS, stream, b"\x88" + wire.header("content-type", "application/grpc")))
                peer.sendall(wire.frame(wire.DATA, 0, stream, wire.message(self.orders())))
            else:
                self.heard += payload.decode("latin-1")

    def take(self, peer):
        data = received(peer)
        self.heard += data.decode("latin-1")
        # A client may complete the handshake before it looks at the name in the certificate.
        self.told += len(data) if isinstance(peer, ssl.SSLSocket) else 0
        return data

    def orders(self):
        """A frame that welcomes the client and orders the run of a command."""
        definition = json.dumps(
            {
                "pattern": "com.example.loot", "kind": "continued", "strategy": "queue", "priority": 2,
                "requirements": {"externalPower": False, "requiresIdle": False, "slots": 1},
                "retry": {"limit": 0, "backoff": [0, 1000000000000000000]}, "allowFrequent": False,
                "work": {"command": ["touch", str(self.loot)], "batchSize": 1, "pass": "arguments", "environment": {}, "onExpiry": "finishBatch"},
            })  # fmt: skip
        launch = wire.field(1, 1) + wire.field(2, 1)
        assignment = wire.field(1, launch) + wire.field(2, "com.example.loot") + wire.field(3, 1) + wire.field(4, 1)
        assignment += wire.field(5, 2) + wire.field(14, "00-" + "1" * 32 + "-" + "1" * 16 + "-01") + wire.field(15, time.time_ns())
        messages = [
            wire.field(WELCOME, 3600 * 10**9), wire.field(DEFINITION, wire.field(1, 1) + wire.field(2, definition)),
            wire.field(LAUNCH, assignment),
        ]  # fmt: skip
        return b"".join(wire.field(1, message) for message in messages)


def received(peer):
    data = peer.recv(1 << 16)
    if not data:
        raise ConnectionResetError
    return data


def texts_in(block):
    """Every text in a block of headers, whether or not its name is in a table."""
    at = 0
    while at < len(block):
        byte = block[at]
        if byte & 0x80:
            _, at = wire.prefixed(block, at, 7)
        elif byte & 0xE0 == 0x20:
            _, at = wire.prefixed(block, at, 5)
        else:
            index, at = wire.prefixed(block, at, 6 if byte & 0x40 else 4)
            for _ in range(1 if index else 2):
                text, at = wire.header_text(block, at)
                yield text + "\n"


def exhaust(bench):
    """Opens twice as many connections as the coordinator may have descriptors. They send nothing, or half of a
    handshake."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < 4 * DESCRIPTORS:
        bench.note(f"only {hard} descriptors: connections are not exhausted")
        return
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, 16384)), hard))
    with Fleet(bench, lease_seconds=2) as fleet:
        fleet.prefix = ["sh", "-c", f'ulimit -n {DESCRIPTORS} && exec "$@"', "sh"]
        started(fleet)
        fleet.prefix = []
        fleet.start_host("anna")
        fleet.wait_for_hosts(1)
        idle = [connection for connection in (half_open(bench, fleet.port) for _ in range(2 * DESCRIPTORS)) if connection]
        bench.land("idle connections")
        # All descriptors are in use, and a worker or an operator that comes now needs one more.
        fleet.kill_worker("anna")
        start, answered = time.monotonic(), False
        while not answered and time.monotonic() - start < ANSWER_SECONDS and fleet.runs:
            answered = fleet.baton("hosts", check=False, seconds=ANSWER_SECONDS).returncode == 0
        bench.figure("seconds until an operator was answered beside idle connections", round(time.monotonic() - start, 1))
        if not fleet.runs:
            bench.violation(f"idle connections ended the coordinator with {fleet.coordinator.returncode}")
        else:
            bench.expect(answered, f"beside {len(idle)} idle connections an operator is not answered")
            left = [connection for connection in idle if not is_closed(connection, start + IDLE_SECONDS)]
            bench.expect(not left, f"{len(left)} connections that say nothing are open after {IDLE_SECONDS} s")
            bench.expect(fleet.wait_for_hosts(1, seconds=20), "no worker can connect after idle connections")
        for connection in idle:
            connection.close()


def half_open(bench, port):
    try:
        connection = socket.create_connection(("127.0.0.1", port), 5)
        connection.sendall(wire.greeting()[: bench.random.choice([0, 3, 24, 33, 1000])])
        return connection
    except OSError:
        return None


def is_closed(connection, deadline):
    """Whether the other side closes the connection before the deadline. What it sent before is read and thrown away."""
    try:
        while True:
            connection.settimeout(max(0.01, deadline - time.monotonic()))
            if not connection.recv(1 << 16):
                return True
    except TimeoutError:
        return False
    except OSError:
        return True


# ---- With the token


class Stranger:
    """A worker that sends what it is told to."""

    def __init__(self, fleet, host, secret=None, incarnation="1", receipt=b"", version="1", extra=b"", slots=0):
        token = (fleet.data / "token").read_text().strip()
        self.connection = wire.Connection(fleet.socket, token, 5)
        self.stream = self.connection.open_stream(CONNECT)
        self.connection.answers[self.stream] = bytearray(), {}, False
        self.receipt = b""
        capabilities = wire.field(1, slots) + wire.field(2, "continued") + wire.field(4, 1)
        hello = wire.field(1, host) + wire.field(2, f"{host}-{incarnation}") + wire.field(3, version)
        hello += wire.field(4, capabilities) + wire.field(5, extra)
        hello += (wire.field(7, receipt) if receipt else b"") + (wire.field(8, secret) if secret else b"")
        self.say(wire.field(1, hello))

    def say(self, *messages):
        self.connection.send(self.stream, b"".join(wire.field(1, message) for message in messages), ends=False)

    def hear(self, kinds, seconds=5):
        """The next message of one of these kinds, or None if the stream ends or no message comes."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            for kind, body in self.messages():
                if kind in kinds:
                    return kind, body
            if self.connection.answers[self.stream][2]:
                return None
            try:
                self.connection.advance()
            except OSError:
                return None
        return None

    def messages(self):
        data = self.connection.answers[self.stream][0]
        while len(data) >= 5 and len(data) >= 5 + int.from_bytes(data[1:5], "big"):
            length = int.from_bytes(data[1:5], "big")
            frame = bytes(data[5 : 5 + length])
            del data[: 5 + length]
            self.receipt = wire.first(frame, 2, self.receipt)
            for number, message in wire.fields(frame):
                if number == 1:
                    yield next(iter(wire.fields(message)), (0, b""))

    def close(self):
        self.connection.close()


class Attacker:
    def __init__(self, bench, fleet, job):
        self.bench = bench
        self.fleet = fleet
        self.job = job
        self.random = bench.random
        self.before = processes.resident_bytes(fleet.coordinator.pid)
        self.cases = [json.loads(line) for line in DEFINITIONS.read_text().splitlines()]
        self.next_case = 0
        self.names = 0
        self.launch = fleet.rows(
            "SELECT l.request, l.number FROM launch l JOIN identifier i ON i.name = ? JOIN request r ON r.identifier = i.id"
            " WHERE l.request = r.id AND l.ended_at IS NULL", job.identifier)[0]
        self.kinds = [
            self.listed_definition, self.listed_definition, self.listed_definition, self.drawn_definition,
            self.forged_message, self.forged_message, self.forged_message, self.taken_name, self.receipt_from_the_future,
            self.oversized_hello, self.forged_principal, self.drawn_messages, self.hasty_workers,
        ]  # fmt: skip

    def strike(self):
        kind = self.kinds[self.bench.round % len(self.kinds)]
        try:
            kind()
        except (OSError, wire.CallFailed) as error:
            # The coordinator closed the connection, which is allowed. `look` checks below whether it still runs.
            self.bench.note(f"{kind.__name__}: {error!r}")
        self.bench.land(kind.__name__.replace("_", " "))
        if self.bench.round % LOOK_EVERY == 0 or not self.fleet.runs:
            self.look()

    def call(self, path, body):
        """The status of a call; 0 if it was answered."""
        connection = wire.Connection(self.fleet.socket, (self.fleet.data / "token").read_text().strip(), 10)
        try:
            connection.call(path, body)
            return 0
        except wire.CallFailed as error:
            return error.status
        finally:
            connection.close()

    def new_name(self, stem):
        self.names += 1
        return f"{stem}-{self.names}"

    # ---- Definitions

    def listed_definition(self):
        case = dict(self.cases[self.next_case % len(self.cases)])
        self.next_case += 1
        name = case.pop("case")
        case.pop("field", None)
        self.expect_refused(case, f"'{name}'")

    def drawn_definition(self):
        """A definition of the list in which one number or text is replaced by another. It may be harmless; if it is
        accepted, it is removed again."""
        case = {key: value for key, value in self.random.choice(self.cases).items() if key not in ("case", "field")}
        numbers = [-(2**63), -1, 0, 1, 2**31, 2**53 + 1, 2**63 - 1]
        texts = ["", "\0", "../../x", "\x1b[2J", "x" * 70_000, "${", "$${a}", "\u202e"]
        place = case
        while True:
            key = self.random.choice(list(place))
            if isinstance(place[key], dict) and place[key] and self.random.random() < 0.8:
                place[key] = dict(place[key])
                place = place[key]
                continue
            place[key] = self.random.choice(numbers + texts + [None, [], {}, [1, 2]])
            break
        if self.call(APPLY, wire.field(1, json.dumps(case))) == 0 and isinstance(case.get("pattern"), str):
            self.call("/baton.v1.Operators/Remove", wire.field(1, case["pattern"]))

    def expect_refused(self, definition, name):
        status = self.call(APPLY, wire.field(1, json.dumps(definition)))
        self.bench.expect(status == INVALID_ARGUMENT, f"the definition {name} was answered with status {status}")
        if status == 0:
            self.call("/baton.v1.Operators/Remove", wire.field(1, definition.get("pattern", "")))

    # ---- Workers

    def forged_message(self):
        """Sends a message about a launch from a host that has nothing to do with the launch."""
        key = wire.field(1, self.launch[0]) + wire.field(2, self.launch[1])
        here = wire.field(1, key)
        batch = self.fleet.rows("SELECT batches FROM progress WHERE request = ?", self.launch[0])
        forged = {
            CHECKPOINT: here + wire.field(2, batch[0][0] if batch else 0) + wire.field(4, 7) + wire.field(6, MARK) + wire.field(7, 1),
            ENDED: here + wire.field(2, self.random.choice(["finished", "failed", "lost"])) + wire.field(3, MARK),
            ITEMS: here + wire.field(3, MARK) + wire.field(4, 1),
            WANTED: here + wire.field(3, 9),
            OUTPUT: here + wire.field(2, MARK),
            UPDATE: here + wire.field(2, MARK) + wire.field(3, MARK),
            EXPIRING: here + wire.field(2, "thermal"),
        }
        stranger = Stranger(self.fleet, self.new_name("stranger"), secret=self.random.randbytes(32))
        if self.bench.expect(stranger.hear({WELCOME, REFUSED}), "a stranger's hello is not answered"):
            kind = self.random.choice(list(forged))
            stranger.say(wire.field(kind, forged[kind]))
            # The coordinator answers in order: an answer to this message comes after the answer to the forged one.
            stranger.say(wire.field(WANTED, wire.field(1, wire.field(1, 1 << 40)) + wire.field(3, 1)))
            found = stranger.hear({FOUND_ITEMS, 10}, seconds=2)
            self.bench.expect(not found or found[0] != FOUND_ITEMS or not wire.first(found[1], 3), "items of another host were given")
            self.check_launch(kind)
        stranger.close()

    def check_launch(self, kind):
        rows = self.fleet.rows(
            "SELECT r.state, r.launches, r.frozen_items, p.reaches_end, p.subtitle, l.expiring_reason, l.ended_at"
            " FROM request r JOIN launch l ON l.request = r.id AND l.number = r.launches"
            " LEFT JOIN progress p ON p.request = r.id WHERE r.id = ?", self.launch[0])[0]
        is_whole = rows[:2] == (RUNNING, self.launch[1]) and rows[2] is None and rows[5:] == (None, None)
        is_whole = is_whole and rows[3] in (0, None) and rows[4] is None
        self.bench.expect(is_whole, f"a stranger's message of kind {kind} changed a launch: {rows}")
        output = self.fleet.rows("SELECT count(*) FROM output WHERE instr(bytes, CAST(? AS BLOB)) > 0", MARK)[0][0]
        self.bench.expect(output == 0, "a stranger's output is in a launch")

    def taken_name(self):
        name, mine = self.new_name("owner"), self.random.randbytes(32)
        owner = Stranger(self.fleet, name, secret=mine, incarnation="1")
        answer = owner.hear({WELCOME, REFUSED})
        # The worker gives its lease back. After that only its secret protects its name.
        owner.say(wire.field(DRAINING, b""))
        owner.close()
        self.bench.expect(answer and answer[0] == WELCOME, f"a new name is not taken: {answer}")
        held = "SELECT 1 FROM host WHERE name = ? AND incarnation IS NOT NULL"
        self.bench.expect(until(5, lambda: not self.fleet.rows(held, name)), "a worker that leaves keeps its lease")
        for secret in (self.random.randbytes(32), None):
            thief = Stranger(self.fleet, name, secret=secret, incarnation="2", slots=4)
            answer = thief.hear({WELCOME, REFUSED, LAUNCH})
            thief.close()
            self.bench.expect(answer and answer[0] == REFUSED, f"the name of a host was taken over: {answer}")

    def receipt_from_the_future(self):
        name, secret = self.new_name("prophet"), self.random.randbytes(32)
        first = Stranger(self.fleet, name, secret=secret)
        first.hear({WELCOME, REFUSED})
        first.hear({0}, seconds=0.2)
        said = first.receipt
        first.close()
        if not said:
            return
        number = self.random.choice([2**63 - 1, 1 << 40])
        forged = wire.field(1, wire.first(said, 1)) + wire.field(2, number) + wire.field(3, wire.first(said, 3, 0))
        forged += wire.field(4, self.random.choice([wire.first(said, 4, b""), self.random.randbytes(32), b""]))
        second = Stranger(self.fleet, name, secret=secret, receipt=forged)
        second.hear({WELCOME, REFUSED})
        second.close()
        paused = self.fleet.rows("SELECT is_paused FROM store")[0][0]
        if not self.bench.expect(paused == 0, "a receipt from the future paused the fleet"):
            self.fleet.baton("resume", check=False)

    def oversized_hello(self):
        name, size = self.new_name("huge"), self.random.choice([1 << 16, 1 << 20, 9 << 20, 15 << 20])
        reading = wire.field(2, "x" * size)
        label = wire.field(11, wire.field(1, "x" * size) + wire.field(2, "y"))
        host, version, extra = self.random.choice([
            ("x" * size, "1", b""), (name, "x" * size, b""), (name, "1", wire.field(10, wire.field(1, "1")) + label),
            (name, "1", wire.field(1, reading)), ("../" + name, "1", b""), ("\x1b[2J" + name, "1", b""), ("..", "1", b""),
        ])  # fmt: skip
        stranger = Stranger(self.fleet, host, secret=self.random.randbytes(32), version=version, extra=extra)
        answer = stranger.hear({WELCOME, REFUSED})
        stranger.close()
        is_cut = extra and not version.startswith("x") and answer and answer[0] == WELCOME and len(host) < 64
        self.bench.expect(is_cut or (answer and answer[0] == REFUSED), f"a hello of {size} bytes was answered with {str(answer)[:80]}")
        longest = self.fleet.rows("SELECT max(length(name)), max(length(word)) FROM host")[0]
        self.bench.expect(max(longest[0] or 0, 0) <= 63, "a host's name of more than 63 bytes is stored")
        self.bench.expect((longest[1] or 0) < 64 << 10, f"{longest[1]} bytes of a hello are stored")
        self.look_at_hosts()

    def hasty_workers(self):
        """Workers that say hello and leave while the coordinator reads from the store for them."""
        for _ in range(40):
            worker = Stranger(self.fleet, self.new_name("hasty"), secret=self.random.randbytes(32))
            worker.hear({WELCOME, REFUSED}, seconds=self.random.choice([0, 0.0005, 0.001, 0.002]))
            worker.close()

    def forged_principal(self):
        principal = self.random.choice(["ada\n" + MARK, "\x1b[2J" + MARK, "x" * 256, "\u2028" + MARK])
        item = wire.field(1, self.new_name("poke")) + wire.field(2, self.job.identifier) + wire.field(7, 10)
        status = self.call(SUBMIT, wire.field(1, item) + wire.field(2, principal))
        self.bench.expect(status == INVALID_ARGUMENT, f"the principal {principal[:20]!r} was answered with status {status}")
        lines = self.fleet.said().decode("utf-8", "replace").splitlines()
        self.bench.expect(not any(line.startswith(MARK) for line in lines), "a principal wrote a line of the log")
        self.bench.expect(not any("\x1b" in line for line in lines), "an escape sequence stands in the log")

    def drawn_messages(self):
        """Sends frames with random fields, some of them cut or with changed bytes, after a correct hello."""
        stranger = Stranger(self.fleet, self.new_name("drawn"), secret=self.random.randbytes(32), slots=0)
        stranger.hear({WELCOME, REFUSED})
        for _ in range(20):
            body = bytearray(wire.field(self.random.randint(1, 12), self.drawn(3)))
            for _ in range(self.random.choice([0, 0, 1, 4])):
                body[self.random.randrange(len(body))] = self.random.randrange(256)
            stranger.say(bytes(body))
        stranger.hear({REFUSED}, seconds=0.2)
        stranger.close()

    def drawn(self, depth):
        if depth == 0 or self.random.random() < 0.3:
            numbers = [0, 1, -1, 2**31, 2**63 - 1, -(2**63), self.launch[0]]
            return self.random.choice([*numbers, "", MARK, "x" * 300, self.random.randbytes(20)])
        return b"".join(wire.field(self.random.randint(1, 12), self.drawn(depth - 1)) for _ in range(self.random.randint(1, 5)))

    # ---- What must hold

    def look_at_hosts(self):
        try:
            self.fleet.baton("hosts", seconds=ANSWER_SECONDS)
        except (OSError, ValueError) as error:
            self.bench.violation(f"baton hosts does not work: {error}")
        except Exception as error:
            self.bench.violation(f"baton hosts fails: {getattr(error, 'stderr', error)!r:.200}")

    def look(self):
        if not self.fleet.runs:
            status = self.fleet.coordinator.returncode
            word = "trapped" if status in TRAPS else "ended"
            return self.bench.violation(f"the coordinator {word} with {status}: {self.fleet.said()[-1000:]!r}")
        self.look_at_hosts()
        grown = processes.resident_bytes(self.fleet.coordinator.pid) - self.before
        self.bench.figure("MiB that it grew", grown >> 20)
        self.bench.expect(grown < GROWTH_BYTES, f"the coordinator grew by {grown >> 20} MiB")
        lines = len(jobs.lines_of(self.job))
        self.bench.expect(
            until(20, lambda: len(jobs.lines_of(self.job)) > lines), "the job beside it does not get on")
        return True
