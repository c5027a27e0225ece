"""Many workers in one process. Each says hello on its own stream, sends heartbeats, and takes no work."""

import resource
import selectors
import threading
import time

import wire

CONNECT = "/baton.v1.Workers/Connect"


class Crowd:
    """Workers with one slot and no handlers, each on its own connection."""

    def __init__(self, fleet, size):
        self.fleet = fleet
        self.size = size
        self.members = []
        self.selector = selectors.DefaultSelector()
        self.is_stopping = False
        self.thread = threading.Thread(target=self.run, daemon=True)

    def __enter__(self):
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        self.token = (self.fleet.data / "token").read_text().strip()
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.is_stopping = True
        self.thread.join(30)
        for member in self.members:
            member.connection.close()

    def welcomed(self):
        return sum(member.is_welcome for member in self.members)

    def lost(self):
        return sum(member.is_lost for member in self.members)

    def run(self):
        """Connects the workers, a few at a time so that the queue of the listener can hold them, and sends their
        heartbeats."""
        next_beat = 0.0
        while not self.is_stopping:
            self.admit()
            if time.monotonic() >= next_beat:
                next_beat = time.monotonic() + self.fleet.lease_seconds / 3
                for member in self.members:
                    member.beat()
            for key, _ in self.selector.select(timeout=0.02):
                key.data.read(self.selector)

    def admit(self):
        for _ in range(min(20, self.size - len(self.members))):
            member = Member(self.fleet.socket, self.token, f"crowd-{len(self.members)}")
            self.members.append(member)
            self.selector.register(member.connection.socket, selectors.EVENT_READ, member)


class Member:
    def __init__(self, path, token, name):
        self.connection = wire.Connection(path, token, 20)
        self.is_welcome = False
        self.is_lost = False
        self.beats = 0
        self.stream = self.connection.open_stream(CONNECT)
        capabilities = wire.field(1, 1) + wire.field(2, "refresh")
        hello = wire.field(1, name) + wire.field(2, f"{name}-incarnation") + wire.field(3, "0.1.0")
        self.say(wire.field(1, hello + wire.field(4, capabilities) + wire.field(5, b"")))

    def say(self, message):
        self.connection.send(self.stream, wire.field(1, message), ends=False)

    def beat(self):
        if self.is_lost:
            return
        self.beats += 1
        try:
            self.say(wire.field(2, self.beats))
        except OSError:
            self.is_lost = True

    def read(self, selector):
        """Reads at least one frame. The flow control windows are so large that no window update is needed."""
        try:
            while True:
                received = self.connection.receive()
                self.connection.take(received)
                if received[0] == wire.DATA and received[3]:
                    self.is_welcome = True
                if received[0] == wire.RESET or (received[0] == wire.HEADERS and received[1] & wire.END_STREAM):
                    raise ConnectionResetError("the stream ended")
                if not self.connection.buffer:
                    return
        except OSError:
            self.is_lost = True
            selector.unregister(self.connection.socket)
