"""Jobs whose batches record, outside of Baton, that they ran; and the rules by which the store and these logs must
agree."""

import collections
import dataclasses
import itertools

from bench import until

# The line of a batch is written in the middle of its time, so that a kill can land before or after it.
SCRIPT = """#!/bin/sh
log=$1 pause=$2
shift 2
sleep "$pause"
echo "$BATON_REQUEST $BATON_LAUNCH $BATON_BATCH ${BATON_SHARD:-0} $*" >> "$log"
sleep "$pause"
"""

# When the request or shard `r` of a launch `l` had no more to run. A request outlives its own shard.
ENDED = "CASE WHEN r.shard_state IS NULL THEN r.ended_at ELSE l.ended_at END"

STATES = ["scheduled", "ready", "running", "succeeded", "failed", "cancelled"]


@dataclasses.dataclass(frozen=True)
class Job:
    """A job with `batches` batches of two items each. A batch takes a little more than twice `pause` seconds. With more
    than one lane it is divided into shards."""

    identifier: str
    log: object
    batches: int = 30
    pause: float = 0.01
    kind: str = "continued"
    lanes: int = 1

    @property
    def items(self):
        return 2 * self.batches

    def yaml(self, script, extra=""):
        return (
            f"---\nidentifier: {self.identifier}\nkind: {self.kind}\ntitle: Faults\nretry: {{limit: 0}}\n{extra}work:\n"
            f'  command: [{script}, {self.log}, "{self.pause}"]\n  items: {{range: 1...{self.items}}}\n  batchSize: 2\n'
            + (f"  spread: {self.lanes}\n" if self.lanes > 1 else "")
        )


def new_job(fleet, name, batches=30, pause=0.01, kind="continued", lanes=1):
    return Job(f"com.example.faults.{name}", fleet.folder / f"{name}.log", batches, pause, kind, lanes)


def script(fleet):
    """The script that the batches of the jobs run."""
    file = fleet.folder / "append-batch"
    if not file.exists():
        file.write_text(SCRIPT)
        file.chmod(0o755)
    return file


def submit(fleet, jobs, extra=""):
    """Submits through the command line, as a person does. Raises CalledProcessError if the jobs are not accepted."""
    file = fleet.folder / "jobs.yaml"
    file.write_text("".join(job.yaml(script(fleet), extra) for job in jobs))
    fleet.baton("submit", "-f", file)


def lines_of(job, shard=None):
    """The launch, batch and items of each line in the job's log, or of those that one shard has written."""
    try:
        text = job.log.read_text()
    except FileNotFoundError:
        return []
    lines = (line.split() for line in text.splitlines())
    return [
        (int(line[1]), int(line[2]), [int(item) for item in line[4:]])
        for line in lines
        if shard in (None, int(line[3]))
    ]


def wait_for_lines(job, count, seconds=60):
    return until(seconds, lambda: len(lines_of(job)) >= count, every=0.005)


def wait_until_done(fleet, seconds=90):
    """Waits until all requests of the jobs made here have ended. Returns False if that takes too long; with a planted
    bug they may never end."""
    seconds = min(seconds, 15) if fleet.bench.plant else seconds
    sql = (
        "SELECT count(*) FROM request r JOIN identifier i ON i.id = r.identifier"
        " WHERE r.state < 3 AND i.name LIKE 'com.example.faults.%'")
    return until(seconds, lambda: fleet.rows(sql)[0][0] == 0, every=0.05)


# ---- What must be true afterwards


def problems_of(fleet, job):
    """Everything that is wrong with the only request of `job`. The coordinator must be stopped or idle."""
    requests = fleet.rows(
        "SELECT r.id, r.state, r.reason FROM request r JOIN identifier i ON i.id = r.identifier WHERE i.name = ?"
        f"{' AND r.head IS NULL' if job.lanes > 1 else ''}", job.identifier)  # fmt: skip
    if len(requests) != 1:
        return [f"{job.identifier}: {len(requests)} requests"]
    request, state, reason = requests[0]
    found = [] if STATES[state] == "succeeded" else [f"{STATES[state]}: {reason}"]
    found += shard_problems(fleet, job, request) if job.lanes > 1 else row_problems(fleet, job, request, job.batches)
    return [f"{job.identifier}: {problem}" for problem in found]


def row_problems(fleet, job, row, batches, shard=None, offset=0):
    """What is wrong with a request that is not divided, or with one shard, which begins after `offset` items."""
    launches = fleet.rows(
        "SELECT number, first_batch, batches, outcome FROM launch WHERE request = ? ORDER BY number", row)  # fmt: skip
    return partition_problems(launches, batches) + log_problems(launches, lines_of(job, shard), offset)


def shard_problems(fleet, job, request):
    """What holds for a request must hold for each of its shards; together they must have each item once; and no more of
    them may have run at once than there are lanes."""
    sql = "SELECT id, shard, first_unit, end_unit FROM request WHERE ? IN (id, head) ORDER BY first_unit"
    shards = fleet.rows(sql, request)
    found, place = [] if len(shards) > 1 else ["it was not divided"], 0
    for row, shard, first, end in shards:
        if first != place:
            found.append(f"shard {shard} begins after {first} items, not after {place}")
        place = end
        problems = row_problems(fleet, job, row, (end - first) // 2, shard, first)
        found += [f"shard {shard}: {problem}" for problem in problems]
    if place != job.items:
        found.append(f"the shards end after {place} items of {job.items}")
    # The times of launches are those of the wall clock.
    if fleet.has_true_clock and (most := most_at_once(fleet, request)) > job.lanes:
        found.append(f"{most} shards ran at once on {job.lanes} lanes")
    return found


def most_at_once(fleet, request):
    """The largest number of launches that were open at the same time, for longer than a moment. A claim reads the clock
    before it waits for the store. So it may be older than the end, in the same commit, that made room for it."""
    spans = fleet.rows(
        "SELECT l.started_at, l.ended_at FROM launch l JOIN request r ON r.id = l.request WHERE ? IN (r.id, r.head)",
        request)  # fmt: skip
    # A launch that ends when another one starts ends before it.
    moment = 100_000_000  # nanoseconds
    ends = [(max(start, end - moment), -1) for start, end in spans if end is not None]
    changes = sorted([(start, 1) for start, _ in spans] + ends)
    return max(itertools.accumulate(change for _, change in changes), default=0)


def partition_problems(launches, batches):
    """The launches must have committed the batches 0 ..< `batches`, each exactly once."""
    found, place = [], 0
    for number, first, count, _ in launches:
        if first != place:
            found.append(f"launch {number} began with batch {first}, not with {place}")
        place = first + count
    if place != batches:
        found.append(f"the launches committed {place} batches of {batches}")
    return found


def log_problems(launches, lines, offset=0):
    """Each committed batch must have been run by the launch that committed it. A launch that ended early may have run
    at most one more batch, and a launch that finished none. No launch may have run a batch twice. Each batch must have
    had its items."""
    ran = collections.Counter((launch, batch) for launch, batch, _ in lines)
    found = [f"launch {launch} ran batch {batch} {count} times" for (launch, batch), count in ran.items() if count > 1]
    for number, first, count, outcome in launches:
        batches = {batch for launch, batch in ran if launch == number}
        committed = set(range(first, first + count))
        if missing := committed - batches:
            found.append(f"launch {number} committed {sorted(missing)[:3]} without having run it")
        more = batches - committed
        if more and (outcome == "finished" or more != {first + count}):
            found.append(f"launch {number} ({outcome}) ran {sorted(more)[:3]} beyond what it committed")
    for launch, batch, items in lines:
        if items != [offset + 2 * batch + 1, offset + 2 * batch + 2]:
            found.append(f"launch {launch} ran batch {batch} with items {items}")
    unknown = {launch for launch, _ in ran} - {launch[0] for launch in launches}
    return found + [f"launch {number} is not in the store" for number in unknown]


def check(bench, fleet, jobs):
    for job in jobs:
        for problem in problems_of(fleet, job):
            bench.violation(problem)


def check_store(bench, fleet):
    """The checks of SQLite itself, and what must never be in a store, whatever happened."""
    for (text,) in fleet.rows("PRAGMA integrity_check"):
        bench.expect(text == "ok", f"integrity_check: {text}")
    for row in fleet.rows("PRAGMA foreign_key_check"):
        bench.violation(f"foreign_key_check: {row}")
    check_launches(bench, fleet)


def check_launches(bench, fleet):
    """What must be true of the launches in every store, also in PostgreSQL."""
    double = fleet.rows("SELECT request FROM launch WHERE ended_at IS NULL GROUP BY request HAVING count(*) > 1")
    bench.expect(not double, f"two live launches of requests {double}")
    lost = fleet.rows("SELECT r.id FROM request r WHERE r.launches <> (SELECT count(*) FROM launch WHERE request = r.id)")
    bench.expect(not lost, f"launches are missing of requests {lost[:3]}")
