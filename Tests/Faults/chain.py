"""A handler in Swift submits the next request of its job, then works, and its worker is killed all the time. No link of
the chain is lost, and none is there twice (contract, row 9)."""

import os
import signal
import subprocess
import time

import processes
from bench import until
from fleet import Fleet, started

JOB = """identifier: com.example.links
kind: processing
requiresIdle: false
maySubmit: [com.example.links]
retry: {limit: 1000, backoff: 0s}
"""
NAME = "one"


class ChainFleet(Fleet):
    """A coordinator, and a worker with Swift handlers."""

    def start_handlers(self):
        command = [*self.prefix, self.bench.binaries / "handler-worker", f"127.0.0.1:{self.port}", NAME]
        command += [self.folder / "handlers", self.folder / "links"]
        with open(self.folder / f"{NAME}.log", "ab") as log:
            self.hosts[NAME] = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=self.environment | self.planted({}))

    def handlers(self):
        """The process id of the worker proper, or None while its supervisor has none."""
        program = os.path.realpath(self.bench.binaries / "handler-worker")
        for child in processes.children().get(self.hosts[NAME].pid, []):
            if processes.executable_of(child) == program:
                return child
        return None

    def links(self):
        """The links that have begun to work: the number of each request, and the link that its payload names."""
        try:
            lines = (self.folder / "links").read_text().splitlines()
        except FileNotFoundError:
            return []
        return [tuple(map(int, line.split())) for line in lines]


def run(bench):
    """Most rounds kill the worker proper; every fifth one kills its supervisor too, and every seventh the coordinator."""
    with ChainFleet(bench) as fleet:
        started(fleet)
        fleet.start_handlers()
        if not fleet.wait_for_hosts(1):
            raise RuntimeError("the worker with handlers does not come up")
        (fleet.folder / "links.yaml").write_text(JOB)
        fleet.baton("apply", "links.yaml")
        fleet.baton("submit", "com.example.links", "--payload", "1")
        for number in bench.each_round():
            before = len(fleet.links())
            if not until(60, lambda: len(fleet.links()) > before, every=0.005):
                return bench.violation(f"the chain stands still at {fleet.links()[-1:]}: {fleet.show('com.example.links')}")
            time.sleep(bench.random.uniform(0, 0.06))
            strike(bench, fleet, number)
        (fleet.folder / "links.stop").write_text("")
        if not until(60, lambda: is_over(fleet)):
            return bench.violation("the chain does not end")
        check(bench, fleet)


def strike(bench, fleet, number):
    if number % 7 == 6:
        fleet.kill_coordinator()
        if not fleet.start_coordinator():
            raise RuntimeError("the coordinator does not start again")
        return bench.land("coordinator")
    if number % 5 == 4:
        fleet.kill_host(NAME)
        fleet.start_handlers()
        return bench.land("host")
    worker = fleet.handlers()
    if worker is not None:
        os.kill(worker, signal.SIGKILL)
    return bench.land("worker")


def is_over(fleet):
    return all(state in ("succeeded", "failed") for (state,) in states(fleet))


def states(fleet):
    words = {0: "scheduled", 1: "ready", 2: "running", 3: "succeeded", 4: "failed", 5: "cancelled"}
    return [(words[code],) for (code,) in fleet.rows("SELECT state FROM request ORDER BY number")]


def check(bench, fleet):
    """Request N has the payload N, so a link that was made twice has a number that differs from its payload."""
    links = fleet.links()
    bench.expect(all(number == link for number, link in links), f"a link is there twice: {links}")
    numbers = [number for (number,) in fleet.rows("SELECT number FROM request ORDER BY number")]
    bench.expect(numbers == list(range(1, len(numbers) + 1)), f"a link is missing: {numbers}")
    bench.expect(sorted(set(number for number, _ in links)) == numbers, "a link was submitted and never began")
    bench.expect(all(state == "succeeded" for (state,) in states(fleet)), f"not every link succeeded: {states(fleet)}")
    submissions = fleet.rows("SELECT count(*) FROM submission WHERE key LIKE 'launch:%'")[0][0]
    bench.expect(submissions == len(numbers) - 1, f"{submissions} submissions made {len(numbers)} links")
    bench.figure("links", len(numbers))
