"""Talks to the tracing backends for Scripts/interop-telemetry: sends a trace, and compares what a backend has stored
with the output of `baton trace -o json`. It runs with the Python of .build/interop, which has the backends' clients.

  interop-telemetry.py sample GOLDEN             prints the JSON in GOLDEN, an expected output of `baton trace -o json`
  interop-telemetry.py send BACKEND URL TRACE    sends the JSON in TRACE as OTLP, by the reference encoder
  interop-telemetry.py check BACKEND URL TRACE [--worker]
                                                 fails unless the backend has this trace and no other spans in
                                                 it; with --worker the workers' spans must be there too
"""

import json
import sys
import time
from datetime import datetime, timezone

PROJECT = "baton"
LIMIT_SECONDS = 60
KINDS = {"internal": 1, "server": 2, "client": 3, "producer": 4, "consumer": 5}
WORKER_SPANS = ("run", "batch")


def nanoseconds(text):
    time = datetime.fromisoformat(text.replace("Z", "+00:00"))
    return round(time.timestamp() * 1000) * 1_000_000


def milliseconds(time):
    """Converts nanoseconds or an RFC 3339 text to whole milliseconds, cut off and not rounded, as in Baton's JSON."""
    if isinstance(time, str):
        moment = datetime.fromisoformat(time.replace("Z", "+00:00"))
        since = moment - datetime(1970, 1, 1, tzinfo=timezone.utc)
        return (since.days * 86_400 + since.seconds) * 1000 + since.microseconds // 1000
    return time // 1_000_000


# ---- Sending


def attribute(attributes, key, value):
    target = attributes.add(key=key).value
    if isinstance(value, bool):
        target.bool_value = value
    elif isinstance(value, int):
        target.int_value = value
    else:
        target.string_value = value


def otlp(trace):
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    request = ExportTraceServiceRequest()
    resource = request.resource_spans.add()
    attribute(resource.resource.attributes, "service.name", "baton-coordinator")
    attribute(resource.resource.attributes, "openinference.project.name", PROJECT)
    scope = resource.scope_spans.add()
    scope.scope.name = "baton"
    for span in trace["spans"]:
        sent = scope.spans.add(
            trace_id=bytes.fromhex(trace["traceId"]), span_id=bytes.fromhex(span["spanId"]), name=span["name"],
            kind=KINDS[span["kind"]], start_time_unix_nano=nanoseconds(span["startedAt"]),
            end_time_unix_nano=nanoseconds(span["endedAt"]))
        if span["parentSpanId"]:
            sent.parent_span_id = bytes.fromhex(span["parentSpanId"])
        for key, value in span["attributes"].items():
            attribute(sent.attributes, key, value)
        for event in span["events"]:
            happened = sent.events.add(time_unix_nano=nanoseconds(event["at"]), name=event["name"])
            for key, value in event["attributes"].items():
                attribute(happened.attributes, key, value)
        for link in span["links"]:
            sent.links.add(trace_id=bytes.fromhex(link["traceId"]), span_id=bytes.fromhex(link["spanId"]))
        if span["status"] == "error":
            sent.status.code = 2
            sent.status.message = span["message"] or ""
    return request.SerializeToString()


def send(backend, url, trace):
    import requests

    headers = {"content-type": "application/x-protobuf"}
    if backend == "mlflow":
        headers["x-mlflow-experiment-id"] = "1"
    answer = requests.post(f"{url}/v1/traces", data=otlp(trace), headers=headers, timeout=20)
    answer.raise_for_status()


# ---- Asking


def stored_by_mlflow(url, trace_id):
    import mlflow

    mlflow.set_tracking_uri(url)
    found = mlflow.get_trace(f"tr-{trace_id}", silent=True)
    return [
        {
            "spanId": span.span_id, "parentSpanId": span.parent_id, "name": span.name,
            "startedAt": milliseconds(span.start_time_ns), "endedAt": milliseconds(span.end_time_ns),
            "status": span.status.status_code.value.lower(), "message": span.status.description or None,
            "attributes": {key: value for key, value in span.attributes.items() if not key.startswith("mlflow.")},
            "events": [(milliseconds(event.timestamp), event.name, dict(event.attributes)) for event in span.events],
            "links": [(link.trace_id.removeprefix("tr-"), link.span_id) for link in span.links],
        }
        for span in (found.data.spans if found else [])
    ]


def stored_by_phoenix(url, trace_id):
    import requests

    spans, cursor = [], None
    while True:
        parameters = {"limit": 1000} | ({"cursor": cursor} if cursor else {})
        answer = requests.get(f"{url}/v1/projects/{PROJECT}/spans", params=parameters, timeout=20)
        if answer.status_code == 404:  # The project exists only after its first span.
            return []
        answer.raise_for_status()
        spans += [span for span in answer.json()["data"] if span["context"]["trace_id"] == trace_id]
        cursor = answer.json().get("next_cursor")
        if not cursor:
            break
    return [
        {
            "spanId": span["context"]["span_id"], "parentSpanId": span["parent_id"], "name": span["name"],
            "startedAt": milliseconds(span["start_time"]), "endedAt": milliseconds(span["end_time"]),
            "status": span["status_code"].lower(), "message": span["status_message"] or None,
            "attributes": span["attributes"],
            "events": [
                (milliseconds(event["timestamp"]), event["name"], event["attributes"]) for event in span["events"]
            ],
        }
        for span in spans
    ]


STORED = {"mlflow": stored_by_mlflow, "phoenix": stored_by_phoenix}


# ---- Comparing


def same(one, other):
    """Whether both values are equal. Texts are compared as numbers too: Baton's JSON has numbers that are not whole as
    texts."""
    if one == other:
        return True
    try:
        return not isinstance(one, bool) and float(one) == float(other)
    except (TypeError, ValueError):
        return False


def expected(span):
    return {
        "spanId": span["spanId"], "parentSpanId": span["parentSpanId"], "name": span["name"],
        "startedAt": milliseconds(span["startedAt"]), "endedAt": milliseconds(span["endedAt"]),
        "status": span["status"], "message": span["message"] or None, "attributes": span["attributes"],
        "events": [(milliseconds(event["at"]), event["name"], event["attributes"]) for event in span["events"]],
        "links": [(link["traceId"], link["spanId"]) for link in span["links"]],
    }


def differences(want, have):
    for key, value in want.items():
        if key not in have:
            continue  # This backend does not store the field.
        found = have[key]
        if key == "attributes":
            for name in sorted(value.keys() | found.keys()):
                if name not in value or name not in found or not same(value[name], found[name]):
                    yield f"{name} is {found.get(name)!r}, not {value.get(name)!r}"
        elif key == "events":
            if sorted(map(repr, value)) != sorted(map(repr, found)):
                yield f"its events are {found}, not {value}"
        elif value != found:
            yield f"{key} is {found!r}, not {value!r}"


def problems(trace, stored, with_worker):
    ids = [span["spanId"] for span in stored]
    by_id = {span["spanId"]: span for span in stored}
    for twice in sorted({one for one in ids if ids.count(one) > 1}):
        yield f"{by_id[twice]['name']} ({twice}) is there {ids.count(twice)} times"
    own = {span["spanId"] for span in trace["spans"]}
    for span in trace["spans"]:
        if span["spanId"] not in by_id:
            yield f"{span['name']} ({span['spanId']}) is missing"
            continue
        for difference in differences(expected(span), by_id[span["spanId"]]):
            yield f"{span['name']} ({span['spanId']}): {difference}"
    others = [span for span in stored if span["spanId"] not in own]
    for span in others:
        if not span["name"].startswith(WORKER_SPANS):
            yield f"{span['name']} ({span['spanId']}) is not a span of this trace"
        elif span["parentSpanId"] not in by_id:
            yield f"{span['name']} ({span['spanId']}) has no parent here"
    if with_worker:
        yield from worker_problems(trace, others)


def worker_problems(trace, others):
    """The problems of the workers' spans. Each launch that committed a batch must have a run and a batch below it."""
    for launch in trace["spans"]:
        if not launch["name"].startswith("launch ") or not launch["attributes"].get("baton.launch.batches"):
            continue
        runs = [span for span in others if span["parentSpanId"] == launch["spanId"] and span["name"].startswith("run ")]
        if len(runs) != 1:
            yield f"launch {launch['attributes']['baton.launch.number']} has {len(runs)} runs"
        if not any(span["parentSpanId"] == launch["spanId"] and span["name"].startswith("batch ") for span in others):
            yield f"launch {launch['attributes']['baton.launch.number']} has no batch"


def check(backend, url, trace, with_worker):
    """Asks the backend until the whole trace is there, at most LIMIT_SECONDS: spans are exported with a delay."""
    deadline = time.monotonic() + LIMIT_SECONDS
    while True:
        stored = STORED[backend](url, trace["traceId"])
        found = list(problems(trace, stored, with_worker))
        if not found or time.monotonic() > deadline:
            break
        time.sleep(1)
    for problem in found:
        print(f"  WRONG   {backend}: {problem}")
    if found:
        sys.exit(1)
    names = [span["name"].split(" ")[0] for span in stored]
    counts = ", ".join(f"{names.count(name)} {name}" for name in dict.fromkeys(names))
    print(f"  ok      {backend} has the trace {trace['traceId']}: {len(stored)} spans ({counts})")


def main(arguments):
    if arguments[0] == "sample":
        text = open(arguments[1], encoding="utf-8").read()
        trace = json.loads(text[text.index("{\n"): text.rindex("}\n") + 2])
        # The span of the sample's submitter is not part of the sample.
        trace["spans"][0]["parentSpanId"] = None
        trace["spans"][-2]["links"] = [{"traceId": trace["traceId"], "spanId": trace["spans"][2]["spanId"]}]
        return print(json.dumps(trace))
    command, backend, url, file = arguments[:4]
    trace = json.load(open(file, encoding="utf-8"))
    if command == "send":
        return send(backend, url, trace)
    check(backend, url, trace, "--worker" in arguments)


if __name__ == "__main__":
    main(sys.argv[1:])
