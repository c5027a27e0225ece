"""A tracing backend for the rows about spans: sink.py as a process, and the comparison of what it has with the
store."""

import collections
import pathlib
import subprocess
import sys

from bench import until

HERE = pathlib.Path(__file__).parent


def environment(sink):
    """The environment of a coordinator that sends spans soon, so that a strike soon hits it while it sends."""
    return {
        "OTEL_BSP_SCHEDULE_DELAY": "100", "OTEL_EXPORTER_OTLP_TIMEOUT": "500", "OTEL_EXPORTER_OTLP_COMPRESSION": "gzip",
        "OTEL_METRICS_EXPORTER": "none", "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{sink.port}",
    }  # fmt: skip


class Sink:
    """The sink. It uses the same port and the same journal at each start."""

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
        """How often the sink gave each answer other than a plain 200."""
        notes = pathlib.Path(f"{self.journal}.answers")
        return collections.Counter(notes.read_text().splitlines() if notes.exists() else [])


def unsent(fleet):
    return fleet.rows("SELECT count(*) FROM unsent_span")[0][0]


def wait_until_sent(bench, fleet, what):
    bench.expect(until(90, lambda: unsent(fleet) == 0, every=0.1), f"{what}: {unsent(fleet)} occasions wait for ever")


def compare(bench, fleet, sink, what, *printed):
    """Compares the spans with the store. No span may be missing and none may be without a row. All copies of a span
    must have the same bytes. Each request must have one trace, launch n must be linked to launch n - 1, an expiry must
    be no error, and a failure must have its type. What `baton trace` printed must be the same. Returns a summary of
    what came."""
    command = [sys.executable, HERE / "spans.py", "check", sink.journal, fleet.database, "--queue", *printed]
    found = subprocess.run(list(map(str, command)), capture_output=True, timeout=120, text=True)
    bench.expect(found.returncode in (0, 1), f"spans.py fails: {found.stderr[-300:]}")
    lines = found.stdout.splitlines()
    for line in lines:
        if not line.startswith("="):
            bench.violation(f"{what}: {line}")
    return next((line for line in lines if line.startswith("=")), "")


def try_plants(bench, fleet, sink):
    """The comparison must report faults that are planted into these data."""
    command = [sys.executable, HERE / "span_plants.py", sink.journal, fleet.database]
    found = subprocess.run(list(map(str, command)), capture_output=True, timeout=300, text=True)
    for line in found.stdout.splitlines():
        if not line.startswith("="):
            bench.violation(line)
    bench.expect(found.returncode == 0, f"the comparison does not see what is planted: {found.stderr[-300:]}")
