"""SIGSTOP for longer than the lease, then SIGCONT. A worker that wakes up is superseded and must commit nothing
(promise P3)."""

import os
import signal
import time

import jobs
import processes
from bench import until
from fleet import Fleet, started
from kills import HOSTS, Load

REFUSED = b"superseded launch"


def run(bench):
    """A worker, alone or with the commands that it runs, sleeps until other hosts have its launches. Every sixth time
    the coordinator sleeps, and its workers go on."""
    with Fleet(bench) as fleet:
        started(fleet, HOSTS)
        load, asleep = Load(fleet, at_once=5), []
        for number in bench.each_round():
            load.refill()
            if number % 6 == 0:
                stop_coordinator(bench, fleet)
            else:
                stop_host(bench, fleet, load, asleep, "tree" if number % 2 else "worker")
            wake(bench, fleet, asleep, leave=2)
        wake(bench, fleet, asleep, leave=0)
        if not jobs.wait_until_done(fleet):
            bench.violation("jobs are stuck")
        fleet.stop_coordinator()
        refusals = fleet.said().count(REFUSED)
        bench.figure("stale commits tried and refused", refusals)
        bench.expect(refusals > 0, "no stale commit was tried: nothing was shown")
        load.check(bench)
        jobs.check_store(bench, fleet)


def stop_coordinator(bench, fleet):
    fleet.coordinator.send_signal(signal.SIGSTOP)
    state = until(2, lambda: processes.state_and_parent(fleet.coordinator.pid)[0] == "T")
    time.sleep(bench.random.uniform(1.1, 1.6))
    fleet.coordinator.send_signal(signal.SIGCONT)
    if state:
        bench.land("coordinator")


def stop_host(bench, fleet, load, asleep, kind):
    """Stops a host that has a launch. If the launch ends at that moment, the host runs on and another one is chosen."""
    while True:
        busy = load.wait_for_launch([name for name in HOSTS if name not in [sleeper[0] for sleeper in asleep]])
        host = bench.random.choice(busy)
        time.sleep(bench.random.uniform(0, 0.1))
        worker = fleet.worker_of(host)
        if worker is None:
            return bench.violation(f"{host} has no worker")
        pids = processes.tree_of(worker) if kind == "tree" else [worker]
        processes.signal_all(pids, signal.SIGSTOP)
        launches = [row for row in load.running() if row[1] == host]
        if launches:
            asleep.append((host, pids, launches, kind, time.monotonic()))
            return None
        processes.signal_all(pids, signal.SIGCONT)


def wake(bench, fleet, asleep, leave):
    """Wakes the sleepers, the oldest first, after their launches were lost, until `leave` sleepers are left."""
    while len(asleep) > leave:
        host, pids, launches, kind, since = asleep.pop(0)
        if until(20, lambda: all(is_lost(fleet, *launch) for launch in launches)):
            bench.land(kind)
        else:
            bench.violation(f"{host} slept for 20 s and its launches are not lost")
        bench.figure("seconds asleep", round(time.monotonic() - since, 2))
        time.sleep(bench.random.uniform(0, 0.2))
        processes.signal_all(pids, signal.SIGCONT)
        until(3, lambda: all(not os.path.exists(f"/proc/{pid}") or not_stopped(pid) for pid in pids))


def not_stopped(pid):
    found = processes.state_and_parent(pid)
    return found is None or found[0] != "T"


def is_lost(fleet, _, __, request, number):
    rows = fleet.rows("SELECT outcome FROM launch WHERE request = ? AND number = ?", request, number)
    return rows and rows[0][0] is not None
