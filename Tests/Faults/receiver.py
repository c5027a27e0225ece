#!/usr/bin/env python3
"""A receiver of notifications for the row `webhooks`: it verifies each signature, keeps what came, and sometimes gives
wrong answers. It uses only Python's standard library.

  receiver.py JOURNAL PORT SECRET ANSWERS   listens on 127.0.0.1. With PORT 0 the system chooses a port; JOURNAL.port has
                                            it then. ANSWERS is `good`, `mixed:SEED`, or one answer to every request:
                                            `silent`, `503`, `429`, `redirect`, `drop` or `garbage`

JOURNAL has a line of JSON for each request, synced to the disk before the request is answered: what came, whether its
signature is right, and the answer.
"""

import base64
import hashlib
import hmac
import http.server
import json
import os
import random
import socket
import sys
import threading
import time


class Journal:
    def __init__(self, path):
        self.file = os.open(path, os.O_CREAT | os.O_APPEND | os.O_RDWR, 0o600)
        self.lock = threading.Lock()
        with open(path, encoding="utf-8") as lines:
            self.count = sum(1 for _ in lines)

    def keep(self, line):
        with self.lock:
            os.write(self.file, (json.dumps(line) + "\n").encode())
            os.fsync(self.file)


class Answers:
    """Decides how to answer each request. The same seed makes the same choices."""

    MIXED = ["good", "good", "drop", "503", "429", "redirect", "garbage", "silent"]

    def __init__(self, kind, start):
        self.kind, _, seed = kind.partition(":")
        # After a restart other choices follow.
        self.random = random.Random(f"{seed} {start}")
        self.lock = threading.Lock()

    def next(self):
        with self.lock:
            return self.random.choice(self.MIXED) if self.kind == "mixed" else self.kind


def is_signed(headers, body, secret):
    text = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    code = base64.b64encode(hmac.new(secret, text, hashlib.sha256).digest()).decode()
    is_new = abs(time.time() - int(headers["webhook-timestamp"])) < 300
    return is_new and hmac.compare_digest(headers["webhook-signature"], "v1," + code)


class Receiver(http.server.ThreadingHTTPServer):
    allow_reuse_address = True
    daemon_threads = True


class Exchange(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        answer = self.server.answers.next() if self.path == "/hook" else "elsewhere"
        self.server.journal.keep(
            {"id": self.headers["webhook-id"], "is_signed": is_signed(self.headers, body, self.server.secret),
             "answer": answer, "body": body.decode()})  # fmt: skip
        if answer == "drop":
            # What it has got counts, and its answer is lost.
            self.connection.shutdown(socket.SHUT_RDWR)
            self.close_connection = True
        elif answer == "silent":
            time.sleep(5 if self.server.answers.kind == "mixed" else 3600)
            self.close_connection = True
        elif answer == "garbage":
            self.wfile.write(b"\xff\x00 200 OK\r\n\r\n" * 10)
            self.close_connection = True
        elif answer == "redirect":
            self.say(302, {"Location": f"http://127.0.0.1:{self.server.server_port}/elsewhere"})
        elif answer == "429":
            self.say(429, {"Retry-After": "1"})
        else:
            self.say(503 if answer == "503" else 200)

    def say(self, status, headers={}):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_GET = do_POST

    def log_message(self, *_):
        pass


def serve(path, port, secret, kind):
    journal = Journal(path)
    receiver = Receiver(("127.0.0.1", int(port)), Exchange)
    receiver.journal, receiver.answers = journal, Answers(kind, journal.count)
    with open(secret, "rb") as file:
        receiver.secret = file.read().strip()
    with open(path + ".port.new", "w", encoding="ascii") as file:
        file.write(str(receiver.server_port))
    os.rename(path + ".port.new", path + ".port")
    receiver.serve_forever()


if __name__ == "__main__":
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    serve(*sys.argv[1:])
