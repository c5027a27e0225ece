"""A tracing backend as the rows about spans use it: sink.py as a process, and what it has against what the store says."""

import collections
import pathlib
import subprocess
import sys

from bench import until

HERE = pathlib.Path(__file__).parent


def environment(sink):
    """Of a coordinator that sends soon, and is soon struck in the middle of it."""
    return {
        "OTEL_BSP_SCHEDULE_DELAY": "100", "OTEL_EXPORTER_OTLP_TIMEOUT": "500", "OTEL_EXPORTER_OTLP_COMPRESSION": "gzip",
        "OTEL_METRICS_EXPORTER": "none", "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{sink.port}",
    }  # fmt: skip


class Sink:
    """On the same port and the same journal however often it is started."""

    def __init__(self, folder):
        self.journal = folder / "spans"
        self.port = 0
        self.process = None

    def start(self, answers):
        self.stop()
        file = pathlib.Path(f"{self.journal}.port")
        file.unlink(missing_ok=True)
        command = [sys.executable, HERE / "sink.py", self.journal, str(self.port), answers]
        self.process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        if not until(60, file.exists):
            raise RuntimeError("the sink does not start")
        self.port = int(file.read_text())

    def stop(self):
        if self.process:
            self.process.kill()
            self.process.wait()
        self.process = None

    @property
    def runs(self):
        return self.process is not None and self.process.poll() is None

    def answers(self):
        """How often it gave each answer that was not plain."""
        notes = pathlib.Path(f"{self.journal}.answers")
        return collections.Counter(notes.read_text().splitlines() if notes.exists() else [])


def unsent(fleet):
    return fleet.rows("SELECT count(*) FROM unsent_span")[0][0]


def wait_until_sent(bench, fleet, what):
    bench.expect(until(90, lambda: unsent(fleet) == 0, every=0.1), f"{what}: {unsent(fleet)} occasions wait for ever")


def compare(bench, fleet, sink, what, *printed):
    """None missing and none that has no row, every copy the same bytes, one trace for each request, launch n linked to
    launch n - 1, expiry no error, failure always with its type; the same that `baton trace` printed. Says what came."""
    command = [sys.executable, HERE / "spans.py", "check", sink.journal, fleet.database, "--queue", *printed]
    found = subprocess.run(list(map(str, command)), capture_output=True, timeout=120, text=True)
    bench.expect(found.returncode in (0, 1), f"spans.py fails: {found.stderr[-300:]}")
    lines = found.stdout.splitlines()
    for line in lines:
        if not line.startswith("="):
            bench.violation(f"{what}: {line}")
    return next((line for line in lines if line.startswith("=")), "")


def try_plants(bench, fleet, sink):
    """The comparison has to report faults that are planted into the same data."""
    command = [sys.executable, HERE / "span_plants.py", sink.journal, fleet.database]
    found = subprocess.run(list(map(str, command)), capture_output=True, timeout=300, text=True)
    for line in found.stdout.splitlines():
        if not line.startswith("="):
            bench.violation(line)
    bench.expect(found.returncode == 0, f"the comparison does not see what is planted: {found.stderr[-300:]}")
