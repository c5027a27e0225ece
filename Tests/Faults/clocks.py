"""Jumps of the wall clock, from one second to ten years, forwards and backwards (promise P7)."""

import time

import jobs
from bench import until
from fleet import Fleet, started
from kills import Load
from shim import Shim
from submitter import Submitter

HOSTS = ["anna", "ben"]
SECOND, DAY = 1, 86400
SIZES = [SECOND, 7, 60, 3600, 2 * 3600, DAY, 30 * DAY, 365 * DAY, 3650 * DAY]
DELAY_SECONDS = 2
# Longer than a busy machine stands still, and shorter than most jumps.
LEASE_SECONDS = 5
TOLERANCE_SECONDS = 3


def run(bench):
    """Moves the clock of the coordinator and its workers while they run; every fifth time while the coordinator is
    down. Each job must have one launch, a job with a delay must start after the delay, and what has ended must not
    change."""
    shim = Shim(bench)
    with Fleet(bench, LEASE_SECONDS, shim.environment) as fleet:
        fleet.has_true_clock = False
        started(fleet, HOSTS)
        load, client, delayed = Load(fleet, at_once=2), Submitter(fleet), None
        client.start()
        for number in bench.each_round():
            load.refill()
            # The clock jumps right after the delay began.
            delayed = delayed or delay(bench, fleet)
            jump(bench, fleet, shim, number)
            client.rest(bench)
            time.sleep(0.3)
            delayed = check_delay(bench, *delayed)
        client.stop()
        if not jobs.wait_until_done(fleet):
            bench.violation("jobs are stuck")
        while delayed:
            delayed = check_delay(bench, *delayed)
            time.sleep(0.02)
        bench.expect(not jobs.lines_of(later(fleet)), "a job with a delay of an hour has started")
        fleet.stop_coordinator()
        check_launches(bench, fleet)
        load.check(bench)
        jobs.check_store(bench, fleet)
        client.check(bench)


def jump(bench, fleet, shim, number):
    is_down = number % 5 == 0
    if is_down:
        fleet.kill_coordinator()
    reads = shim.clock_reads
    seconds = bench.random.choice([-1, 1]) * bench.random.choice(SIZES) + bench.random.random()
    shim.clock_offset += int(seconds * 1e9)
    # Keep the clock within dates of four digits.
    if abs(shim.clock_offset) > 3650 * DAY * 10**9:
        shim.clock_offset = 0
    if is_down and not fleet.start_coordinator():
        raise RuntimeError(f"after a jump of the clock it does not start: {fleet.said()[-300:]!r}")
    if until(2, lambda: shim.clock_reads > reads):
        bench.land("while it is down" if is_down else "live")
    bench.note(f"the clock is {shim.clock_offset / 1e9:+.0f} s off")


def later(fleet):
    """A job that is due long after the row has ended. It must not keep another job from its earlier time."""
    return jobs.Job("com.example.later", fleet.folder / "later.log", batches=1, pause=0, kind="processing")


def delay(bench, fleet):
    """Submits a job with a delay, and then one with a longer delay. Returns the first, and the time since which it
    waits, on a clock that is not moved."""
    job = jobs.new_job(fleet, f"delayed{bench.round}", batches=1, pause=0, kind="processing")
    jobs.submit(fleet, [job], extra=f"earliestBeginDate: {DELAY_SECONDS}s\nrequiresIdle: false\n")
    since = time.monotonic()
    jobs.submit(fleet, [later(fleet)], extra="earliestBeginDate: 1h\nrequiresIdle: false\n")
    return job, since


def check_delay(bench, job, since):
    """Checks a job with a delay. Returns None after the job has started or is late, and its arguments while it may
    still start."""
    waited = time.monotonic() - since
    if jobs.lines_of(job):
        bench.figure("seconds that a delay of 2 s took", round(waited, 1))
        early = f"{job.identifier} started after {waited:.2f} s, {DELAY_SECONDS} s were asked for"
        bench.expect(waited >= DELAY_SECONDS, early)
    elif waited > DELAY_SECONDS + TOLERANCE_SECONDS + bench.stalls.since(since):
        bench.violation(f"{job.identifier}, to start after {DELAY_SECONDS} s, has not after {waited:.1f} s")
    else:
        return job, since
    return None


def check_launches(bench, fleet):
    early = fleet.rows(
        "SELECT i.name, l.number, l.outcome, l.reason FROM launch l JOIN request r ON r.id = l.request"
        " JOIN identifier i ON i.id = r.identifier WHERE l.outcome <> 'finished'")  # fmt: skip
    bench.expect(not early, f"launches ended because the clock jumped: {early[:3]}")
