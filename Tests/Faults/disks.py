"""A disk that is full, fails or is slow. The coordinator has running jobs, and a client submits without pause."""

import contextlib
import errno
import time

import jobs
from bench import until
from fleet import Fleet, started
from kills import Load
from shim import ANY, AT_CHECKPOINTS, AT_COMMITS, Shim
from submitter import Submitter, check_places

HOSTS = ["anna", "ben"]
# The exit statuses of a Swift program that trapped: SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV.
TRAPS = {-4, -5, -6, -7, -8, -11}
# A fault lands soon, because a client submits all the time. The limit is long enough for a busy machine.
LANDS_WITHIN_SECONDS = 30
ENDS_WITHIN_SECONDS = 15


@contextlib.contextmanager
def loaded(bench):
    """A fleet with the shim, running jobs and a submitter. After the body everything is checked."""
    shim = Shim(bench)
    with Fleet(bench) as fleet:
        started(fleet, HOSTS, environment=shim.environment)
        load, client = Load(fleet, at_once=3), Submitter(fleet)
        load.refill()
        client.start()
        yield fleet, shim, load, client
        shim.reset()
        if not fleet.runs:
            fleet.start_coordinator(environment=shim.environment)
        client.rest(bench)
        client.stop()
        if not jobs.wait_until_done(fleet):
            bench.violation("jobs are stuck")
        check_places(bench, fleet)
        fleet.stop_coordinator()
        load.check(bench)
        jobs.check_store(bench, fleet)
        client.check(bench)


# ---- Full


def full(bench):
    """The disk is full from some write on, and has room again a little later. No process may need a restart."""
    with loaded(bench) as (fleet, shim, load, client):
        for _ in bench.each_round():
            load.refill()
            time.sleep(bench.random.uniform(0, 0.05))
            failures = len(client.failures)
            shim.fail_writes(errno.ENOSPC, after=bench.random.randint(0, 30))
            if until(LANDS_WITHIN_SECONDS, lambda: shim.landed > 0, every=0.002):
                bench.land("full")
            until(1, lambda: len(client.failures) > failures, every=0.002)
            time.sleep(bench.random.uniform(0, 0.2))
            shim.reset()
            if not fleet.runs:
                bench.violation(f"the coordinator ended with {fleet.coordinator.returncode}: {fleet.said()[-300:]!r}")
                fleet.start_coordinator(environment=shim.environment)
            client.rest(bench)
        bench.figure("explicit refusals", len(client.failures))
        bench.expect(client.failures, "a full disk was told to nobody")


# ---- Failing

KINDS = ["sync once", "write once", "sync for good", "write for good", "checkpoint once"]


def failing(bench):
    """The disk fails with EIO. If a commit fails, the coordinator must end by itself, name the disk, and never say that
    a submission was refused. Started again on a working disk, it must have everything; on a disk that still fails, it
    must say so. If only the copying of the log into the database fails, nothing must be noticed: no commit failed, and
    the log is copied later."""
    with loaded(bench) as (fleet, shim, load, client):
        for number in bench.each_round():
            load.refill()
            time.sleep(bench.random.uniform(0, 0.05))
            fail(bench, fleet, shim, client, KINDS[number % len(KINDS)])
            client.rest(bench)
        refused = [error for error in client.failures if "nothing was changed" in error.message]
        bench.expect(not refused, f"{len(refused)} times 'nothing was changed' on a disk that failed: {refused[:1]}")


def fail(bench, fleet, shim, client, kind):
    start = len(fleet.said())
    count = 1 if kind.endswith("once") else 1 << 40
    after = bench.random.randint(0, 30)
    match kind.split()[0]:
        case "write":
            shim.fail_writes(errno.EIO, after, count)
        case "sync":
            shim.fail_syncs(errno.EIO, after, count, at=AT_COMMITS if count == 1 else ANY)
        case "checkpoint":
            shim.fail_syncs(errno.EIO, 0, count, at=AT_CHECKPOINTS)
    if not until(LANDS_WITHIN_SECONDS, lambda: shim.landed > 0, every=0.002):
        raise RuntimeError(f"{kind}: nothing was written for {LANDS_WITHIN_SECONDS} s: {client.failures[-1:]}")
    # With faults for good, a fault that first hit a checkpoint hits a commit soon.
    is_at_commit = shim.landed_at_commit > 0 or (count > 1 and at_commit_soon(fleet, shim))
    bench.land(kind if is_at_commit or kind.startswith("checkpoint") else f"{kind}, in a checkpoint")
    if is_at_commit:
        expect_ended(bench, fleet, start, kind)
    else:
        client.rest(bench)
        bench.expect(fleet.runs, f"{kind}: no commit failed, and it ended: {fleet.said(start)[-300:]!r}")
    if count > 1:
        restart_on_failing(bench, fleet, shim, kind)
    shim.reset()
    if not fleet.runs and not fleet.start_coordinator(environment=shim.environment):
        raise RuntimeError(f"on a disk that works again it does not start: {fleet.said(start)[-500:]!r}")


def at_commit_soon(fleet, shim):
    return until(LANDS_WITHIN_SECONDS, lambda: shim.landed_at_commit > 0 or not fleet.runs, every=0.005)


def expect_ended(bench, fleet, start, kind):
    seconds = ENDS_WITHIN_SECONDS
    ended = until(seconds, lambda: not fleet.runs, every=0.005)
    if bench.expect(ended, f"{seconds} s after EIO ({kind}) the coordinator still runs: {fleet.said(start)[-300:]!r}"):
        expect_named(bench, fleet, start, kind)
    else:
        fleet.kill_coordinator()


def restart_on_failing(bench, fleet, shim, kind):
    """Starts the coordinator on a disk that still fails. It may run as long as it writes nothing. If it ends, it must
    say why."""
    start = len(fleet.said())
    if kind.startswith("write"):
        shim.fail_writes(errno.EIO, after=-shim.writes)
    else:
        shim.fail_syncs(errno.EIO, after=-shim.syncs)
    fleet.start_coordinator(environment=shim.environment, seconds=3)
    if until(3, lambda: not fleet.runs):
        expect_named(bench, fleet, start, f"started on a disk that fails ({kind})")
    fleet.kill_coordinator()


def expect_named(bench, fleet, start, kind):
    status, said = fleet.coordinator.returncode, fleet.said(start)
    bench.expect(status not in TRAPS, f"{kind}: the coordinator trapped with {status}: {said[-400:]!r}")
    named = any(word in said.lower() for word in (b"disk", b"i/o", b"input/output"))
    good = status in TRAPS or (status != 0 and named)
    bench.expect(good, f"{kind}: it ended with {status} and named no disk: {said[-300:]!r}")


# ---- Slow


def slow(bench):
    """Each sync takes from 50 ms to 30 s. No host may lose a launch, because heartbeats are not writes, and every
    submission must be answered."""
    longest = 30.0
    with loaded(bench) as (fleet, shim, load, client):
        for number in bench.each_round():
            load.refill()
            delay = 0.05 * (longest / 0.05) ** ((number - 1) % 5 / 4)
            load.wait_for_launch(HOSTS)
            promised = len(client.promised)
            shim.sync_delay = int(delay * 1e9)
            until(3 * delay + 5, lambda: shim.landed > 0 and len(client.promised) > promised)
            if shim.landed > 0:
                bench.land(f"{delay:.2f} s")
            bench.expect(fleet.runs, "the coordinator ended")
            shim.reset()
            client.rest(bench, seconds=2 * delay + 10)
        bench.figure("slowest submission in seconds", round(client.slowest, 2))
        failures = client.failures
        bench.expect(not failures, f"{len(failures)} submissions were answered with errors: {failures[:1]}")
        early = fleet.rows("SELECT outcome, reason FROM launch WHERE outcome <> 'finished'")
        bench.expect(not early, f"{len(early)} launches ended because the disk was slow: {early[:2]}")
        ran_out = sum((fleet.folder / f"{host}.log").read_bytes().count(b"lease ran out") for host in HOSTS)
        bench.expect(ran_out == 0, f"{ran_out} leases ran out because the disk was slow")
