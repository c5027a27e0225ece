#!/usr/bin/env python3
"""A tracing backend for the rows about spans: OTLP over HTTP in protobuf, with or without gzip. It keeps every request
as it came, and sometimes gives wrong answers. It uses only Python's standard library.

  sink.py JOURNAL PORT ANSWERS   listens on 127.0.0.1. With PORT 0 the system chooses a port; JOURNAL.port has it then.
                                 ANSWERS is `good`, `mixed:SEED`, or one answer to every request: `silent`, `400`,
                                 `429`, `503`, `partial` or `garbage`

JOURNAL has each request with its length and a checksum, synced to the disk before the request is answered.
JOURNAL.answers has a line for each answer other than a plain 200: the answer, and whether the request was kept.
"""

import gzip
import http.server
import os
import random
import socket
import struct
import sys
import threading
import time
import zlib

RECORD = struct.Struct(">IIB")  # The length, the CRC-32, and whether the body is compressed.


# ---- The journal


def records(path):
    """The unpacked bodies of the journal, and the offset at which the last complete one ends. A killed sink leaves half
    a record."""
    with open(path, "rb") as file:
        data = file.read()
    bodies, end = [], 0
    while end + RECORD.size <= len(data):
        length, checksum, is_gzip = RECORD.unpack_from(data, end)
        body = data[end + RECORD.size : end + RECORD.size + length]
        if len(body) < length or zlib.crc32(body) != checksum:
            break
        bodies.append(gzip.decompress(body) if is_gzip else body)
        end += RECORD.size + length
    return bodies, end


class Journal:
    def __init__(self, path):
        self.file = os.open(path, os.O_CREAT | os.O_APPEND | os.O_RDWR, 0o600)
        bodies, end = records(path)
        os.ftruncate(self.file, end)
        self.answers = open(path + ".answers", "a", encoding="ascii")
        self.lock = threading.Lock()
        self.count = len(bodies)

    def keep(self, body, is_gzip):
        with self.lock:
            os.write(self.file, RECORD.pack(len(body), zlib.crc32(body), is_gzip) + body)
            os.fsync(self.file)

    def note(self, answer, is_kept):
        with self.lock:
            self.answers.write(f"{answer} {'kept' if is_kept else 'refused'}\n")
            self.answers.flush()


# ---- Answers


def varint(number):
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def partial_success(rejected, message):
    inner = b"\x08" + varint(rejected) + b"\x12" + varint(len(message)) + message
    return b"\x0a" + varint(len(inner)) + inner


class Answers:
    """Decides for each request whether to keep it, and how to answer. The same seed makes the same choices."""

    MIXED = ["good"] * 9 + ["drop", "drop", "429", "503", "503", "silent"]
    LOSING = ("drop", "429", "503")  # These answers may also follow a request that was not kept.

    def __init__(self, kind, start):
        self.kind, _, seed = kind.partition(":")
        # After a restart other choices follow.
        self.random = random.Random(f"{seed} {start}")
        self.lock = threading.Lock()

    def next(self):
        with self.lock:
            if self.kind != "mixed":
                return self.kind, self.kind in ("good", "garbage")
            answer = self.random.choice(self.MIXED)
            return answer, answer not in self.LOSING or self.random.random() < 0.5


class Sink(http.server.ThreadingHTTPServer):
    allow_reuse_address = True
    daemon_threads = True


class Exchange(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path != "/v1/traces":
            return self.say(200)
        answer, is_kept = self.server.answers.next()
        if is_kept:
            self.server.journal.keep(body, self.headers.get("Content-Encoding") == "gzip")
        if answer != "good":
            self.server.journal.note(answer, is_kept)
        if answer == "drop":
            self.connection.shutdown(socket.SHUT_RDWR)
            self.close_connection = True
        elif answer == "silent":
            time.sleep(5 if self.server.answers.kind == "mixed" else 3600)
            self.close_connection = True
        elif answer in ("400", "503"):
            self.say(int(answer), b"planted")
        elif answer == "429":
            self.say(429, b"planted", {"Retry-After": "1"})
        elif answer == "partial":
            self.say(200, partial_success(1, b"planted"))
        elif answer == "garbage":
            self.say(200, b"\xff\x00garbage" * 1000)
        else:
            self.say(200)

    def say(self, status, body=b"", headers={}):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Type", "application/x-protobuf")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def serve(path, port, kind):
    journal = Journal(path)
    sink = Sink(("127.0.0.1", int(port)), Exchange)
    sink.journal, sink.answers = journal, Answers(kind, journal.count)
    with open(path + ".port.new", "w", encoding="ascii") as file:
        file.write(str(sink.server_port))
    os.rename(path + ".port.new", path + ".port")
    sink.serve_forever()


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    serve(*sys.argv[1:])
