"""Two coordinators that share a PostgreSQL server, and hosts that speak TLS with them: real packets on the loopback
interface of a network namespace of this row's own, where iptables drops them in one direction (promises P1 to P3 and
P11). A coordinator that PostgreSQL does not hear of, or that does not hear of PostgreSQL, is ended by the other one;
hosts that are cut off from their coordinator go to the other one. Launches go on."""

import ctypes
import os
import shutil
import subprocess
import time

import members as fleets
from bench import Skipped, until
from database import Database
from members import Member

CLONE_NEWNET = 0x40000000
PORT = 5432
# The address of the server for each coordinator. So one of them can be cut off alone.
SERVERS = {"one": "127.0.1.1", "two": "127.0.1.2"}
# The server keeps the locks of a transaction that it hears nothing of for so long.
IDLE_SECONDS = 4
# A worker goes to another coordinator after half of its lease.
MOVED_WITHIN_SECONDS = fleets.LEASE_SECONDS


def run(bench):
    """In each round packets are dropped in one direction, until the fleet has coped with that."""
    enter_namespace()
    runtime = fleets.new_runtime(bench)
    with Database(["listen_addresses = '*'"]) as server:
        group = []
        for name, host in SERVERS.items():
            address = f"postgresql://postgres@{host}:{PORT}/postgres"
            group.append(Member(bench, name, server, runtime, address=address))
        group[0].operators = 0
        with fleets.come_up(*group, joins=True) as members:
            if bench.plant:
                for statement in LOST_CHECKPOINTS:
                    members[0].rows(statement)
            deck = []
            with fleets.loaded(bench, members) as client:
                for _ in bench.each_round():
                    kind = fleets.draw(bench, deck, FAULTS)
                    fleets.one_round(bench, members, [(kind, FAULTS[kind])])
                    client.rest(bench)


def enter_namespace():
    """Gives this process, and all that it starts, a network of its own."""
    for tool in ("ip", "iptables"):
        if shutil.which(tool) is None:
            raise Skipped(f"there is no {tool}")
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNET) != 0:
        raise Skipped(f"no network namespace can be made: {os.strerror(ctypes.get_errno())}")
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True, capture_output=True)


def iptables(*arguments):
    command = ["iptables", "-w", *map(str, arguments)]
    return subprocess.run(command, check=True, capture_output=True, timeout=10, text=True).stdout


def dropped():
    """How many packets were dropped."""
    lines = iptables("-L", "INPUT", "-v", "-x", "-n").splitlines()
    return sum(int(line.split()[0]) for line in lines if " DROP " in line and not line.startswith("Chain"))


# ---- Faults


def cut_from_server(is_heard):
    def fault(bench, members):
        """Until the other coordinator has ended this one, which then has to end by itself when it hears of it."""
        member = fleets.chosen(bench, members)
        place = SERVERS[member.name]
        rule = ["--sport", PORT, "-s", place] if is_heard else ["--dport", PORT, "-d", place]
        begin = time.monotonic()
        iptables("-A", "INPUT", "-p", "tcp", *rule, "-j", "DROP")
        fleets.expect_end(bench, member, begin, "was cut off", IDLE_SECONDS)
        time.sleep(bench.random.uniform(0, 1))
        commits, packets = member.commits(), dropped()
        iptables("-F", "INPUT")
        fleets.expect_gone(bench, member, commits, "was cut off")
        member.begin()
        return packets > 0

    return fault


def cut_from_hosts(is_heard):
    def fault(bench, members):
        """Until the hosts are at the other coordinator. No coordinator may end."""
        member = fleets.chosen(bench, members)
        iptables("-A", "INPUT", "-p", "tcp", "--sport" if is_heard else "--dport", member.port, "-j", "DROP")
        begin = time.monotonic()
        left = lambda: member.rows("SELECT name FROM host WHERE owner = ?", member.epoch)
        stayed = left()
        moved = until(MOVED_WITHIN_SECONDS + 30, lambda: not left(), every=0.1)
        seconds = time.monotonic() - begin
        bench.figure("seconds until all hosts were at the other coordinator", round(seconds, 1))
        on_time = moved and seconds <= MOVED_WITHIN_SECONDS + bench.stalls.since(begin)
        bench.expect(on_time, f"of {stayed} {left()} are at {member.name} {seconds:.1f} s after it was cut off")
        packets = dropped()
        iptables("-F", "INPUT")
        return packets > 0 and len(stayed) > 0

    return fault


FAULTS = {
    "coordinator to PostgreSQL": cut_from_server(False),
    "PostgreSQL to coordinator": cut_from_server(True),
    "hosts to coordinator": cut_from_hosts(False),
    "coordinator to hosts": cut_from_hosts(True),
}

# The control: a checkpoint that was acknowledged goes backwards.
LOST_CHECKPOINTS = [
    "CREATE FUNCTION lose() RETURNS trigger LANGUAGE plpgsql AS"
    " $$ BEGIN UPDATE progress SET batches = 8 WHERE request = NEW.request; RETURN NULL; END $$",
    "CREATE TRIGGER loses AFTER UPDATE OF batches ON progress FOR EACH ROW WHEN (NEW.batches = 10)"
    " EXECUTE FUNCTION lose()",
]
