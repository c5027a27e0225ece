"""`baton run` is killed and started again. It must continue, and the result must be that of a run without kills
(promise P5)."""

import collections
import subprocess
import time

import jobs
from bench import until
from fleet import Fleet

BATCHES = 60
KILLS_OF_ONE_JOB = 3


def run(bench):
    with Fleet(bench) as fleet:
        while bench.landed < bench.rounds:
            job = jobs.new_job(fleet, f"run{bench.landed}", BATCHES, pause=0.01)
            kill_often(bench, fleet, job, min(KILLS_OF_ONE_JOB, bench.rounds - bench.landed))


def kill_often(bench, fleet, job, kills):
    file = fleet.folder / "run.yaml"
    file.write_text(job.yaml(jobs.script(fleet)).removeprefix("---\n"))
    for _ in range(kills):
        bench.round = bench.landed + 1
        before = jobs.lines_of(job)
        program = start(fleet, file)
        try:
            more = len(before) + bench.random.randint(4, 8)
            if not until(60, lambda: len(jobs.lines_of(job)) >= more or program.poll() is not None, every=0.005):
                raise RuntimeError(f"{job.identifier} does not get on")
            time.sleep(bench.random.uniform(0, 0.06))
            if bench.expect(program.poll() is None, f"{job.identifier} ended before it was killed: {said(fleet)}"):
                bench.land("killed")
        finally:
            program.kill()
            program.wait()
        check_resumed(bench, job, before)
    status = start(fleet, file).wait(120)
    bench.expect(status == 0, f"{job.identifier}: ends with status {status}: {said(fleet)}")
    check_result(bench, job, kills)


def start(fleet, file):
    command = [fleet.bench.binaries / "baton", "run", file]
    with open(fleet.folder / "run.log", "ab") as log:
        return subprocess.Popen(command, env=fleet.environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log)


def said(fleet):
    return (fleet.folder / "run.log").read_bytes()[-300:]


def check_resumed(bench, job, before):
    """The first batch after the start must be the last batch before it, or the next one."""
    after = [batch for _, batch, _ in jobs.lines_of(job)[len(before) :]]
    last = max((batch for _, batch, _ in before), default=-1)
    # A command that ran when its parent was killed may have written its line after `before` was read.
    good = after and last <= after[0] <= last + 2
    bench.expect(good, f"{job.identifier}: started again it began with batch {after[:1]}, where {last} was the last one")


def check_result(bench, job, kills):
    times = collections.Counter(batch for _, batch, _ in jobs.lines_of(job))
    missing = set(range(BATCHES)) - set(times)
    bench.expect(not missing, f"{job.identifier}: batches {sorted(missing)[:5]} were not run")
    repeated = sum(count - 1 for count in times.values())
    bench.figure("batches run again", repeated)
    bench.expect(repeated <= kills, f"{job.identifier}: {repeated} batches were run again after {kills} kills")
