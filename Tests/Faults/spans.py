#!/usr/bin/env python3
"""Compares what sink.py kept with the coordinator's database. It uses only Python's standard library.

  spans.py check JOURNAL DATABASE [--queue] [PRINTED]
                                prints a line for each problem, and then a summary that begins with `=`. The exit status
                                is 1 if there is a problem. With --queue no span may wait to be sent. PRINTED is the
                                output of `baton trace -o otlp` for each request, which must have the same spans
"""

import collections
import json
import sqlite3
import struct
import sys

sys.dont_write_bytecode = True

from sink import records

WORD = (1 << 64) - 1


# ---- Protobuf, the parts that are needed



def fields(data):
    """The number and the value of each field. A value is an int or bytes."""
    at = 0

    def read():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(data):
        key = read()
        kind = key & 7
        if kind == 0:
            yield key >> 3, read()
            continue
        length = {1: 8, 5: 4}[kind] if kind != 2 else read()
        value = data[at : at + length]
        if len(value) < length:
            raise ValueError("a field is cut off")
        at += length
        yield key >> 3, value if kind == 2 else int.from_bytes(value, "little")


def as_json(raw):
    """A span in the JSON of OTLP."""
    names = {
        1: "traceId", 2: "spanId", 4: "parentSpanId", 5: "name", 6: "kind", 7: "startTimeUnixNano",
        8: "endTimeUnixNano", 16: "flags"}
    result = {}
    for number, value in fields(raw):
        if number in (9, 11, 13):
            name, part = {9: ("attributes", attribute), 11: ("events", event), 13: ("links", link)}[number]
            result.setdefault(name, []).append(part(value))
        elif number == 15:
            result["status"] = {{2: "message", 3: "code"}[n]: text(v) for n, v in fields(value)}
        else:
            result[names[number]] = value.hex() if number < 5 else str(value) if number in (7, 8) else text(value)
    return result


def text(value):
    return value.decode() if isinstance(value, bytes) else value


def attribute(pair):
    found = dict(fields(pair))
    number, value = next(fields(found[2]))
    name = {1: "stringValue", 2: "boolValue", 3: "intValue", 4: "doubleValue"}[number]
    if number == 4:
        value = struct.unpack("<d", value.to_bytes(8, "little"))[0]
    plain = {1: text, 2: bool, 3: str, 4: float}[number](value)
    return {"key": found[1].decode(), "value": {name: plain}}


def event(data):
    result = {}
    for number, value in fields(data):
        if number == 3:
            result.setdefault("attributes", []).append(attribute(value))
        else:
            result["timeUnixNano" if number == 1 else "name"] = str(value) if number == 1 else text(value)
    return result


def link(data):
    names = {1: "traceId", 2: "spanId", 6: "flags"}
    return {names[n]: v.hex() if n < 3 else v for n, v in fields(data)}


def attributes(values):
    result = {}
    for pair in values:
        found = dict(fields(pair))
        number, value = next(fields(found[2]))
        if number == 1:
            value = value.decode()
        elif number == 4:
            value = struct.unpack("<d", value.to_bytes(8, "little"))[0]
        result[found[1].decode()] = value
    return result


class Span:
    def __init__(self, raw, service):
        one, many = {}, collections.defaultdict(list)
        for number, value in fields(raw):
            one[number] = value
            many[number].append(value)
        self.raw, self.service = raw, service
        self.trace, self.id = one.get(1, b"").hex(), one.get(2, b"").hex()
        self.parent, self.name, self.kind = one.get(4, b"").hex(), one.get(5, b"").decode(), one.get(6, 0)
        self.start, self.end = one.get(7, 0), one.get(8, 0)
        self.attributes = attributes(many[9])
        self.links = [dict(fields(link)).get(2, b"").hex() for link in many[13]]
        self.status = dict(fields(one.get(15, b""))).get(3, 0)

    def __str__(self):
        return f"{self.name} ({self.id})"


def spans_in(body):
    for number, resource_spans in fields(body):
        if number != 1:
            continue
        service, scopes = "", []
        for number, value in fields(resource_spans):
            if number == 1:
                service = attributes(v for n, v in fields(value) if n == 1).get("service.name", "")
            elif number == 2:
                scopes.append(value)
        for scope in scopes:
            yield from (Span(value, service) for number, value in fields(scope) if number == 2)


# ---- The spans that must be there, according to the database


def derived(span, salt):
    """The id of a span that has no row. This is Baton's rule, in a second implementation."""
    word = (int.from_bytes(span, "big") ^ salt & WORD) + 0x9E3779B97F4A7C15 & WORD
    word = (word ^ word >> 30) * 0xBF58476D1CE4E5B9 & WORD
    word = (word ^ word >> 27) * 0x94D049BB133111EB & WORD
    return f"{(word ^ word >> 31) | 1:016x}"


class Expected:
    """What is known of each span from its row, by the span's id. A value of None means that nothing is expected."""

    def __init__(self, database):
        self.spans, self.traces, self.requests = {}, {}, {}
        self.unfinished = 0
        rows = database.execute(
            """SELECT r.id, i.name, r.number, r.trace_id, r.span_id, r.state, r.ended_at, r.ready_at, r.submitted_at
               FROM request r JOIN identifier i ON i.id = r.identifier WHERE r.is_sampled""")
        for row in rows.fetchall():
            self.add_request(database, *row)

    def add(self, id, name, trace, parent, times, error=False, links=(), **attributes):
        self.spans[id] = {
            "name": name, "trace": trace, "parent": parent, "times": times, "error": error, "links": list(links),
            "attributes": attributes}

    def add_request(self, database, key, identifier, number, trace, span, state, ended, ready, submitted):
        trace, root = trace.hex(), span.hex()
        label = f"{identifier} {number}"
        self.traces[label], self.requests[key] = trace, label
        self.add(root, "submit", trace, None, (submitted, submitted), identifier=identifier, request=number)
        completions = database.execute("SELECT state, ended_at FROM completion WHERE request = ?", (key,)).fetchall()
        if state < 3:
            self.unfinished += 1
        else:
            completions.append((state, ended))
            if ready is not None:
                self.add(derived(span, ready), "wait", trace, root, (ready, ended))
        for state, ended in completions:
            self.add(derived(span, ended), "complete", trace, root, (ended, ended), error=state == 4)
        started = self.add_transfers(database, key, trace, root, submitted)
        self.add_launches(database, key, trace, root, started)

    def add_transfers(self, database, key, trace, root, submitted):
        """The spans of the transfers that ended. It returns those of each launch that they started."""
        started = collections.defaultdict(list)
        rows = database.execute(
            """SELECT t.number, t.state, t.status, t.part, t.first_told, h.name FROM transfer t
               JOIN host h ON h.id = t.ended_on WHERE t.request = ? AND t.state > 0 ORDER BY t.number""", (key,))
        for number, state, status, group, told, host in rows.fetchall():
            status = json.loads(status)
            ordered = status["orderedAt"]["nanoseconds"]
            begin, ended = max(ordered, submitted), status.get("endedAt", status["orderedAt"])["nanoseconds"]
            id = derived(bytes.fromhex(root), ordered + (number + 1) * 0x9E3779B9)
            self.add(
                id, "transfer", trace, root, (begin, max(begin, ended)), error=state == 2, host=host,
                **{"transfer.number": number, "transfer.group": group, "transfer.bytes": status["bytes"],
                   "transfer.attempts": status["attempts"], "transfer.resumed_from": status["resumedFrom"],
                   "transfer.outcome": ("done", "failed", "cancelled")[state - 1]})
            started[told].append(id)
        return started

    def add_launches(self, database, key, trace, root, started):
        before = []
        rows = database.execute(
            """SELECT l.number, l.span_id, l.outcome, h.name, l.started_at, l.ended_at, l.ready_at, l.expiring_reason,
                 l.expiring_since, l.first_batch, l.batches
               FROM launch l JOIN host h ON h.id = l.host WHERE l.request = ? ORDER BY l.number""", (key,))
        for number, span, outcome, host, start, end, ready, reason, since, first, batches in rows.fetchall():
            id, end = span.hex(), max(start, end or start)
            here = {"launch.number": number, "host": host}
            if ready is not None:
                self.add(derived(span, 1), "wait", trace, root, (ready, max(ready, start)))
            self.add(
                id, "launch", trace, root, (start, end), outcome in ("failed", "lost"), before + started[number][:128],
                **{"launch.outcome": outcome, "launch.first_batch": first, "launch.batches": batches}, **here)
            if reason is not None:
                self.add(
                    derived(span, 2), "expire", trace, id, (since, max(since, end)), **{"expiry.reason": reason}, **here)
            before = [id]


# ---- Comparing


class Came:
    def __init__(self, bodies):
        self.copies = collections.defaultdict(list)
        self.bodies = len(bodies)
        for body in bodies:
            for span in spans_in(body):
                self.copies[span.id].append(span)

    @property
    def twice(self):
        return sum(len(copies) > 1 for copies in self.copies.values())


def problems(expected, came):
    for id, want in expected.spans.items():
        if id not in came.copies:
            yield f"{want['name']} ({id}) is missing"
    for id, copies in came.copies.items():
        if len({span.raw for span in copies}) > 1:
            yield f"{copies[0]} came {len(copies)} times, and not as the same bytes"
        for span in {span.raw: span for span in copies}.values():
            yield from span_problems(span, expected)
    yield from trace_problems(expected, came)
    if expected.unfinished:
        yield f"{expected.unfinished} requests have not ended"


def span_problems(span, expected):
    want = expected.spans.get(span.id)
    if want is None:
        if span.service == "baton-coordinator":
            yield f"{span} is of no row"
        elif span.name.startswith(("run ", "batch ")) and expected.spans.get(span.parent, {}).get("name") != "launch":
            yield f"{span} is below {span.parent}, which is no launch"
        return
    if span.name.split(" ")[0] != want["name"]:
        yield f"{span} is a {want['name']}"
    if want["parent"] is not None and span.parent != want["parent"]:
        yield f"{span} is below {span.parent}, not below {want['parent']}"
    if (span.start, span.end) != want["times"]:
        yield f"{span} is from {span.start} to {span.end}, not from {want['times'][0]} to {want['times'][1]}"
    if span.links != want["links"]:
        yield f"{span} is linked to {span.links}, not to {want['links']}"
    for name, value in want["attributes"].items():
        if span.attributes.get(f"baton.{name}") != value:
            yield f"{span}: baton.{name} is {span.attributes.get(f'baton.{name}')}, not {value}"
    if (span.status == 2) != want["error"]:
        yield f"{span} has the status {span.status}"
    if want["error"] != bool(span.attributes.get("error.type")):
        yield f"{span} has the error.type {span.attributes.get('error.type')}"


def trace_problems(expected, came):
    """Each request must have exactly one trace, whichever hosts it ran on."""
    traces = collections.defaultdict(set)
    for copies in came.copies.values():
        for span in copies:
            if "baton.request" in span.attributes:
                traces[f"{span.attributes['baton.identifier']} {span.attributes['baton.request']}"].add(span.trace)
            elif span.trace not in expected.traces.values():
                yield f"{span} is in the trace {span.trace}, of no request"
    for label, found in traces.items():
        if found != {expected.traces.get(label)}:
            yield f"{label} has the traces {', '.join(sorted(found))}, not {expected.traces.get(label)}"


def printed_problems(expected, came, path):
    """What the command prints must be what was sent, including every event."""
    shown = {}
    for line in open(path, encoding="utf-8"):
        for resource_spans in json.loads(line)["resourceSpans"]:
            for scope_spans in resource_spans["scopeSpans"]:
                shown |= {span["spanId"]: span for span in scope_spans["spans"]}
    for id in expected.spans.keys() ^ shown.keys():
        yield f"{id} is " + ("printed, but of no row" if id in shown else "not printed")
    for id, span in shown.items():
        for sent in came.copies.get(id, [])[:1]:
            if as_json(sent.raw) != span:
                yield f"{sent} was sent as {json.dumps(as_json(sent.raw))} and is printed as {json.dumps(span)}"


def waiting(database):
    for table, text in (("unsent_span", "still wait to be sent"), ("rejected_span", "were rejected")):
        count = database.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
        if count:
            yield f"{count} occasions {text}"


def summary(expected, came):
    spans = [copies[0] for copies in came.copies.values()]
    names = collections.Counter(span.name.split(" ")[0] for span in spans)
    copies = sum(map(len, came.copies.values()))
    kinds = ", ".join(f"{names[name]} {name}" for name in sorted(names))
    return (
        f"= {len(expected.traces)} requests; {copies} spans came in {came.bodies} posts, {len(spans)} different ({kinds}),"
        f" {came.twice} of them more than once; twice={came.twice}")


def check(path, database, *options):
    bodies, _ = records(path)
    with sqlite3.connect(database, timeout=10) as store:
        expected, came = Expected(store), Came(bodies)
        found = list(problems(expected, came))
        if "--queue" in options:
            found += waiting(store)
        for printed in set(options) - {"--queue"}:
            found += printed_problems(expected, came, printed)
    for problem in found[:50]:
        print(problem)
    if len(found) > 50:
        print(f"and {len(found) - 50} more")
    print(summary(expected, came))
    return 1 if found else 0


if __name__ == "__main__":
    if len(sys.argv) < 4 or sys.argv[1] != "check":
        sys.exit(__doc__)
    sys.exit(check(*sys.argv[2:]))
