"""Conditions that are lost: a host is unplugged while it runs a job that needs external power, or its owner pauses it.
The launch must expire for this reason, and another host, or later the same one, must continue. No batch may be lost,
and none may run again."""

import subprocess
import time

import jobs
import machines
from bench import until
from fleet import Fleet, started

HOSTS = ["anna", "ben"]
FLIPS_OF_ONE_JOB = 3
BATCHES = 60
# The expiry reasons in the store.
REASONS = {"unplug": "powerLost", "pause": "pausedByOwner"}


def run(bench):
    with Fleet(bench) as fleet:
        started(fleet)
        for host in HOSTS:
            machines.start_host(fleet, host, slots=1)
        if not fleet.wait_for_hosts(len(HOSTS)):
            raise RuntimeError("the hosts do not come up")
        made = []
        # Some flips find that their job has just ended, so there are more jobs than flips asked for.
        while bench.landed < bench.rounds and len(made) < bench.rounds:
            made.append(flipped_job(bench, fleet, len(made)))
        fleet.stop_coordinator()
        jobs.check(bench, fleet, made)
        jobs.check_store(bench, fleet)


def flipped_job(bench, fleet, number):
    """Submits a job, flips its conditions a few times, and waits for its end."""
    job = jobs.new_job(fleet, f"flipped{number}", BATCHES, pause=0.025)
    jobs.submit(fleet, [job], extra="requiresExternalPower: true\n")
    for _ in range(FLIPS_OF_ONE_JOB):
        bench.round = bench.landed + 1
        time.sleep(bench.random.uniform(0.2, 0.9))
        flip(bench, fleet, job, bench.random.choice(list(REASONS)))
    if not jobs.wait_until_done(fleet):
        bench.violation(f"{job.identifier} is stuck")
    batches = [batch for _, batch, _ in jobs.lines_of(job)]
    bench.expect(len(batches) == len(set(batches)), f"{job.identifier}: an expiry cost a batch, which was run again")
    return job


def flip(bench, fleet, job, kind):
    """Flips a condition under a running launch. Does nothing if no launch runs, and lands nothing if the launch ends by
    itself in that moment."""
    running = launch_of(fleet, job, "l.ended_at IS NULL")
    if not running:
        return
    number, host, *_ = running
    change(fleet, host, kind, True)
    gone_on = until(60, lambda: has_gone_on(fleet, job, number), every=0.02)
    bench.expect(gone_on, f"nobody goes on after {kind} of {host}")
    _, _, outcome, reason = launch_of(fleet, job, f"l.number = {number}")
    change(fleet, host, kind, False)
    if outcome == "expired":
        right = bench.expect(reason == REASONS[kind], f"after {kind} of {host} launch {number} expired {reason}")
        if right:
            bench.land(kind)
    else:
        bench.expect(outcome == "finished", f"after {kind} of {host} launch {number} is {outcome}: {reason}")


def change(fleet, host, kind, is_lost):
    if kind == "unplug":
        machines.set_power(fleet, host, not is_lost)
    else:
        command = [fleet.bench.binaries / "baton-worker", "pause" if is_lost else "resume", "--name", host]
        subprocess.run(
            command, env=fleet.environment | machines.environment(fleet, host), check=True, timeout=60, capture_output=True)


def launch_of(fleet, job, which):
    """The number, host, outcome and expiry reason of a launch, or None if there is no such launch."""
    found = fleet.rows(
        "SELECT l.number, h.name, l.outcome, l.expiring_reason FROM launch l JOIN request r ON r.id = l.request"
        " JOIN identifier i ON i.id = r.identifier JOIN host h ON h.id = l.host"
        f" WHERE i.name = ? AND {which} ORDER BY l.number DESC LIMIT 1", job.identifier)  # fmt: skip
    return found[0] if found else None


def has_gone_on(fleet, job, number):
    """Whether the job has a later launch, or its request has ended."""
    return launch_of(fleet, job, f"l.number > {number}") or launch_of(fleet, job, "r.state >= 3")
