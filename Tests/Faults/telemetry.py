"""A tracing backend that is down, slow or lying: no job waits for it, and when it is well it has everything (promise P9)."""

import pathlib
import subprocess
import sys
import time

import jobs
from bench import until
from fleet import Fleet, started

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOOLS = ROOT / "Scripts/faults"
KINDS = ["down", "silent", "400", "429", "503", "partial", "garbage", "mixed:1", "mixed:2", "killed"]
# What these refuse is marked as refused for good.
REFUSING = {"400", "partial"}
JOBS, BATCHES = 10, 4
SECONDS = 8
SETTINGS = {
    "OTEL_BSP_SCHEDULE_DELAY": "100", "OTEL_EXPORTER_OTLP_TIMEOUT": "500", "OTEL_EXPORTER_OTLP_COMPRESSION": "gzip",
    "OTEL_METRICS_EXPORTER": "none",
}  # fmt: skip


class Sink:
    """Scripts/faults/sink.py, on the same port and the same journal however often it is started."""

    def __init__(self, folder):
        self.journal = folder / "spans"
        self.port = 0
        self.process = None

    def start(self, answers):
        self.stop()
        file = pathlib.Path(f"{self.journal}.port")
        file.unlink(missing_ok=True)
        command = [sys.executable, TOOLS / "sink.py", self.journal, str(self.port), answers]
        self.process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        if not until(10, file.exists):
            raise RuntimeError("the sink does not start")
        self.port = int(file.read_text())

    def stop(self):
        if self.process:
            self.process.kill()
            self.process.wait()
        self.process = None


def run(bench):
    for number in bench.each_round():
        with Fleet(bench) as fleet:
            sink = Sink(fleet.folder)
            try:
                beside(bench, fleet, sink, KINDS[(number - 1) % len(KINDS)])
            finally:
                sink.stop()


def beside(bench, fleet, sink, kind):
    """Jobs beside such a backend, then a good one, then what the backend has and what the store says."""
    sink.start("good" if kind in ("down", "killed") else kind)
    fleet.environment |= SETTINGS | {"OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{sink.port}"}
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
    until(2, lambda: has_met(fleet, sink, kind))
    if has_met(fleet, sink, kind):
        bench.land(kind)
    heal(bench, fleet, sink, kind)
    fleet.stop_coordinator()
    compare(bench, fleet, sink, kind)
    jobs.check(bench, fleet, all_jobs)


def has_met(fleet, sink, kind):
    """The fault was there: spans wait, or the sink has noted an answer that was not plain."""
    notes = pathlib.Path(f"{sink.journal}.answers")
    return (notes.exists() and notes.stat().st_size > 0) or (kind in ("down", "killed", "silent") and unsent(fleet) > 0)


def unsent(fleet):
    return fleet.rows("SELECT count(*) FROM unsent_span")[0][0]


def heal(bench, fleet, sink, kind):
    if kind in ("down", "silent", "429", "503", "killed"):
        bench.expect(unsent(fleet) > 0, f"{kind}: spans that nobody took are forgotten")
    if kind not in REFUSING:
        sink.start("good")
    begin = time.monotonic()
    bench.expect(until(30, lambda: unsent(fleet) == 0, every=0.1), f"{kind}: {unsent(fleet)} occasions wait for ever")
    bench.figure("seconds until the backend had everything", round(time.monotonic() - begin, 1))


def compare(bench, fleet, sink, kind):
    """What the backend keeps is what the rows say, byte for byte; or everything is marked as refused."""
    if kind in REFUSING:
        rejected = fleet.rows("SELECT count(*) FROM rejected_span")[0][0]
        return bench.expect(rejected >= JOBS, f"{kind}: only {rejected} occasions are marked as rejected")
    command = [sys.executable, TOOLS / "spans.py", "check", sink.journal, fleet.database, "--queue"]
    found = subprocess.run(list(map(str, command)), capture_output=True, timeout=60, text=True)
    for line in found.stdout.splitlines():
        if not line.startswith("="):
            bench.violation(f"{kind}: {line}")
    return bench.expect(found.returncode in (0, 1), f"spans.py fails: {found.stderr[-300:]}")
