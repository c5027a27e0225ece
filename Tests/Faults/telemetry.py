"""A tracing backend that is down, slow or wrong. No job may wait for it, and when it is well again it must get
everything (promise P9)."""

import time

import jobs
import processes
import sinks
from bench import until
from fleet import Fleet, started

KINDS = ["down", "silent", "400", "429", "503", "partial", "garbage", "mixed:1", "mixed:2", "killed"]
# The answers after which the coordinator marks the spans as refused for good.
REFUSING = {"400", "partial"}
JOBS, BATCHES = 10, 4
SECONDS = 8


def run(bench):
    bench.figure("seconds for the jobs without export", without_export(bench))
    for number in bench.each_round():
        with Fleet(bench) as fleet:
            sink = sinks.Sink(fleet.folder)
            try:
                beside(bench, fleet, sink, KINDS[(number - 1) % len(KINDS)])
            finally:
                sink.stop()


def without_export(bench):
    with Fleet(bench) as fleet:
        started(fleet, ["anna"])
        all_jobs = [jobs.new_job(fleet, f"plain{n}", BATCHES, pause=0.005) for n in range(JOBS)]
        begin = time.monotonic()
        jobs.submit(fleet, all_jobs)
        jobs.wait_until_done(fleet)
        return round(time.monotonic() - begin, 2)


def beside(bench, fleet, sink, kind):
    """Runs jobs with such a backend, then makes the backend good, and compares what it has with the store."""
    sink.start("good" if kind in ("down", "killed") else kind)
    fleet.environment |= sinks.environment(sink)
    if kind == "down":
        sink.stop()
    started(fleet, ["anna"])
    all_jobs = [jobs.new_job(fleet, f"traced{n}", BATCHES, pause=0.005) for n in range(JOBS)]
    begin = time.monotonic()
    jobs.submit(fleet, all_jobs)
    if kind == "killed":
        until(2, lambda: fleet.rows("SELECT count(*) FROM request WHERE state = 3")[0][0] > 2)
        sink.stop()
    done = jobs.wait_until_done(fleet, seconds=SECONDS)
    bench.expect(done, f"{kind}: the jobs wait for the backend")
    bench.figure("seconds for the jobs", round(time.monotonic() - begin, 2))
    bench.figure("MiB in memory", processes.resident_bytes(fleet.coordinator.pid) >> 20)
    until(2, lambda: has_met(fleet, sink, kind))
    if has_met(fleet, sink, kind):
        bench.land(kind)
    heal(bench, fleet, sink, kind)
    fleet.stop_coordinator()
    compare(bench, fleet, sink, kind)
    jobs.check(bench, fleet, all_jobs)


def has_met(fleet, sink, kind):
    """Whether the fault had an effect: spans wait, or the sink has noted an answer other than a plain 200."""
    return bool(sink.answers()) or (kind in ("down", "killed", "silent") and sinks.unsent(fleet) > 0)


def heal(bench, fleet, sink, kind):
    if kind in ("down", "silent", "429", "503", "killed"):
        bench.expect(sinks.unsent(fleet) > 0, f"{kind}: spans that nobody took are forgotten")
    if kind not in REFUSING:
        sink.start("good")
    begin = time.monotonic()
    sinks.wait_until_sent(bench, fleet, kind)
    bench.figure("seconds until the backend had everything", round(time.monotonic() - begin, 1))


def compare(bench, fleet, sink, kind):
    """What the backend keeps must be what the rows say, byte for byte; or everything must be marked as refused."""
    if kind in REFUSING:
        rejected, there_were = fleet.rows(
            "SELECT (SELECT count(*) FROM rejected_span),"
            " (SELECT count(*) FROM request) + (SELECT count(ready_at) + count(ended_at) FROM launch)")[0]
        bench.expect(rejected == there_were, f"{kind}: {rejected} of {there_were} occasions are marked as rejected")
    else:
        sinks.compare(bench, fleet, sink, kind)
