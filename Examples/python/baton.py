"""A client of Baton's HTTP API, and a helper for commands that keep a cursor. It needs Python 3.9 and nothing else.

    client = baton.Client.on_this_machine("baton/token")
    receipt = client.submit("com.example.report", payload={"month": 3})
    print(client.wait("com.example.report", receipt["request"])["state"])
    with baton.task() as task:  # in a command of a job, which goes on where it was, whatever was killed
        for item in task.resume(items):
            ...
            if task.done % 10 == 0:
                task.checkpoint()
See Documentation/reference/http-api.md and Documentation/reference/commands.md."""
import contextlib
import http.client
import json
import os
import socket
import ssl
import sys
import time
import urllib.parse
import uuid


class Error(Exception):
    """An answer that is an error: `status` is that of HTTP, `code` a word for programs, `answer` the whole object."""

    def __init__(self, status, answer, retry_after=None):
        self.status, self.answer, self.retry_after = status, answer, retry_after
        self.code = answer.get("code", "unknown")
        super().__init__(f"{self.code} ({status}): {answer.get('message', '')}")


class Client:
    """Calls of one coordinator. Several threads may use a client: each call has a connection of its own."""

    def __init__(self, open_socket, token, host="localhost", patience=30.0):
        self._open, self._token, self._host = open_socket, token, host
        self.patience = patience  # for how many seconds a call is repeated while the coordinator does not take it

    @classmethod
    def through_socket(cls, path, token, **more):
        """The coordinator of this user, through its Unix socket of HTTP, such as $XDG_RUNTIME_DIR/baton/7421.sock."""

        def open_socket(timeout):
            connection = socket.socket(socket.AF_UNIX)
            connection.settimeout(timeout)
            connection.connect(path)
            return connection

        return cls(open_socket, token, **more)

    @classmethod
    def on_this_machine(cls, token_file, port=7421, **more):
        """The coordinator of this user, with the token of its data folder and the port of its HTTP."""
        runtime = os.environ.get("XDG_RUNTIME_DIR") or f"/run/user/{os.getuid()}"
        return cls.through_socket(f"{runtime}/baton/{port}.sock", open(token_file).read().strip(), **more)

    @classmethod
    def over_https(cls, address, fleet, roots, token, **more):
        """A coordinator elsewhere. `address` is HOST:PORT, `fleet` the id that `baton fleet` shows, `roots` the file
        that `baton fleet roots` prints, `token` that of a credential (`baton credential create`)."""
        host, port = address.rsplit(":", 1)
        name, context = f"{fleet}.coordinator.baton", ssl.create_default_context(cafile=roots)

        def open_socket(timeout):
            connection = socket.create_connection((host.strip("[]"), int(port)), timeout)
            return context.wrap_socket(connection, server_hostname=name)

        return cls(open_socket, token, host=name, **more)

    def call(self, method, path, query=None, body=None, headers=None, timeout=60.0, raw=False):
        """One call; it is repeated while the coordinator does not take it, or is not there. Repeat only calls that may
        come twice. Returns the object of the answer, or its bytes if `raw`. Raises `Error`."""
        query = {name: value for name, value in (query or {}).items() if value is not None}
        target = path + ("?" + urllib.parse.urlencode(query, doseq=True) if query else "")
        headers = {"Authorization": f"Bearer {self._token}", **(headers or {})}
        if body is not None and not isinstance(body, bytes):
            body, headers["Content-Type"] = json.dumps(body).encode(), "application/json"
        deadline = time.monotonic() + self.patience
        while True:
            try:
                return self._once(method, target, body, headers, timeout, raw)
            except (OSError, http.client.HTTPException, Error) as error:
                if isinstance(error, Error) and error.status not in (429, 503) or time.monotonic() > deadline:
                    raise
                time.sleep(min(5.0, float(getattr(error, "retry_after", None) or 1)))

    def _once(self, method, target, body, headers, timeout, raw):
        connection = http.client.HTTPConnection(self._host, timeout=timeout)
        try:
            connection.sock = self._open(timeout)  # through a Unix socket, or over TLS to a name that is no address
            connection.request(method, target, body, headers)
            answer = connection.getresponse()
            data = answer.read()
            if raw and answer.status < 400:
                return data
            value = json.loads(data) if data else {}
            if answer.status >= 400:
                raise Error(answer.status, value, answer.headers.get("Retry-After"))
            return value
        finally:
            connection.close()

    @staticmethod
    def _path(identifier, number=None, verb=""):
        return f"/v1/requests/{urllib.parse.quote(identifier, safe='')}" + (f"/{number}" if number else "") + verb

    def submit(self, identifier, payload=None, earliest=None, priority=None, id=None):
        """Submits a request, once, however often the call has to be repeated. Returns its receipt."""
        request = {"identifier": identifier, "payload": payload, "earliest": earliest, "priority": priority}
        request = {key: value for key, value in request.items() if value is not None}
        return self.call("POST", "/v1/requests", body=request, headers={"Idempotency-Key": id or uuid.uuid4().hex})

    def poke(self, identifier, payload=b"", priority=5, id=None):
        """Pokes a job. The payload is bytes, or a value that becomes JSON."""
        headers = {"Idempotency-Key": id or uuid.uuid4().hex, "Content-Type": "application/octet-stream"}
        payload = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
        return self.call("POST", f"/v1/pokes/{identifier}", {"priority": priority}, payload, headers)

    def wait(self, identifier, number=None, timeout=None):
        """Waits until the request has ended, through restarts of the coordinator. Returns it as it is then, or as it is
        after `timeout` seconds."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while True:
            left = 60.0 if deadline is None else max(0.0, min(60.0, deadline - time.monotonic()))
            query = {"timeout": f"{int(left * 1000)}ms"}
            found = self.call("GET", self._path(identifier, number, "/wait"), query, timeout=left + 30)
            number, is_over = found["request"], deadline is not None and time.monotonic() >= deadline
            if is_over or found["state"] in ("succeeded", "failed", "cancelled"):
                return found

    def explain(self, identifier, number=None):
        return self.call("GET", self._path(identifier, number, "/explain"))

    def logs(self, identifier, number=None, launch=None, tail=None):
        """The output, as bytes."""
        return self.call("GET", self._path(identifier, number, "/logs"), {"launch": launch, "tail": tail}, raw=True)

    def cancel(self, identifier, number=None):
        return self.call("POST", self._path(identifier, number, "/cancel"))["cancelled"]

    def list(self, pattern=None, state=None, host=None, since=None):
        """Each request that matches, the newest first, page by page."""
        query = {"pattern": pattern, "state": state, "host": host, "since": since, "limit": 500, "after": None}
        while True:
            page = self.call("GET", "/v1/requests", query)
            yield from page["requests"]
            query["after"] = page["next"]
            if page["next"] is None:
                return


class Task:
    """One launch of a command without `items`. Without a worker nothing is kept."""

    def __init__(self, environment=os.environ):
        kept, self._expiry = environment.get("BATON_CHECKPOINT_FILE"), environment.get("BATON_EXPIRY_FILE")
        text = open(kept).read() if kept else ""
        self.done = self._durable = json.loads(text)["done"] if text else 0  # how many items are done
        self.total = None
        payload = environment.get("BATON_PAYLOAD_FILE")
        self.payload = json.loads(open(payload).read() or "null") if payload else None  # has to be JSON
        progress, commits = environment.get("BATON_PROGRESS_FD"), environment.get("BATON_COMMIT_FD")
        self._progress = open(int(progress), "w") if progress else None
        self._commits = open(int(commits)) if commits else None

    def resume(self, items):
        """The items that are not done, which have to be the same at each launch; `done` counts the one that is in work.
        When the launch is asked to stop, what is done is kept, and the program ends."""
        self.total = len(items) if hasattr(items, "__len__") else None
        for index, item in enumerate(items):
            if index < self._durable:
                continue
            if self._expiry and os.path.exists(self._expiry):
                self.checkpoint()
                sys.exit(75)  # not 0, because 0 means that all is done
            self.done = index + 1
            yield item

    def checkpoint(self, done=None):
        """Returns when it is durable that so many items are done, or as many as `resume` has given out. After an
        interruption at most what came later is repeated."""
        self.done = self.done if done is None else done
        if not self._progress or self.done == self._durable:
            return
        line = {"checkpoint": {"done": self.done}, "completed": self.done}
        if self.total is not None:
            line["total"] = self.total
        print(json.dumps(line), file=self._progress, flush=True)
        if not self._commits.readline():
            sys.exit(75)  # the worker is gone
        self._durable = self.done


@contextlib.contextmanager
def task():
    """The launch that this program is; at the end of the block everything that is done is kept."""
    launch = Task()
    yield launch
    launch.checkpoint()
