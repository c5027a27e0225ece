"""Every launch, expiry and completion must be a span in the backend, whatever was killed (promise P9).

There are three hosts with two slots each, and a backend that drops answers, answers 503 or 429, or does not answer,
whether or not it kept the spans. Of 200 jobs or more some fail, are retried, are cancelled, or need external power.
Meanwhile SIGKILL hits workers proper, whole hosts, the coordinator, the backend, or two of these at once; hosts are
unplugged, and launches are expired by hand."""

import time

import machines
import sinks
from bench import until
from fleet import Fleet, started

HOSTS = ["anna", "ben", "cora"]
KINDS = ["worker", "coordinator", "sink", "expire", "unplug", "host", "worker+coordinator", "sink+coordinator"]
WAVES, JOBS_IN_WAVE, BATCHES = 10, 20, 6
# The faults of one fleet with its 200 jobs.
STRIKES = 50
ANSWERS = ["drop", "429", "503", "silent"]


def run(bench):
    """Runs one fleet for each 50 faults."""
    number = 0
    while bench.landed < bench.rounds and number < bench.rounds:
        number += 1
        with Fleet(bench, lease_seconds=2) as fleet:
            story = Story(bench, fleet, f"mixed:{bench.seed}{number}")
            try:
                story.begin()
                story.tell(min(STRIKES, bench.rounds - bench.landed))
                story.end()
            finally:
                story.sink.stop()


class Story:
    def __init__(self, bench, fleet, answers):
        self.bench = bench
        self.fleet = fleet
        self.answers = answers
        self.sink = sinks.Sink(fleet.folder)
        self.landed = set()
        self.waves = 0

    # ---- From beginning to end

    def begin(self):
        self.sink.start(self.answers)
        self.fleet.environment |= sinks.environment(self.sink)
        started(self.fleet)
        for host in HOSTS:
            machines.start_host(self.fleet, host)
        if not self.fleet.wait_for_hosts(len(HOSTS)):
            raise RuntimeError("the hosts do not come up")

    def tell(self, strikes):
        """Submits ten waves of jobs or more, and spreads as many faults over them as are asked for."""
        number = 0
        for wave in range(1, WAVES + 1):
            self.submit()
            until_now = self.bench.landed + (strikes + WAVES - wave) // WAVES
            attempts = 0
            while self.bench.landed < until_now and attempts < 4 * strikes:
                attempts += 1
                # A fault needs a running job.
                if not names(self.fleet, "i.name NOT LIKE '%5' AND r.state < 3"):
                    self.submit()
                time.sleep(self.bench.random.uniform(0.1, 0.5))
                self.bench.round = self.bench.landed + 1
                self.strike(KINDS[number % len(KINDS)])
                number += 1
                time.sleep(self.bench.random.uniform(0, 0.3))
                self.mend()
            self.end_jobs()

    def end(self):
        bench, fleet = self.bench, self.fleet
        deadline = time.monotonic() + 180
        while unfinished(fleet):
            if time.monotonic() > deadline:
                bench.violation(f"not finished: {unfinished(fleet)[:5]}")
                break
            self.mend()
            self.end_jobs()
            time.sleep(0.3)
        sinks.wait_until_sent(bench, fleet, "after everything")
        printed = self.print_traces()
        fleet.kill_coordinator()
        came = sinks.compare(bench, fleet, self.sink, "200 jobs or more", printed)
        bench.expect(not came.endswith("twice=0"), "nothing was tried: no span came twice")
        sinks.try_plants(bench, fleet, self.sink)
        bench.note(came)
        answers = self.sink.answers()
        missing = [answer for answer in ANSWERS if not any(text.startswith(answer) for text in answers)]
        bench.expect(not missing or bench.rounds < STRIKES, f"nothing was tried: the backend never said {missing}")
        bench.figure("spans that came", int(came.partition("; ")[2].partition(" ")[0] or 0))

    def print_traces(self):
        """Writes what `baton trace` prints of each request. It must be what the backend got."""
        file = self.fleet.folder / "spans.printed"
        with open(file, "ab") as printed:
            for (name,) in self.fleet.rows("SELECT i.name FROM request r JOIN identifier i ON i.id = r.identifier"):
                printed.write(self.fleet.baton("trace", name, "-o", "otlp").stdout)
        return file

    # ---- Jobs

    def submit(self):
        self.waves += 1
        wave = self.waves
        file = self.fleet.folder / "jobs.yaml"
        file.write_text("".join(self.yaml(f"com.example.w{wave}.job{n}", n) for n in range(1, JOBS_IN_WAVE + 1)))
        begin = time.monotonic()
        while self.fleet.baton("submit", "-f", file, check=False).returncode != 0:
            if time.monotonic() > begin + 60:
                return self.bench.violation(f"wave {wave} was not taken")
            self.mend()

    def yaml(self, name, number):
        """Of ten jobs, four need external power, one fails for good, one fails once, and one waits for ever."""
        command, extra = "sleep 0.25", ""
        done = self.fleet.folder / f"done-{name}"
        match number % 10:
            case 1 | 4 | 6 | 8:
                extra = "requiresExternalPower: true\n"
            case 2:
                command = "[ $BATON_BATCH != 2 ] || exit 7"
            case 3:
                command = f"[ $BATON_BATCH != 1 ] || [ -f {done} ] || {{ touch {done}; exit 8; }}"
            case 5:
                extra = "requiredLabels: {zone: nowhere}\n"
        return (
            f"---\nidentifier: {name}\nkind: continued\ntitle: Faults\n"
            f"retry: {{limit: {int(number % 10 == 3)}, backoff: 1s}}\n{extra}work:\n  command: [sh, -c, '{command}']\n"
            f"  items: {{range: 1...{BATCHES}}}\n  batchSize: 1\n")  # fmt: skip

    def end_jobs(self):
        """Cancels the jobs that wait for ever, and retries jobs that failed for good."""
        for name in names(self.fleet, "i.name LIKE '%5' AND r.state < 3"):
            self.fleet.baton("cancel", name, check=False)
        for name in names(self.fleet, "i.name LIKE '%2' AND r.state = 4 ORDER BY r.id DESC LIMIT 3"):
            self.fleet.baton("retry", name, check=False)

    # ---- Faults

    def mend(self):
        """Starts the backend and the hosts that are gone, and gives the hosts their power back."""
        if not self.sink.runs:
            self.sink.start(self.answers)
        if not self.fleet.runs and not self.fleet.start_coordinator():
            raise RuntimeError(f"the coordinator does not start: {self.fleet.said()[-300:]!r}")
        for host in HOSTS:
            machines.set_power(self.fleet, host, True)
            # A host whose supervisor waits longer and longer is replaced. The hello of the new worker tells the
            # coordinator the same as the supervisor's report.
            if host in self.fleet.hosts and self.fleet.worker_of(host) is None:
                self.fleet.kill_host(host)
            if host not in self.fleet.hosts:
                machines.start_host(self.fleet, host)

    def land(self, kind):
        self.landed.add(kind)
        self.bench.land(kind)

    def strike(self, kind):
        host = self.bench.random.choice(HOSTS)
        match kind:
            case "worker" | "worker+coordinator":
                open_here = self.open_on(host)
                if kind != "worker":
                    self.strike_coordinator()
                if self.fleet.kill_worker(host) and open_here:
                    self.land("worker")
            case "host":
                open_here = self.open_on(host)
                self.fleet.kill_host(host)
                if open_here:
                    self.land("host")
            case "coordinator":
                self.strike_coordinator()
            case "sink" | "sink+coordinator":
                self.strike_sink(kind)
            case "expire":
                self.expire()
            case "unplug":
                self.unplug()

    def strike_coordinator(self):
        """Kills the coordinator. The fault has landed if spans waited to be sent."""
        self.fleet.kill_coordinator()
        if sinks.unsent(self.fleet):
            self.land("coordinator")

    def strike_sink(self, kind):
        self.sink.stop()
        time.sleep(self.bench.random.uniform(0.1, 1.5))
        if sinks.unsent(self.fleet):
            self.land("sink")
        if kind != "sink":
            self.strike_coordinator()

    def expire(self):
        found = until(3, lambda: self.newest("1"))
        if found:
            answer = self.fleet.baton("simulate", "expire", found[0], "--reason", "thermal", check=False)
            if answer.returncode == 0:
                self.land("expire")

    def unplug(self):
        found = until(3, lambda: self.newest("d.content LIKE '%\"externalPower\":true%'"))
        if not found:
            return
        before = self.expired_for("powerLost")
        machines.set_power(self.fleet, found[1], False)
        if until(5, lambda: self.expired_for("powerLost") > before):
            self.land("unplug")

    def open_on(self, host):
        return self.fleet.rows(
            "SELECT count(*) FROM launch l JOIN host h ON h.id = l.host WHERE l.ended_at IS NULL AND h.name = ?", host)[0][0]

    def expired_for(self, reason):
        return self.fleet.rows("SELECT count(*) FROM launch WHERE expiring_reason = ?", reason)[0][0]

    def newest(self, which):
        """The identifier and host of the launch that started last, among those that no one has asked to stop; None if
        there is no such launch."""
        found = self.fleet.rows(
            "SELECT i.name, h.name FROM launch l JOIN request r ON r.id = l.request JOIN identifier i ON i.id = r.identifier"
            " JOIN definition d ON d.id = r.definition JOIN host h ON h.id = l.host"
            f" WHERE l.ended_at IS NULL AND l.expiring_since IS NULL AND {which} ORDER BY l.started_at DESC LIMIT 1")
        return found[0] if found else None


def names(fleet, which):
    return [name for name, in fleet.rows(
        f"SELECT i.name FROM request r JOIN identifier i ON i.id = r.identifier WHERE {which}")]  # fmt: skip


def unfinished(fleet):
    return names(fleet, "r.state < 3")
