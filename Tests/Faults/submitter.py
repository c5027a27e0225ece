"""A client that submits without end, keeps what it was promised, and repeats what was not answered (promise P1)."""

import threading
import time
import uuid

from bench import until
from wire import CallFailed

# No host has the label of the first definition, so its requests wait and cost no host anything. Every host takes the
# requests of the second: a place is reserved for each of them while it is stored, and must be given back if the store
# refuses it.
DEFINITION = """identifier: com.example.parked.*
kind: continued
title: Parked
pendingLimit: 2000000
requiredLabels: {exists: nowhere}
work:
  command: ["true"]
---
identifier: com.example.taken.*
kind: continued
title: Taken
pendingLimit: 2000000
work:
  command: ["true"]
"""
# One submission in so many can start at once.
TAKEN_EVERY = 50


def identifier(name, number):
    """The identifier of the submission of this number: one in TAKEN_EVERY can start at once."""
    return f"com.example.{'taken' if number % TAKEN_EVERY == 0 else 'parked'}.{name}{number}"


class Submitter(threading.Thread):
    """Every submission has its own identifier, so that a second request for it would be noticed."""

    def __init__(self, fleet, batch=8, pause=0.002):
        super().__init__(daemon=True)
        self.fleet = fleet
        self.batch = batch
        self.pause = pause
        self.is_stopping = False
        self.promised = {}
        self.sent = {}
        self.repeated = 0
        self.failures = []
        self.refusal = None
        self.slowest = 0
        define(fleet)

    def run(self):
        client, items = None, None
        while not self.is_stopping and not self.fleet.is_over:
            try:
                client = client or self.fleet.client(timeout=40)
                items = items or self.next_items()
                before = time.monotonic()
                answers = client.submit(items)
                self.slowest = max(self.slowest, time.monotonic() - before)
                self.keep(items, answers)
                items = None
            except CallFailed as error:
                self.failures.append(error)
                self.repeated += 1
                time.sleep(0.02)
            except (OSError, ValueError, IndexError):
                client = client and client.close()
                self.repeated += items is not None
                time.sleep(0.005)
            time.sleep(self.pause)
        if client:
            client.close()

    def next_items(self):
        items = [(uuid.uuid4().hex, identifier("n", len(self.sent) + n)) for n in range(self.batch)]
        self.sent |= items
        return items

    def keep(self, items, answers):
        for (key, _), answer in zip(items, answers, strict=True):
            if answer[0] is None:
                self.refusal = answer[1]
            else:
                self.promised[key] = answer
                self.refusal = None

    def rest(self, bench, seconds=40):
        """Waits until another submission was promised. Everything that was down is then back."""
        before, deadline = len(self.promised), time.monotonic() + seconds
        known = len(self.failures)
        while len(self.promised) == before:
            if time.monotonic() > deadline:
                said = self.failures[known:][-1:] or self.refusal or "no answer"
                return bench.violation(f"no submission is accepted for {seconds} s: {said}")
            time.sleep(0.002)

    def stop(self):
        self.is_stopping = True
        self.join(60)

    def check(self, bench):
        """The store must have each promised submission, with the answer that was given, and no submission twice. The
        coordinator must be stopped."""
        bench.figure("acknowledged submissions", len(self.promised))
        bench.figure("submissions repeated", self.repeated)
        stored = {key: (request, number) for key, request, number in self.fleet.rows(
            "SELECT s.key, s.request, s.number FROM submission s")}  # fmt: skip
        requests = dict(self.fleet.rows(
            "SELECT r.id, i.name FROM request r JOIN identifier i ON i.id = r.identifier"))  # fmt: skip
        lost = [key for key in self.promised if key not in stored]
        bench.expect(not lost, f"{len(lost)} acknowledged submissions are lost")
        other = [key for key, answer in self.promised.items() if stored.get(key, answer) != answer]
        bench.expect(not other, f"{len(other)} acknowledged submissions have another answer now")
        gone = [key for key, answer in self.promised.items() if requests.get(answer[0]) != self.sent[key]]
        bench.expect(not gone, f"the requests of {len(gone)} acknowledged submissions are lost")
        twice = self.fleet.rows(
            "SELECT count(*) FROM identifier WHERE last_number > 1 AND (name LIKE '%.parked.%' OR name LIKE '%.taken.%')")
        bench.expect(twice[0][0] == 0, f"{twice[0][0]} submissions made a second request")


def check_places(bench, fleet, running=0, seconds=60):
    """Everything that can start must end, and then only `running` launches may hold a place: a place that was reserved
    for a submission that was refused is free again. The coordinator must run."""
    unfinished = (
        "SELECT count(*) FROM request r JOIN identifier i ON i.id = r.identifier"
        " WHERE r.state < 3 AND i.name LIKE 'com.example.taken.%'")
    if not until(seconds, lambda: fleet.rows(unfinished)[0][0] == 0, every=0.05):
        return bench.violation(f"{fleet.rows(unfinished)[0][0]} requests that a host would take have not ended")
    used = lambda: sum(host["usedSlots"] for host in fleet.json("hosts"))
    free = until(10, lambda: used() == running, every=0.1)
    bench.expect(free, f"{used()} places are held, and {running} launches run")
    return None


def define(fleet):
    file = fleet.folder / "parked.yaml"
    file.write_text(DEFINITION)
    fleet.baton("apply", file)
