"""Two coordinators, each with a relay between itself and PostgreSQL (promises P1 to P3, P11 and P12). A connection is
cut before a COMMIT reaches the server, when the server has it and its answer is lost, while the server still waits for
it, and after the answer; or nothing passes in one direction for some time, and nobody is told. A coordinator that
cannot know whether its commit was made has to find out. Launches go on through each of these."""

import contextlib
import shutil
import time

import members as fleets
from bench import until
from database import Database, new_folder
from members import Member, SET_BACK
from relay import AFTER, BEFORE, FORGED, IN, LATER, Relay

# How long the server has to wait for a COMMIT that comes later: less than a transaction may be idle.
LATER_SECONDS = (0.3, 2.5)
# Nothing passes for a time in which nobody is ended; or until the other coordinator has ended this one.
SHORT_SECONDS = (0.5, 2.5)
LANDS_WITHIN_SECONDS = 20
# The server keeps the locks of a transaction that it hears nothing of for so long.
IDLE_SECONDS = 4


def run(bench):
    """In each round one or two faults hit the fleet while it works, and then its jobs must succeed."""
    runtime = fleets.new_runtime(bench)
    with Database() as server, relay(server) as near_one, relay(server) as near_two:
        group = []
        for name, own in (("one", near_one), ("two", near_two)):
            group.append(Member(bench, name, server, runtime, address=own.address))
            group[-1].relay = own
        with fleets.come_up(*group) as members:
            if bench.plant:
                return forge(bench, members)
            deck = []
            with fleets.loaded(bench, members) as client:
                for number in bench.each_round():
                    kinds = [fleets.draw(bench, deck, FAULTS) for _ in range(1 + number % 2)]
                    fleets.one_round(bench, members, [(kind, FAULTS[kind]) for kind in kinds])
                    client.rest(bench)
    return None


@contextlib.contextmanager
def relay(server):
    folder = new_folder()
    made = Relay(folder, server.folder, server.port)
    try:
        yield made
    finally:
        made.close()
        shutil.rmtree(folder, ignore_errors=True)


# ---- Faults


def cut(kind):
    def fault(bench, members):
        """Cuts a few commits of a coordinator, one after another."""
        member = fleets.chosen(bench, members)
        for _ in range(bench.random.randint(1, 4)):
            after, delay = bench.random.randint(0, 8), bench.random.uniform(*LATER_SECONDS)
            member.relay.arm(kind, after, delay)
            if not until(LANDS_WITHIN_SECONDS, lambda: member.relay.landed == kind, every=0.005):
                bench.violation(f"{kind}: {member.name} made no commit for {LANDS_WITHIN_SECONDS} s")
                return False
        return True

    return fault


def shut(direction, is_long):
    def fault(bench, members):
        """Nothing passes in this direction. Then what was held back passes, late."""
        member = fleets.chosen(bench, members)
        begin = time.monotonic()
        member.relay.shut(direction)
        if not is_long:
            time.sleep(bench.random.uniform(*SHORT_SECONDS))
            member.relay.open(direction)
            return
        fleets.expect_end(bench, member, begin, "was cut off", IDLE_SECONDS)
        time.sleep(bench.random.uniform(0, 1))
        commits = member.commits()
        member.relay.open(direction)
        fleets.expect_gone(bench, member, commits, "was cut off")
        member.begin()

    return fault


FAULTS = {kind: cut(kind) for kind in (BEFORE, IN, LATER, AFTER)} | {
    f"nothing passes {direction}{', past the term' if is_long else ''}": shut(direction, is_long)
    for direction in ("to the server", "to the coordinator")
    for is_long in (False, True)
}


# ---- The control


def forge(bench, members):
    """A commit that the server has rolled back is answered as if it was made. The coordinator must notice that the
    store lacks it, and pause the fleet. That is reported as a violation."""
    bench.round, first = 1, members[0]
    list(fleets.submit(bench, members))
    member = fleets.chosen(bench, members)
    member.relay.arm(FORGED, 0)
    if until(LANDS_WITHIN_SECONDS, lambda: member.relay.landed):
        bench.land(FORGED)
    until(20, lambda: SET_BACK in member.said())
    is_paused = until(20, lambda: first.rows("SELECT is_paused FROM store") == [(1,)])
    said = SET_BACK in member.said()
    bench.expect(not (said and is_paused), "a commit that was answered was not made, and the coordinator noticed it")
