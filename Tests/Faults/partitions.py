"""Partitions between workers and their coordinator: real packets on the loopback interface of a network namespace,
where iptables drops, rejects and loses them. Each worker has joined the fleet, speaks TLS, and has a relay with its own
port, so that it can be cut off alone."""

import contextlib
import os
import pathlib
import shutil
import subprocess
import sys
import time

import jobs
from bench import Skipped, until
from fleet import Fleet, wall_clock
from kills import Load

PORTS = {"anna": 21001, "ben": 21002, "cora": 21003, "dora": 21004}
KINDS = ["full", "to the worker", "reset", "flapping", "to the coordinator", "30 % loss"]
# If a host cannot be heard at all, its lease ends within its term.
UNHEARD = {"full", "to the coordinator", "reset"}
SECONDS = 1.6


def run(bench):
    """Two hosts at a time lose their coordinator in some way, while the other two go on. Within the lease and two
    seconds another host must run what a host that was cut off had (promise P6), and no batch may be committed twice."""
    with namespace() as inside, SpacedFleet(bench, inside) as fleet:
        fleet.come_up()
        load, number, cut_off = Load(fleet, at_once=4), 0, []
        while number < bench.rounds:
            load.refill()
            busy = load.wait_for_launch(list(PORTS))
            hosts = bench.random.sample(busy, min(2, len(busy), bench.rounds - number))
            bench.round = number + 1
            kinds = {host: KINDS[(number + n) % len(KINDS)] for n, host in enumerate(hosts)}
            cut_off += [(bench.round, host, wall_clock()) for host in hosts if kinds[host] in UNHEARD]
            partition(bench, inside, kinds)
            number += len(hosts)
        until(60, lambda: len(fleet.ready_hosts()) == len(PORTS))
        bench.expect(len(fleet.ready_hosts()) == len(PORTS), "the hosts do not come back")
        if not jobs.wait_until_done(fleet):
            bench.violation("jobs are stuck")
        check_outages(bench, fleet, cut_off)
        fleet.stop_coordinator()
        load.check(bench)
        jobs.check_store(bench, fleet)


def partition(bench, inside, kinds):
    """Cuts these hosts off for some time, and connects them again."""
    rules = [(kind, rule) for host, kind in kinds.items() for rule in rules_of(kind, PORTS[host])]
    begin = time.monotonic()
    for _, rule in rules:
        inside.iptables("-A", *rule)
    while time.monotonic() - begin < SECONDS:
        time.sleep(bench.random.uniform(0.1, 0.3))
        # Packets pass for a moment: the new rule stands before the rule that drops them, whose count stays.
        flapping = [rule[1:-1] for kind, rule in rules if kind == "flapping"]
        for change in ("-I", "-D"):
            for rule in flapping:
                inside.iptables(change, "INPUT", *rule, "ACCEPT")
            time.sleep(0.1 if flapping else 0)
    hit = inside.packets()
    for host, kind in kinds.items():
        if hit.get(PORTS[host], 0) > 0:
            bench.land(kind)
        bench.note(f"{kind} for {host}: {hit.get(PORTS[host], 0)} packets")
    inside.iptables("-F", "INPUT")


def rules_of(kind, port):
    """The rules for iptables. The relay's port is the destination on the way to the coordinator, and the source on the
    way back."""
    there = ["INPUT", "-p", "tcp", "--dport", port]
    back = ["INPUT", "-p", "tcp", "--sport", port]
    match kind:
        case "full" | "flapping":
            return [[*there, "-j", "DROP"], [*back, "-j", "DROP"]]
        case "to the coordinator":
            return [[*there, "-j", "DROP"]]
        case "to the worker":
            return [[*back, "-j", "DROP"]]
        case "30 % loss":
            lossy = ["-m", "statistic", "--mode", "random", "--probability", "0.3", "-j", "DROP"]
            return [[*there, *lossy], [*back, *lossy]]
        case "reset":
            return [[*there, "-j", "REJECT", "--reject-with", "tcp-reset"]]
    raise ValueError(kind)


def check_outages(bench, fleet, cut_off):
    """What a host ran that could not be heard must run elsewhere within the lease and two seconds after the cut. What
    was lost in another way must run elsewhere within that time after the end of its lease. There is room on other
    hosts."""
    for bench.round, host, at in cut_off:
        lost = fleet.rows(
            "SELECT l.request, coalesce((SELECT n.started_at FROM launch n WHERE n.request = l.request"
            f" AND n.number = l.number + 1), {jobs.ENDED}) FROM launch l JOIN request r ON r.id = l.request"
            " JOIN host h ON h.id = l.host"
            " WHERE h.name = ? AND l.started_at <= ? AND l.ended_at BETWEEN ? AND ? AND l.outcome = 'lost'",
            host, at, at, at + int(SECONDS * 1e9))  # fmt: skip
        for request, again in lost:
            expect_soon(bench, fleet, request, at, again, "the cut")
    waits = fleet.rows(
        "SELECT l.request, l.ended_at, n.started_at FROM launch l JOIN launch n ON n.request = l.request"
        " AND n.number = l.number + 1 WHERE l.outcome = 'lost'")  # fmt: skip
    bench.figure("launches lost", len(waits))
    for request, ended, again in waits:
        expect_soon(bench, fleet, request, ended, again, "its loss")


def expect_soon(bench, fleet, request, since, again, what):
    bound, seconds = fleet.lease_seconds + 2, ((again or 1 << 63) - since) / 1e9
    bench.figure(f"seconds from {what} to the next launch", round(seconds, 2))
    on_time = seconds <= bound + bench.stalls.between(since, since + seconds * 1e9)
    bench.expect(on_time, f"request {request} ran again {seconds:.1f} s after {what}, not within {bound} s")


class SpacedFleet(Fleet):
    """A fleet that runs in the namespace. The store is read from outside."""

    def __init__(self, bench, inside):
        super().__init__(bench)
        self.prefix = inside.prefix
        self.operators = 0
        self.relays = []

    def come_up(self):
        if not self.start_coordinator():
            raise RuntimeError(f"the coordinator does not start: {self.said()[-300:]!r}")
        relay = pathlib.Path(__file__).with_name("proxy.py")
        for name, port in PORTS.items():
            command = [*self.prefix, sys.executable, relay, port, self.port]
            self.relays.append(subprocess.Popen(list(map(str, command))))
            self.join(name)
            self.start_host(name, coordinator=f"127.0.0.1:{port}")
        if self.bench.plant:
            self.bench.plant.put_into(self.database)
        if not self.wait_for_hosts(len(PORTS)):
            raise RuntimeError("the hosts do not come up")

    def close(self):
        super().close()
        for relay in self.relays:
            relay.kill()
            relay.wait()


class Namespace:
    def __init__(self, name):
        self.name = name
        self.prefix = ["ip", "netns", "exec", name]

    def iptables(self, *arguments):
        command = [*self.prefix, "iptables", "-w", *map(str, arguments)]
        return subprocess.run(command, check=True, capture_output=True, timeout=10).stdout

    def packets(self):
        """How many packets were dropped or rejected for each port."""
        found = {}
        for line in self.iptables("-L", "INPUT", "-v", "-x", "-n").decode().splitlines():
            words = line.replace("dpt:", " ").replace("spt:", " ").split()
            ports = [int(word) for word in words if word.isdigit() and int(word) in PORTS.values()]
            if ports and words[2] in ("DROP", "REJECT"):
                found[ports[0]] = found.get(ports[0], 0) + int(words[0])
        return found


@contextlib.contextmanager
def namespace():
    if os.geteuid() != 0:
        raise Skipped("a network namespace needs root")
    for tool in ("ip", "iptables"):
        if shutil.which(tool) is None:
            raise Skipped(f"there is no {tool}")
    name = f"baton-faults-{os.getpid()}"
    made = subprocess.run(["ip", "netns", "add", name], capture_output=True)
    if made.returncode != 0:
        raise Skipped(f"no network namespace can be made: {made.stderr.decode().strip()}")
    try:
        inside = Namespace(name)
        subprocess.run([*inside.prefix, "ip", "link", "set", "lo", "up"], check=True, capture_output=True)
        yield inside
    finally:
        subprocess.run(["ip", "netns", "delete", name], capture_output=True)
