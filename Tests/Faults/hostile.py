"""Commands that do not want to end. By the deadline none of their processes may be left, and their host must be free
(promise P8)."""

import pathlib
import time

import jobs
import processes
from bench import until
from fleet import Fleet, started

WINDOW_SECONDS = 2
TOLERANCE_SECONDS = 1.5
AT_ONCE = 4

IGNORE = 'trap "" TERM INT HUP QUIT'
FOREVER = "while :; do sleep 0.5; done"
# Everything is bounded: processes that a row leaves by mistake end by themselves, and no disk is really filled.
SCRIPTS = {
    "ignores signals": f"{IGNORE}; {FOREVER}",
    "child in a session": f"{IGNORE}; setsid sh -c '{IGNORE}; {FOREVER}' & wait; sleep 100",
    "daemon": f"(setsid sh -c '{IGNORE}; setsid sh -c \"{FOREVER}\" & {FOREVER}' >/dev/null 2>&1 &); {FOREVER}",
    "many children": f"{IGNORE}; for i in 1 2 3 4 5 6 7 8 9 10; do (trap '' TERM; {FOREVER}) & done; wait; sleep 100",
    "fork bomb": f"{IGNORE}; i=0; while [ $i -lt 600 ]; do i=$((i + 1)); (setsid sleep 30 &); done; {FOREVER}",
    "chain": "f() { if [ $1 -lt 300 ]; then sh $0 $(($1 + 1)) & fi; sleep 0.05; }; f ${1:-0}; sleep 30",
    "closes output": f"exec >&- 2>&- <&-; {IGNORE}; {FOREVER}",
    "no newline": f"{IGNORE}; while :; do printf '%s' 'no end of this line, no end of this line'; done",
    "flood": f"{IGNORE}; yes 'no end of output'",
    "fills its folder": f"{IGNORE}; for i in $(seq 64); do head -c 1048576 /dev/zero >> $TMPDIR/fill; done; {FOREVER}",
    "stops itself": f"{IGNORE}; kill -STOP $$; {FOREVER}",
    "no environment": f"{IGNORE}; env -i setsid sh -c \"echo \\$\\$ >> $STARTED; trap '' TERM; {FOREVER}\" & {FOREVER}",
    "kills its group": f"{IGNORE}; setsid sh -c '{FOREVER}' & sleep 0.3; kill -KILL 0",
    "holds output": f"setsid sh -c '{IGNORE}; {FOREVER}' & exit 0",
}


def run(bench):
    """Runs a few commands at a time on one host. Each is cancelled while it runs, unless it ends by itself and leaves
    processes."""
    kinds = list(SCRIPTS)
    with Fleet(bench) as fleet:
        started(fleet, ["anna"], slots=AT_ONCE)
        for first in range(0, bench.rounds, AT_ONCE):
            group = [kinds[number % len(kinds)] for number in range(first, min(first + AT_ONCE, bench.rounds))]
            bench.round = first + 1
            torment(bench, fleet, group)
        jobs.check_store(bench, fleet)


class Victim:
    def __init__(self, bench, fleet, kind, place):
        self.kind = kind
        self.identifier = f"com.example.hostile.r{bench.round}p{place}"
        self.script = fleet.folder / f"{self.identifier}.sh"
        # When its cancellation was accepted, and when its launch was first seen to have ended.
        self.asked = 0.0
        self.freed = None
        self.started = fleet.folder / f"{self.identifier}.started"
        self.script.write_text(f"STARTED={self.started}\necho $$ >> $STARTED\n{SCRIPTS[kind]}\n")

    @property
    def yaml(self):
        return (
            f"---\nidentifier: {self.identifier}\nkind: continued\ntitle: Hostile\nclosingWindow: {WINDOW_SECONDS}s\n"
            f"retry: {{limit: 0}}\nwork:\n  command: [sh, {self.script}]\n  terminateBefore: 1s\n"
            f"  environment: {{HOSTILE_MARK: {self.identifier}}}\n")  # fmt: skip


def torment(bench, fleet, group):
    victims = [Victim(bench, fleet, kind, place) for place, kind in enumerate(group)]
    file = fleet.folder / "hostile.yaml"
    file.write_text("".join(victim.yaml for victim in victims))
    fleet.baton("submit", "-f", file)
    for victim in victims:
        bench.expect(until(30, victim.started.exists), f"'{victim.kind}' does not start")
    time.sleep(0.4)
    for victim in victims:
        fleet.baton("cancel", victim.identifier, check=False)
        victim.asked = time.monotonic()
    for victim in victims:
        check_free(bench, fleet, victim)


def check_free(bench, fleet, victim):
    limit = WINDOW_SECONDS + TOLERANCE_SECONDS
    if victim.started.exists():
        bench.land(victim.kind)
    until(victim.asked + limit + 30 - time.monotonic(), lambda: is_free(fleet, victim))
    took = (victim.freed or time.monotonic()) - victim.asked
    bench.figure("seconds until the host was free", round(took, 2))
    on_time = took <= limit + bench.stalls.since(victim.asked)
    bench.expect(on_time, f"'{victim.kind}' held its host for {took:.1f} s after it was cancelled, not {limit} s at most")
    until(2, lambda: not living(victim))
    left = living(victim)
    bench.expect(not left, f"'{victim.kind}' left {len(left)} processes behind: {[command_of(pid) for pid in left][:2]}")


def is_free(fleet, victim):
    if victim.freed is None and state(fleet, victim) >= 3:
        victim.freed = time.monotonic()
    return victim.freed is not None


def state(fleet, victim):
    rows = fleet.rows(
        "SELECT r.state FROM request r JOIN identifier i ON i.id = r.identifier WHERE i.name = ?", victim.identifier)
    return rows[0][0] if rows else -1


def living(victim):
    """The living processes of the victim: those with its mark in their environment, and those that wrote down their
    ids."""
    mark = f"HOSTILE_MARK={victim.identifier}\0".encode()
    written = {int(pid) for pid in victim.started.read_text().split()} if victim.started.exists() else set()
    found = {pid for pid in written if processes.is_alive(pid)}
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if mark in (folder / "environ").read_bytes() and processes.is_alive(folder.name):
                found.add(int(folder.name))
        except OSError:
            pass
    return found


def command_of(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ")[:80]
    except OSError:
        return b"gone"
