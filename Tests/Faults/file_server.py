"""An HTTP server of files on loopback, as honest about each file as the file's manner says. It keeps what it was asked,
and breaks connections at random bytes. Every choice follows from the seed and the name of the file."""

import contextlib
import dataclasses
import hashlib
import random
import socket
import struct
import threading
import time

PIECE = 16 << 10

# What a file's server does when a part is asked for. The first two are honest.
MANNERS = [
    "tagged",  # ranges, and a strong tag
    "dated",  # ranges, and the date of the last change
    "whole",  # no ranges: the whole file to every question
    "weak",  # a weak tag, which stays when the file changes
    "chunked",  # no ranges, and the length is not said
    "other-range",  # a part that begins one byte earlier, and says so
    "other-version",  # a part of another version, whose tag it tells
    "other-length",  # a part of a file of another length
    "shifted",  # a part that begins one byte earlier, and does not say so
    "unsatisfied",  # 416 to every range
]
HONEST = MANNERS[:2]
# The manners of files that change now and then. Another version has another tag, except a weak one.
CHANGING = ["tagged", "whole", "weak"]
# After so many seconds of a slow answer, what came at its beginning must be synced.
SYNCED_AFTER = 6.5
DATE = "Sun, 06 Nov 2022 08:49:37 GMT"


class HeldFile:
    """A file of the server. Its state belongs to the thread that holds `lock`."""

    def __init__(self, seed, name, manner, size, faults):
        self.name = name
        self.manner = manner
        self.size = size
        # How many answers are still broken.
        self.faults = faults
        self.random = random.Random(f"{seed} {name}")
        self.lock = threading.Lock()
        self.versions = [self.random.randbytes(size)]
        # The version that the last answer had, and the ranges that were asked for; None is the whole file.
        self.answered = 0
        self.asked = []
        # What the last answer delivered, if its connection was closed properly: the next byte, and where the file goes.
        self.closed_at = None
        # The byte that must be synced because the last answer went on for long enough after it.
        self.synced = 0
        # What was sent to this address as a whole.
        self.received = None
        self.trickles = False

    @property
    def body(self):
        return self.versions[self.answered]

    @property
    def sha256(self):
        return hashlib.sha256(self.body).hexdigest()

    def knows(self, digest):
        """Whether a version of the file has this hash."""
        with self.lock:
            return any(hashlib.sha256(body).hexdigest() == digest for body in self.versions)


@dataclasses.dataclass
class Answer:
    status: str
    fields: list
    body: bytes = b""
    start: int = 0
    is_chunked: bool = False


class FileServer:
    """Serves until `close`. `watch` is called with the file and the range of each question before it is answered, and
    returns where the file goes."""

    def __init__(self, seed, watch):
        self.seed = seed
        self.watch = watch
        self.files = {}
        self.lock = threading.Lock()
        # How many answers flow to each place.
        self.flowing = {}
        self.counts = {}
        self.problems = []
        self.is_over = False
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=256)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def close(self):
        self.is_over = True
        self.listener.close()

    def add(self, name, manner, size, faults):
        self.files[name] = HeldFile(self.seed, name, manner, size, faults)
        return self.files[name]

    def url(self, name):
        return f"http://127.0.0.1:{self.port}/{name}"

    def count(self, what):
        with self.lock:
            self.counts[what] = self.counts.get(what, 0) + 1

    def flows_to(self, place):
        return self.flowing.get(place, 0)

    # ---- Connections

    def accept(self):
        while not self.is_over:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=[connection], daemon=True).start()

    def serve(self, connection):
        with contextlib.suppress(OSError, ValueError), connection, connection.makefile("rb") as reader:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            while not self.is_over and self.answer_next(connection, reader):
                pass

    def answer_next(self, connection, reader):
        """Returns False if the connection has ended."""
        words = reader.readline().decode().split()
        if len(words) != 3:
            return False
        fields = {}
        while line := reader.readline().decode().strip():
            name, _, value = line.partition(":")
            fields[name.lower()] = value.strip()
        method, path, _ = words
        file = self.files.get(path.removeprefix("/").removeprefix("moved/"))
        if method == "PUT" and file:
            return self.take(connection, reader, file, int(fields["content-length"]))
        if file is None:
            self.count("404")
            return send_head(connection, Answer("404 Not Found", [("Content-Length", "0")]))
        return self.give(connection, file, fields, path.startswith("/moved/"))

    # ---- Downloads

    def give(self, connection, file, fields, is_moved):
        text = fields.get("range", "")
        start = int(text.removeprefix("bytes=").removesuffix("-")) if text else None
        place = self.watch(file, start)
        with file.lock:
            check_start(self, file, place, start)
            file.asked.append(start)
            fault = self.fault_of(file, is_moved)
            if fault in ("503", "moved"):
                # Nothing of the file has come, so what was known of the last answer still holds.
                return send_head(connection, self.refusal(file, fault))
            answer = self.answer_to(file, start, fields.get("if-range"))
            file.closed_at, file.synced = None, 0
        return self.send(connection, file, answer, fault, place)

    def fault_of(self, file, is_moved):
        """What goes wrong with the next answer; None if nothing does. A file changes between two answers."""
        if file.manner in CHANGING and file.asked and file.random.random() < 0.2 and len(file.versions) < 4:
            file.versions.append(file.random.randbytes(file.random.choice([file.size, file.size // 2])))
            self.count("changed")
        if file.faults == 0:
            return None
        file.faults -= 1
        kinds = ["reset", "closed", "closed", "reset", "silent", "503"] + ([] if is_moved else ["moved"])
        kind = "slow" if file.trickles and not is_moved else file.random.choice(kinds)
        file.trickles = False
        self.count(kind)
        return kind

    def refusal(self, file, fault):
        if fault == "503":
            return Answer("503 Later", [("Retry-After", "1"), ("Content-Length", "0")])
        return Answer("307 Elsewhere", [("Location", f"/moved/{file.name}"), ("Content-Length", "0")])

    def answer_to(self, file, start, condition):
        current = len(file.versions) - 1
        tag = f'"{file.name} {current}"'
        validator = {"dated": ("Last-Modified", "Sun, 06 Nov 1994 08:49:37 GMT"), "weak": ("ETag", f'W/"{file.name}"')}
        fields = [("Date", DATE), validator.get(file.manner, ("ETag", tag))]
        body = file.versions[current]
        is_same = condition in (tag, "Sun, 06 Nov 1994 08:49:37 GMT") or file.manner not in HONEST
        if start is None or not is_same or file.manner in ("whole", "weak", "chunked"):
            file.answered = current
            if start is not None and file.manner in ("whole", "weak", "chunked"):
                self.count("200 for a range")
            length = [] if file.manner == "chunked" else [("Content-Length", str(len(body)))]
            return Answer("200 OK", fields + length, body, 0, file.manner == "chunked")
        if file.manner not in HONEST:
            self.count(file.manner)
        if start >= len(body) or file.manner == "unsatisfied":
            length = len(body) + (file.manner == "unsatisfied")
            return Answer("416 No Range", [("Content-Range", f"bytes */{length}"), ("Content-Length", "0")])
        return part(file, fields, body, start)

    def send(self, connection, file, answer, fault, place):
        """Sends the answer, in pieces with pauses. Returns False if the connection has ended."""
        end = len(answer.body)
        if fault in ("reset", "closed", "silent"):
            # A break at the last byte comes more often than by chance.
            end = file.random.choice([file.random.randint(0, end), max(0, end - 1)])
        with self.lock:
            self.flowing[place] = self.flowing.get(place, 0) + 1
        try:
            send_head(connection, answer)
            self.send_body(connection, file, answer, end, fault == "slow")
        finally:
            with self.lock:
                self.flowing[place] -= 1
        return self.finish(connection, file, answer, end, fault, place)

    def send_body(self, connection, file, answer, end, is_slow):
        at, begun = 0, time.monotonic()
        while at < end:
            is_trickle = is_slow and at > 0 and time.monotonic() < begun + 2 * SYNCED_AFTER
            piece = answer.body[at : min(end, at + (50 if is_trickle else PIECE))]
            send_piece(connection, piece, answer.is_chunked)
            at += len(piece)
            time.sleep(0.1 if is_trickle else file.random.choice([0.005, 0.01, 0.03]))
            if is_trickle and time.monotonic() > begun + SYNCED_AFTER:
                file.synced = answer.start + min(PIECE, end)

    def finish(self, connection, file, answer, end, fault, place):
        is_plain = file.manner in HONEST and answer.status.startswith("20")
        if fault == "silent":
            # The client ends the silence.
            connection.settimeout(20)
            connection.recv(1)
            return False
        if fault == "reset":
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            return False
        if fault == "closed":
            if is_plain and 0 < end < len(answer.body) and not has_left(connection):
                file.closed_at = (answer.start + end, place)
            return False
        if answer.is_chunked:
            connection.sendall(b"0\r\n\r\n")
        return True

    # ---- Uploads

    def take(self, connection, reader, file, length):
        """Takes a file that is sent. A broken connection may have brought the whole file."""
        with file.lock:
            file.asked.append(None)
            broken = file.faults > 0 and file.random.choice(["reset", "unanswered", "503"])
            file.faults -= file.faults > 0
            end = file.random.randint(0, length) if broken == "reset" else length
        place = self.watch(file, None)
        with self.lock:
            self.flowing[place] = self.flowing.get(place, 0) + 1
        try:
            body = reader.read(end)
        finally:
            with self.lock:
                self.flowing[place] -= 1
        if len(body) == length:
            file.received = body
        if broken:
            self.count(f"upload: {broken}")
        if broken == "503":
            return send_head(connection, self.refusal(file, "503"))
        if broken:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            return False
        return len(body) == length and send_head(connection, Answer("201 Taken", [("Content-Length", "0")]))


def check_start(server, file, place, start):
    """The transfer was told everything up to a proper close, and what came slowly was synced. Either must not be asked
    for again, whatever Baton's own journal says. `place` names the process too, which must be the same after a close."""
    if file.manner not in HONEST:
        return
    if file.closed_at and file.closed_at[1] == place and (start or 0) != file.closed_at[0]:
        server.problems.append(
            f"{file.name}: {file.closed_at[0]} bytes arrived, and then it was fetched from {start or 'the beginning'}")
    if (start or 0) < file.synced:
        server.problems.append(f"{file.name}: {file.synced} bytes had to be synced, and {start or 0} were gone on with")


def has_left(connection):
    """Whether the client's end of the connection is closed, as it is after the client was killed."""
    try:
        return connection.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True


def part(file, fields, body, start):
    """A part of the body in the file's manner."""
    sent = start - (file.manner in ("other-range", "shifted"))
    told = start - (file.manner == "other-range")
    length = len(body) + (file.manner == "other-length")
    if file.manner == "other-version":
        fields = [fields[0], ("ETag", '"another"')]
    rest = body[sent : len(body) - (file.manner == "shifted")]
    fields = [*fields, ("Content-Range", f"bytes {told}-{len(body) - 1}/{length}"), ("Content-Length", str(len(rest)))]
    return Answer("206 Part", fields, rest, start)


def send_head(connection, answer):
    fields = answer.fields + ([("Transfer-Encoding", "chunked")] if answer.is_chunked else [])
    lines = [f"HTTP/1.1 {answer.status}", *(f"{name}: {value}" for name, value in fields), "", ""]
    connection.sendall("\r\n".join(lines).encode())
    return True


def send_piece(connection, piece, is_chunked):
    connection.sendall(b"%x\r\n%b\r\n" % (len(piece), piece) if is_chunked else piece)
