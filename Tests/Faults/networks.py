"""A fleet over a real network: a coordinator and two hosts, each in a network namespace of its own with an address of
its own, on one bridge. Everything that passes the bridge is captured, and nothing secret may be in it."""

import base64
import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import time

import jobs
from bench import Skipped, until
from fleet import Fleet

ADDRESSES = {"base": "10.77.0.1", "desk": "10.77.0.2", "lamp": "10.77.0.3"}
HOSTS = ["desk", "lamp"]
KINDS = ["revoked", "killed", "cut off"]
# What no packet may have: parts of definitions, payloads, items, outputs.
MARKS = [f"baton-mark-{what}-7391" for what in ("title", "environment", "command", "payload", "item", "output")]
CONTROL = "baton-control-5512"

JOB = """identifier: com.example.network
kind: processing
title: baton-mark-title-7391
work:
  command: [sh, -c, ': baton-mark-command-7391; sleep 0.02; echo "baton-mark-output-7391 $1"', work]
  items: {list: [%s]}
  batchSize: 1
  environment: {WORD: baton-mark-environment-7391}
""" % ", ".join(f"baton-mark-item-7391-{number}" for number in range(30))

CAPTURE = """
import socket, sys
packets = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.ntohs(3))
with open(sys.argv[1], "wb", buffering=0) as file:
    print("captures", flush=True)
    while True:
        packet = packets.recv(65536)
        file.write(len(packet).to_bytes(4, "big") + packet)
"""


def run(bench):
    """In each round a host joins, works, and is lost in some way. Its job must go on at the other host and succeed. At
    the end the captured packets are searched."""
    with network() as spaces, SpreadFleet(bench, spaces) as fleet:
        secrets = list(MARKS)
        fleet.come_up()
        secrets.append((fleet.data / "token").read_text().strip())
        for host in HOSTS:
            secrets.append(fleet.enter(host))
        # An operator on another machine, who is logged in.
        created = fleet.json("credential", "create", "ana", "--scope", "operate,define")
        secrets.append(created["token"])
        fleet.log_in("lamp", created["token"])
        (fleet.folder / "job.yaml").write_text(JOB)
        fleet.elsewhere("lamp", "apply", "job.yaml")
        for _ in bench.each_round():
            secrets += one_round(bench, fleet)
        fleet.say_in_clear(CONTROL)
        found = until(10, lambda: CONTROL.encode() in fleet.captured())
        bench.expect(found, "the capture does not have what was sent in clear, so it proves nothing")
        # TLS sends the name of the server in clear.
        bench.expect(b".coordinator.baton" in fleet.captured(), "the capture has no handshake")
        search(bench, fleet.captured(), secrets)
        fleet.stop_coordinator()
        jobs.check_store(bench, fleet)


def one_round(bench, fleet):
    """Returns the secrets that were used."""
    secrets = []
    payload = json.dumps({"word": MARKS[3]})
    answer = fleet.elsewhere("lamp", "submit", "com.example.network", "--payload", payload, "-o", "json")
    number = int(re.search(rb'"request" ?: ?(\d+)', answer.stdout)[1])

    def host():
        launches = fleet.rows(
            "SELECT h.name FROM launch l JOIN host h ON h.id = l.host JOIN request r ON r.id = l.request"
            " WHERE r.number = ? AND l.ended_at IS NULL", number)  # fmt: skip
        return launches[0][0] if launches else None

    if not until(60, host):
        bench.violation("no host works")
        return secrets
    time.sleep(bench.random.uniform(0.1, 0.4))
    lost = host() or HOSTS[0]
    kind = KINDS[bench.round % len(KINDS)]
    if kind == "revoked":
        fleet.baton("host", "revoke", lost)
    elif kind == "killed":
        fleet.kill_host(lost)
    else:
        fleet.spaces[lost].link("down")
    bench.land(kind)
    other = HOSTS[1 - HOSTS.index(lost)]
    done = until(60, lambda: fleet.rows("SELECT 1 FROM request WHERE number = ? AND outcome = 'succeeded'", number))
    bench.expect(done, f"request {number} does not go on at {other} after {lost} was {kind}")
    last = fleet.rows(
        "SELECT h.name FROM launch l JOIN host h ON h.id = l.host JOIN request r ON r.id = l.request"
        " WHERE r.number = ? ORDER BY l.number DESC LIMIT 1", number)  # fmt: skip
    bench.expect(last == [(other,)], f"request {number} ended at {last}, and not at {other}")
    if kind == "revoked":
        bench.expect(lost not in fleet.ready_hosts(), f"{lost} is ready after it was revoked")
        fleet.kill_host(lost)
        shutil.rmtree(fleet.folder / f"host-{lost}")
        secrets.append(fleet.enter(lost))
    elif kind == "killed":
        fleet.start_host(lost, coordinator=fleet.workers)
    else:
        fleet.spaces[lost].link("up")
    bench.expect(fleet.wait_for_hosts(2), f"{lost} does not come back after it was {kind}")
    return secrets


def search(bench, packets, secrets):
    """Looks for each secret as text, in hexadecimal digits, in base64 at each offset, and for the bytes of a token."""
    bench.figure("captured bytes", len(packets))
    bench.expect(len(packets) > 50_000, f"only {len(packets)} bytes were captured")
    for secret in secrets:
        text = secret.encode()
        forms = [text, text.hex().encode(), text[::-1]]
        forms += [base64.b64encode(b"\0" * shift + text)[4 * (shift > 0) : -4] for shift in range(3)]
        parts = re.fullmatch(r"b[jt]1_([0-9a-f]+)_([0-9a-f]+)", secret)
        if parts:
            forms += [parts[2].encode(), bytes.fromhex(parts[2])]
        elif re.fullmatch(r"[0-9a-f]{64}", secret):
            forms.append(bytes.fromhex(secret))
        for form in forms:
            bench.expect(form not in packets, f"a packet has {secret[:24]!r} as {form[:16]!r}")


class SpreadFleet(Fleet):
    def __init__(self, bench, spaces):
        super().__init__(bench)
        self.spaces = spaces
        self.prefix = spaces["base"].prefix
        self.workers = f"{ADDRESSES['base']}:7420"
        self.packets = self.folder / "packets"
        self.capture = None

    def come_up(self):
        command = [*self.spaces["hub"].prefix, sys.executable, "-c", CAPTURE, self.packets]
        self.capture = subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE)
        self.capture.stdout.readline()
        command = [*self.prefix, self.bench.binaries / "baton", "coordinator", "--data", self.data, "--http", "off"]
        command += ["--listen", self.workers, "--operators", f"{ADDRESSES['base']}:7422"]
        with open(self.log, "ab") as log:
            self.coordinator = subprocess.Popen(
                list(map(str, command)), stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=self.environment)
        if not until(60, lambda: b"listens on" in self.said()) or not self.runs:
            raise RuntimeError(f"the coordinator does not start: {self.said()[-300:]!r}")
        self.port = 7420
        self.environment["BATON_COORDINATOR"] = "127.0.0.1:7420"

    def at(self, name):
        """The environment of a machine: its own folders, and no socket of the coordinator."""
        home = self.folder / f"home-{name}"
        (home / "runtime").mkdir(parents=True, mode=0o700, exist_ok=True)
        environment = self.environment | {
            "HOME": str(home), "XDG_RUNTIME_DIR": str(home / "runtime"), "XDG_STATE_HOME": str(home / "state")}  # fmt: skip
        environment.pop("BATON_COORDINATOR", None)
        return environment

    def enter(self, name):
        """Lets a machine join and starts its worker. Returns the token of the invitation."""
        invited = self.json("host", "invite", name, "--address", f"{ADDRESSES['base']}:7422")
        command = [*self.spaces[name].prefix, self.bench.binaries / "baton-worker", "join", invited["address"]]
        command += ["--pin", invited["pin"], "--token", "-", "--data", self.folder / f"host-{name}"]
        subprocess.run(
            list(map(str, command)), env=self.at(name), check=True, timeout=60, capture_output=True,
            input=invited["token"].encode())  # fmt: skip
        self.start_host(name, coordinator=self.workers)
        return invited["token"]

    def start_host(self, name, slots=2, environment=None, coordinator=None):
        prefix, self.prefix = self.prefix, self.spaces[name].prefix
        try:
            super().start_host(name, slots, self.at(name) | (environment or {}), coordinator)
        finally:
            self.prefix = prefix

    def elsewhere(self, name, *arguments, given=None):
        """A command of an operator on this machine."""
        command = [*self.spaces[name].prefix, self.bench.binaries / "baton", *arguments]
        return subprocess.run(
            list(map(str, command)), env=self.at(name), check=True, timeout=60, capture_output=True, cwd=self.folder,
            input=given)  # fmt: skip

    def log_in(self, name, token):
        pin = self.json("fleet", "show")["pin"]
        self.elsewhere(name, "login", f"{ADDRESSES['base']}:7422", "--pin", pin, given=token.encode())

    def say_in_clear(self, text):
        subprocess.run(
            [*self.spaces["desk"].prefix, "bash", "-c", f"echo {text} > /dev/udp/{ADDRESSES['lamp']}/9"], check=True)

    def captured(self):
        return self.packets.read_bytes()

    def close(self):
        super().close()
        if self.capture is not None:
            self.capture.kill()
            self.capture.wait()


class Space:
    """A network namespace."""

    def __init__(self, name):
        self.name = f"baton-{os.getpid()}-{name}"
        self.prefix = ["ip", "netns", "exec", self.name]
        run_ip("netns", "add", self.name)
        run_ip("-n", self.name, "link", "set", "lo", "up")

    def connect(self, hub, address):
        """Connects this namespace to the bridge of another one."""
        end = f"v{os.getpid()}{address[-1]}"
        run_ip("link", "add", end, "netns", self.name, "type", "veth", "peer", "name", end, "netns", hub.name)
        run_ip("-n", hub.name, "link", "set", end, "master", "hub0", "up")
        run_ip("-n", self.name, "addr", "add", f"{address}/24", "dev", end)
        run_ip("-n", self.name, "link", "set", end, "up")
        self.end = end

    def link(self, state):
        run_ip("-n", self.name, "link", "set", self.end, state)


def run_ip(*arguments):
    return subprocess.run(["ip", *arguments], check=True, capture_output=True, timeout=10)


@contextlib.contextmanager
def network():
    """Yields the namespaces by name. `hub` has the bridge."""
    if os.geteuid() != 0:
        raise Skipped("network namespaces need root")
    if shutil.which("ip") is None:
        raise Skipped("there is no ip")
    spaces = {}
    try:
        spaces["hub"] = Space("hub")
        run_ip("-n", spaces["hub"].name, "link", "add", "hub0", "type", "bridge")
        run_ip("-n", spaces["hub"].name, "link", "set", "hub0", "up")
        for name, address in ADDRESSES.items():
            spaces[name] = Space(name)
            spaces[name].connect(spaces["hub"], address)
    except subprocess.CalledProcessError as error:
        remove(spaces)
        raise Skipped(f"no network of namespaces can be made: {error.stderr.decode().strip()}") from error
    try:
        yield spaces
    finally:
        remove(spaces)


def remove(spaces):
    for space in spaces.values():
        subprocess.run(["ip", "netns", "delete", space.name], capture_output=True)
