"""A receiver of notifications that is down, slow, lies or is killed, and a coordinator that is killed while it sends. In
the end the receiver has everything: each notification at least once, those of a request in their order, and duplicates
with the same id."""

import json
import pathlib
import subprocess
import sys

from bench import until
from fleet import Fleet, started

HERE = pathlib.Path(__file__).parent
KINDS = ["down", "killed", "mixed:1", "coordinator", "silent", "drop", "redirect", "503", "429", "garbage", "mixed:2"]
JOBS = 8
EVENTS = ["skippedBatch", "success"]
# The second batch fails, and is skipped; then the request succeeds.
JOB = """---
identifier: com.example.told.{number}
kind: continued
title: Told
retry: {{limit: 1, backoff: 0s, skipBatchAfter: 1}}
notify: {{skippedBatch: [ops], success: [ops], failure: [ops]}}
work:
  command: [/bin/sh, -c, "test $BATON_BATCH != 1"]
  items: {{range: 1...3}}
"""
SETTINGS = """receivers:
  - name: ops
    webhook: http://127.0.0.1:{port}/hook
    secretFile: {secret}
    timeout: 1s
"""


class Receiver:
    """The receiver. It uses the same port and the same journal at each start."""

    def __init__(self, folder):
        self.journal = folder / "notifications"
        self.secret = folder / "secret"
        self.secret.touch(mode=0o600)
        self.secret.write_text("a secret of the row webhooks\n")
        self.port = 0
        self.process = None

    def start(self, answers):
        self.stop()
        file = pathlib.Path(f"{self.journal}.port")
        file.unlink(missing_ok=True)
        command = [sys.executable, HERE / "receiver.py", self.journal, str(self.port), self.secret, answers]
        self.process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        if not until(60, file.exists):
            raise RuntimeError("the receiver does not start")
        self.port = int(file.read_text())

    def stop(self):
        if self.process:
            self.process.kill()
            self.process.wait()
        self.process = None

    def lines(self):
        """What came, in its order. A killed receiver may leave half a line."""
        lines = []
        for text in self.journal.read_text().splitlines() if self.journal.exists() else []:
            try:
                line = json.loads(text)
                lines.append(line | {"facts": json.loads(line["body"])})
            except ValueError:
                continue
        return lines


def run(bench):
    for number in bench.each_round():
        with Fleet(bench) as fleet:
            receiver = Receiver(fleet.folder)
            try:
                beside(bench, fleet, receiver, KINDS[(number - 1) % len(KINDS)])
            finally:
                receiver.stop()


def waiting(fleet):
    return fleet.rows("SELECT count(*) FROM notification WHERE failed_at IS NULL")[0][0]


def beside(bench, fleet, receiver, kind):
    """Runs jobs with such a receiver, then makes the receiver good, and looks at what it has got."""
    receiver.start("good" if kind in ("down", "killed", "coordinator") else kind)
    (fleet.folder / "coordinator.yaml").write_text(SETTINGS.format(port=receiver.port, secret=receiver.secret))
    # The worker's variable has the same name.
    settings = {"BATON_CONFIG": str(fleet.folder / "coordinator.yaml")}
    if kind == "down":
        receiver.stop()
    started(fleet, ["anna"], environment=settings)
    (fleet.folder / "told.yaml").write_text("".join(JOB.format(number=number) for number in range(JOBS)))
    fleet.baton("submit", "-f", fleet.folder / "told.yaml")
    if kind in ("killed", "coordinator"):
        until(20, lambda: len(receiver.lines()) >= 1 + bench.random.randrange(6), every=0.005)
        if kind == "killed":
            receiver.stop()
        else:
            fleet.kill_coordinator()
            fleet.start_coordinator(environment=settings)
    done = "SELECT count(*) FROM request WHERE state = 3"
    bench.expect(
        until(30, lambda: fleet.rows(done)[0][0] == JOBS), f"{kind}: the jobs wait for the receiver")
    if kind in ("killed", "coordinator") or until(10, lambda: has_failed(fleet)):
        bench.land(kind)
    receiver.start("good")
    is_sent = until(90, lambda: waiting(fleet) == 0, every=0.1)
    bench.expect(is_sent, f"{kind}: {waiting(fleet)} notifications wait for ever")
    failed = fleet.rows("SELECT receiver, error FROM notification WHERE failed_at IS NOT NULL")
    bench.expect(not failed, f"{kind}: notifications have failed: {failed}")
    fleet.stop_coordinator()
    check(bench, receiver.lines(), kind)


def has_failed(fleet):
    """Whether an attempt has failed."""
    return fleet.rows("SELECT count(*) FROM notification WHERE attempts > 0")[0][0] > 0


def check(bench, lines, kind):
    for line in lines:
        bench.expect(line["is_signed"], f"{kind}: a signature is wrong: {line}")
        bench.expect(line["answer"] != "elsewhere", f"{kind}: a redirect was followed: {line}")
    for number in range(JOBS):
        own = [line for line in lines if line["facts"].get("identifier") == f"com.example.told.{number}"]
        events = [line["facts"]["event"] for line in own]
        for event in EVENTS:
            bench.expect(event in events, f"{kind}: job {number}: '{event}' was not told")
        bench.expect(
            events == sorted(events, key=EVENTS.index), f"{kind}: job {number}: told in another order: {events}")
        for event in EVENTS:
            same = {(line["id"], line["body"]) for line in own if line["facts"]["event"] == event}
            bench.expect(len(same) <= 1, f"{kind}: job {number}: a duplicate has another id or other facts: {same}")
        bench.expect(
            all(line["id"] == line["facts"]["id"] for line in own), f"{kind}: job {number}: the id is not in the facts")
