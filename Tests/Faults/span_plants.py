#!/usr/bin/env python3
"""Tests the checker of spans.py: it must report each planted fault, and nothing without a fault.

  span_plants.py                    with made-up data
  span_plants.py JOURNAL DATABASE   with the data of a run
"""

import sqlite3
import sys

sys.dont_write_bytecode = True

from sink import records, varint
from spans import Came, Expected, Span, fields, problems, waiting


# ---- The faults


def first(came, name, where=lambda span: True):
    return next(
        copies for copies in came.copies.values() if copies[0].name.startswith(name + " ") and where(copies[0]))


def lose(came, name):
    def plant():
        del came.copies[first(came, name)[0].id]

    return f"{name} (", "is missing", plant


def change(came, name, old, new, where=lambda span: True):
    """Changes all copies of a span: the fault is in the content, not in one copy."""

    def plant():
        copies = first(came, name, where)
        copies[:] = [Span(span.raw.replace(old(span), new(span)), span.service) for span in copies]

    return plant


def copy(came, old, new):
    def plant():
        copies = first(came, "launch")
        copies.append(Span(copies[0].raw.replace(old(copies[0]), new), copies[0].service))

    return plant


def with_status(span, code):
    return Span(span.raw + b"\x7a\x02\x18" + bytes([code]), span.service)


def plants(came):
    """The faults to plant, each with two texts that must be in a line of the report."""
    is_expired = lambda span: span.attributes["baton.launch.outcome"] == "expired"
    error_of = lambda span: b"\x7a" + dict(fields(span.raw))[15]
    # The made-up data have transfers; the runs of the row `traces` have none yet.
    has_transfers = any(copies[0].name.startswith("transfer ") for copies in came.copies.values())
    for name in ("submit", "wait", "launch", "expire", "complete", *["transfer"] * has_transfers):
        yield f"no {name}", *lose(came, name)
    yield "a changed byte in a copy", "launch ", "not as the same bytes", copy(came, lambda span: b"baton.host", b"baton.hosT")
    yield "a second trace", " has the traces ", "0123456789abcdef", copy(
        came, lambda span: bytes.fromhex(span.trace), bytes.fromhex("0123456789abcdef" * 2))

    def mark(name, where=lambda span: True):
        copies = first(came, name, where)
        copies[:] = [with_status(span, 2) for span in copies]

    yield "an expired launch that is an error", "launch ", "has the status 2", lambda: mark("launch", is_expired)
    yield "an expiry that is an error", "expire ", "has the status 2", lambda: mark("expire")
    yield "a failure without its type", "launch ", "has the error.type None", change(
        came, "launch", lambda span: b"error.type", lambda span: b"error.kind", lambda span: span.status == 2)
    yield "a wrong link", "launch ", "is linked to", change(
        came, "launch", lambda span: bytes.fromhex(span.links[0]), lambda span: bytes(8), lambda span: span.links)
    if has_transfers:
        yield "a launch that is not linked to the transfers that started it", "launch ", "is linked to", change(
            came, "launch", lambda span: bytes.fromhex(span.links[1]), lambda span: bytes(8),
            lambda span: len(span.links) > 1)
    yield "a span of no row", "launch ", "is of no row", change(
        came, "launch", lambda span: bytes.fromhex(span.id), lambda span: b"nowhere!")
    yield "a run below nothing", "run ", "which is no launch", change(
        came, "run", lambda span: bytes.fromhex(span.parent), lambda span: b"nowhere!")
    yield "an expire below the request", "expire ", "is below", change(
        came, "expire", lambda span: bytes.fromhex(span.parent), lambda span: b"nowhere!")


def try_plants(bodies, store):
    expected = Expected(store)
    missed = 0
    count = len(list(plants(Came(bodies))))
    for index in range(count):
        came = Came(bodies)
        name, one, other, plant = list(plants(came))[index]
        plant()
        for copies in came.copies.values():  # The fields of each span are read again from its bytes.
            copies[:] = [Span(span.raw, span.service) for span in copies]
        if not any(one in problem and other in problem for problem in problems(expected, came)):
            print(f"planted and not reported: {name}")
            missed += 1
    print(f"= {count - missed} of {count} planted faults reported")
    return 1 if missed else 0


def plant(path, database):
    with sqlite3.connect(database, timeout=10) as store:
        return try_plants(records(path)[0], store)


# ---- Made-up data


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3 | 1) + value.to_bytes(8, "little") if number in (7, 8) else varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def pair(key, value):
    inner = field(3, value) if isinstance(value, int) else field(1, value.encode())
    return field(1, key.encode()) + field(2, inner)


def encoded(id, want):
    out = field(1, bytes.fromhex(want["trace"])) + field(2, bytes.fromhex(id))
    if want["parent"]:
        out += field(4, bytes.fromhex(want["parent"]))
    out += field(5, f"{want['name']} com.example.a".encode()) + field(7, want["times"][0]) + field(8, want["times"][1])
    all_attributes = {"identifier": "com.example.a", "request": 1} | want["attributes"]
    for key, value in all_attributes.items():
        out += field(9, pair(f"baton.{key}", value))
    if want["error"]:
        out += field(9, pair("error.type", "planted"))
    for link in want["links"]:
        out += field(13, field(1, bytes.fromhex(want["trace"])) + field(2, bytes.fromhex(link)))
    if want["error"]:
        out += field(15, field(3, 2))
    return out


MADE_UP = """
  CREATE TABLE identifier (id, name); INSERT INTO identifier VALUES (1, 'com.example.a');
  CREATE TABLE host (id, name); INSERT INTO host VALUES (1, 'anna'), (2, 'ben');
  CREATE TABLE request (id, identifier, number, trace_id, span_id, state, ended_at, ready_at, submitted_at, is_sampled);
  INSERT INTO request VALUES (1, 1, 1, x'4b4b4b4b4b4b4b4b4b4b4b4b4b4b4b4b', x'1111111111111111', 4, 900, NULL, 100, 1);
  CREATE TABLE completion (request, state, ended_at); INSERT INTO completion VALUES (1, 4, 600);
  CREATE TABLE launch (request, number, span_id, outcome, host, started_at, ended_at, ready_at, expiring_reason,
    expiring_since, first_batch, batches);
  INSERT INTO launch VALUES
    (1, 1, x'2222222222222221', 'expired', 1, 200, 300, 100, 'powerLost', 250, 0, 2),
    (1, 2, x'3333333333333333', 'failed', 2, 400, 600, 300, NULL, NULL, 2, 1),
    (1, 3, x'4444444444444444', 'failed', 2, 700, 900, NULL, NULL, NULL, 3, 0);
  CREATE TABLE transfer (request, number, state, status, part, first_told, ended_on);
  INSERT INTO transfer VALUES
    (1, 0, 1, '{"orderedAt": {"nanoseconds": 110}, "endedAt": {"nanoseconds": 190}, "bytes": 7, "attempts": 2,
      "resumedFrom": 3}', 'default', 1, 1),
    (1, 1, 2, '{"orderedAt": {"nanoseconds": 90}, "bytes": 0, "attempts": 1, "resumedFrom": 0}', 'default', 1, 1);
  CREATE TABLE unsent_span (request); CREATE TABLE rejected_span (request);
"""


def selftest():
    store = sqlite3.connect(":memory:")
    store.executescript(MADE_UP)
    expected = Expected(store)
    service = field(1, pair("service.name", "baton-coordinator"))
    spans = [field(2, encoded(id, want)) for id, want in expected.spans.items()]
    # Each half of it is sent twice.
    half = len(spans) // 2
    bodies = [field(1, field(1, service) + field(2, b"".join(part))) for part in (spans[:half], spans[half:])] * 2
    run = expected.spans["2222222222222221"] | {"name": "run", "parent": "2222222222222221"}
    bodies.append(field(1, field(2, field(2, encoded("5555555555555555", run)))))
    found = list(problems(expected, Came(bodies))) + list(waiting(store))
    for problem in found:
        print(f"reported, and not so: {problem}")
    return try_plants(bodies, store) | bool(found)


if __name__ == "__main__":
    sys.exit(plant(*sys.argv[1:]) if len(sys.argv) == 3 else selftest())
