"""A relay between a coordinator and PostgreSQL, on a Unix socket of its own. It reads the messages of the frontend, so
that it can cut a connection at a chosen moment of a commit, or hold one at a chosen statement; and it can stop passing
bytes on, in each direction."""

import contextlib
import dataclasses
import socket
import struct
import threading
import time

# Where a commit is cut. The server never sees the first one. It makes the others: at once, after the coordinator has
# lost the connection, or with an answer that has reached the coordinator.
BEFORE, IN, LATER, AFTER = "before COMMIT", "in COMMIT", "in COMMIT, made later", "after COMMIT"
# The control: the server rolls the transaction back, and the coordinator is told that it was committed.
FORGED = "forged answer"


@dataclasses.dataclass(frozen=True)
class Point:
    """Where a connection is held: at the first message with `text` (b"COMMIT" is any commit) after one with `behind`.
    The server gets the message only if `is_after` is true; its answers are held then."""

    name: str
    text: bytes
    behind: bytes = b""
    is_after: bool = False


class Relay:
    """Coordinators connect to `folder`, and the server's socket is in `target`."""

    def __init__(self, folder, target, port=5432):
        self.folder = folder
        self.target = f"{target}/.s.PGSQL.{port}"
        self.address = f"postgresql://postgres@/postgres?host={folder}&port={port}"
        self.lock = threading.Lock()
        self.pairs = set()
        # Which commit is cut, and how; the number of commits before it.
        self.armed = None
        self.left = 0
        self.delay = 0
        self.landed = None
        # Where a connection is to be held, the one that is, and what lets it go.
        self.point = self.held = None
        self.freed = threading.Event()
        self.is_open = {"to the server": threading.Event(), "to the coordinator": threading.Event()}
        for event in self.is_open.values():
            event.set()
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(f"{folder}/.s.PGSQL.{port}")
        self.listener.listen(64)
        threading.Thread(target=self.accept, daemon=True).start()

    def close(self):
        self.listener.close()
        self.let_go()
        for event in self.is_open.values():
            event.set()
        for pair in list(self.pairs):
            pair.end()

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                near, _ = self.listener.accept()
                # While nothing passes, the server does not hear of a new connection either.
                threading.Thread(target=self.begin, args=(near,), daemon=True).start()

    def begin(self, near):
        self.is_open["to the server"].wait()
        far = socket.socket(socket.AF_UNIX)
        try:
            far.connect(self.target)
        except OSError:
            near.close()
            return
        pair = Pair(self, near, far)
        self.pairs.add(pair)
        pair.run()

    # ---- Faults

    def arm(self, kind, after, delay=0):
        """Cuts the commit after `after` others, in this way."""
        with self.lock:
            self.armed, self.left, self.delay, self.landed = kind, after, delay, None

    def is_due(self):
        """The kind of the cut if the commit that was just read is the one."""
        with self.lock:
            if self.armed is None:
                return None
            self.left -= 1
            if self.left >= 0:
                return None
            kind, self.armed = self.armed, None
            return kind

    def hold(self, point):
        """Holds the next connection that comes to this point."""
        with self.lock:
            self.point, self.held, self.landed = point, None, None
            self.freed.clear()

    def let_go(self):
        """Ends the connection that is held. What was held of it is lost."""
        with self.lock:
            self.point = None
            self.freed.set()

    def takes(self, pair):
        """Whether this connection is the one to hold, which is at the point now."""
        with self.lock:
            if self.point is None or self.held is not None:
                return False
            self.held = pair
            return True

    def shut(self, direction):
        """Nothing passes in this direction any more, and nobody is told."""
        self.is_open[direction].clear()

    def open(self, direction):
        self.is_open[direction].set()

    def end_connections(self):
        for pair in list(self.pairs):
            pair.end()


class Pair:
    """A connection of a coordinator, and the relay's own one to the server."""

    def __init__(self, relay, near, far):
        self.relay, self.near, self.far = relay, near, far
        # The names of prepared statements that commit.
        self.commits = set()
        self.parses = self.parsed = 0
        # The number of the answer to a forged statement, which the coordinator does not hear; and whether the next end
        # of a statement is that of the forged one.
        self.hidden = None
        self.is_forged = self.ends_after_commit = False
        # Whether the server is left alone to finish what it was sent.
        self.is_abandoned = False
        # Whether the message behind which the point lies was seen; and whether the server's answers are held.
        self.is_behind = self.is_silenced = False

    def run(self):
        threading.Thread(target=self.guarded, args=(self.forward,), daemon=True).start()
        self.guarded(self.answer)
        self.end()
        self.relay.pairs.discard(self)
        for end in (self.near, self.far):
            end.close()

    def guarded(self, body):
        with contextlib.suppress(OSError):
            body()
        if not self.is_abandoned:
            self.end()

    def end(self):
        for end in (self.near, self.far):
            self.hang_up(end)

    @staticmethod
    def hang_up(end):
        with contextlib.suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)

    # ---- From the coordinator to the server

    def forward(self):
        is_open = self.relay.is_open["to the server"]
        # The first message has no type.
        data = b""
        while len(data) < 4 or len(data) < struct.unpack_from("!I", data)[0]:
            data += self.received(self.near)
        length = struct.unpack_from("!I", data)[0]
        self.far.sendall(data[:length])
        data = data[length:]
        while True:
            out, cut = bytearray(), None
            while cut is None and len(data) >= 5 and len(data) > struct.unpack_from("!I", data, 1)[0]:
                length = 1 + struct.unpack_from("!I", data, 1)[0]
                message, data = data[:length], data[length:]
                is_commit = self.is_commit(message)
                if self.is_at_point(message, is_commit):
                    self.hold_at(bytes(out), message, data)
                cut = self.relay.is_due() if is_commit else None
                if cut is None:
                    out += message
            is_open.wait()
            if cut:
                self.cut(cut, bytes(out), message, data)
                if cut not in (AFTER, FORGED):
                    return
                # What was read behind the commit has been sent.
                data = self.received(self.near)
            else:
                self.far.sendall(out)
                data += self.received(self.near)

    @staticmethod
    def received(end):
        data = end.recv(1 << 16)
        if not data:
            raise OSError("the connection has ended")
        return data

    def is_commit(self, message):
        """Whether the message lets the server commit: a Bind of a statement that was prepared as COMMIT."""
        kind, body = message[:1], message[5:]
        if kind == b"P":
            self.parses += 1
            name, text = body.split(b"\0", 2)[:2]
            if text.strip().upper() == b"COMMIT":
                self.commits.add(name)
            else:
                self.commits.discard(name)
        return kind == b"B" and body.split(b"\0", 2)[1] in self.commits

    def is_at_point(self, message, is_commit):
        """Whether the relay holds this connection at this message."""
        point = self.relay.point
        if point is None:
            return False
        if point.behind in message:
            self.is_behind = True
        there = is_commit if point.text == b"COMMIT" else point.text in message
        return there and self.is_behind and self.relay.takes(self)

    def hold_at(self, before, message, behind):
        """Waits until the relay lets the connection go, and ends it."""
        if self.relay.point.is_after:
            self.is_silenced = True
            while not behind.endswith(b"S\0\0\0\4") and not message.startswith(b"Q"):
                behind += self.received(self.near)
            self.far.sendall(before + message + behind)
        else:
            self.far.sendall(before)
            self.relay.landed = self.relay.point.name
        self.relay.freed.wait()
        raise OSError("the connection was held, and is ended")

    def cut(self, kind, before, commit, behind):
        """`before` are the messages before the Bind of the COMMIT, and `behind` what was received behind it."""
        rest = commit + behind
        # The Sync, with which the group ends.
        while not rest.endswith(b"S\0\0\0\4"):
            rest += self.received(self.near)
        if kind == BEFORE:
            self.far.sendall(before)
        elif kind in (IN, LATER):
            self.is_abandoned = True
            self.far.sendall(before)
            # The coordinator loses its connection first, so that no answer can reach it.
            self.hang_up(self.near)
            time.sleep(self.relay.delay if kind == LATER else 0)
            self.far.sendall(rest)
            self.far.shutdown(socket.SHUT_WR)
        elif kind == AFTER:
            self.ends_after_commit = True
            self.far.sendall(before + rest)
        else:
            name = commit[5:].split(b"\0", 2)[1]
            bound = commit[5:].replace(name + b"\0", b"\0", 1) if name else commit[5:]
            self.hidden, self.is_forged = self.parses + 1, True
            self.parses += 1
            forged = message(b"P", b"\0ROLLBACK\0" + struct.pack("!H", 0)) + message(b"B", bound)
            self.far.sendall(before + forged + rest[len(commit) :])
        self.relay.landed = kind

    # ---- From the server to the coordinator

    def answer(self):
        is_open, data = self.relay.is_open["to the coordinator"], b""
        while True:
            data += self.received(self.far)
            out = bytearray()
            is_over, kinds = False, set()
            while len(data) >= 5 and len(data) > struct.unpack_from("!I", data, 1)[0]:
                length = 1 + struct.unpack_from("!I", data, 1)[0]
                one, data = data[:length], data[length:]
                kinds.add(one[:1])
                out += self.heard(one)
                is_over = self.ends_after_commit and one[:1] == b"Z"
            is_open.wait()
            if self.is_silenced:
                # The server has done what it was sent.
                if b"Z" in kinds and self.relay.point:
                    self.relay.landed = self.relay.point.name
                continue
            with contextlib.suppress(OSError):
                self.near.sendall(out)
            if is_over:
                return

    def heard(self, one):
        """The message that the coordinator gets instead of this one."""
        if one[:1] == b"1":
            self.parsed += 1
            if self.parsed == self.hidden:
                self.hidden = None
                return b""
        if self.is_forged and one == message(b"C", b"ROLLBACK\0"):
            self.is_forged = False
            return message(b"C", b"COMMIT\0")
        return one


def message(kind, body):
    return kind + struct.pack("!I", len(body) + 4) + body
