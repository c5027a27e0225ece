"""Ten times the load that the fleet can bear. New work must be refused with an explicit answer, and accepted work must
keep its promises (promises P10 and P13)."""

import multiprocessing
import os
import statistics
import time
import uuid

import crowd
import hostile
import jobs
import processes
import wire
from bench import until
from fleet import Client, Fleet, started
from submitter import TAKEN_EVERY, check_places, define

CLIENTS = 8
# The calls that each client has open at the same time. Together they are ten times the writes that may wait.
CALLS_AT_ONCE = 80
WAITING_WRITES = 64
IN_ONE_CALL = 1000
LATENCY_SECONDS = 2


def run(bench):
    """Makes `rounds` pending requests, and one worker for each 200 of them, up to 10,000. Then clients submit without
    pause, ten times as much as may wait to be written. Then the coordinator is restarted."""
    limits = {"BATON_LIMITS_WAITING_WRITES": str(WAITING_WRITES)}
    with Fleet(bench, lease_seconds=5, environment=limits) as fleet:
        started(fleet, ["anna"], slots=4)
        define(fleet)
        job = jobs.new_job(fleet, "beside", batches=100_000, pause=0.02)
        jobs.submit(fleet, [job])
        fill(bench, fleet)
        with crowd.Crowd(fleet, min(10_000, bench.rounds // 200)) as workers:
            connected = until(60, lambda: workers.welcomed() >= workers.size)
            bench.expect(connected, f"{workers.welcomed()} of {workers.size} workers were welcomed")
            bench.figure("workers", workers.welcomed())
            promised = flood(bench, fleet, job)
            check_places(bench, fleet, running=1)
            bench.expect(workers.lost() == 0, f"{workers.lost()} workers lost their connection")
        restart(bench, fleet, job)
        check_promised(bench, fleet, promised)
        jobs.check_store(bench, fleet)


def fill(bench, fleet):
    client, begin = fleet.client(timeout=60), time.monotonic()
    for first in range(0, bench.rounds, IN_ONE_CALL):
        items = [(f"fill-{n}", f"com.example.parked.f{n}") for n in range(first, min(first + IN_ONE_CALL, bench.rounds))]
        accepted = sum(answer[0] is not None for answer in client.submit(items))
        bench.landed += accepted
    client.close()
    bench.figure("submissions a second while filling", round(bench.rounds / (time.monotonic() - begin)))


def flood(bench, fleet, job, seconds=6):
    """Returns what the clients were promised. During the flood checkpoints must continue, a job must end, another job
    must expire, and an operator must be answered."""
    token = (fleet.data / "token").read_text().strip()
    context = multiprocessing.get_context("fork")
    answers = context.Queue()
    shared = (fleet.socket, token, seconds, answers)
    clients = [context.Process(target=submit_for, args=(n, *shared), daemon=True) for n in range(CLIENTS)]
    ending, victim = accepted_before(bench, fleet)
    lines = len(jobs.lines_of(job))
    for client in clients:
        client.start()
    latencies, begin, ended = [], time.monotonic(), None
    expire(fleet, victim)
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        latencies.append(ask(bench, fleet, token))
        hostile.is_free(fleet, victim)
        ended = ended or (has_succeeded(fleet, ending) and time.monotonic())
        time.sleep(0.05)
    check_accepted(bench, fleet, ending, victim, begin, ended)
    results = [answers.get(timeout=60) for _ in clients]
    for client in clients:
        client.join(10)
    report(bench, results, latencies, seconds)
    lines = len(jobs.lines_of(job)) - lines
    bench.figure("batches committed beside it", lines)
    bench.expect(lines >= seconds * 2, f"only {lines} batches in {seconds} s: checkpoints wait behind submissions")
    return {key: number for promised, *_ in results for key, number in promised.items()}


# The batch takes two seconds, so that it ends while the clients submit.
ENDING_PAUSE_SECONDS = 1


def accepted_before(bench, fleet):
    """Submits work before the flood. It ends during the flood, by itself or by its expiry."""
    ending = jobs.new_job(fleet, "ending", batches=1, pause=ENDING_PAUSE_SECONDS)
    jobs.submit(fleet, [ending])
    victim = hostile.Victim(bench, fleet, "ignores signals", 0)
    file = fleet.folder / "hostile.yaml"
    file.write_text(victim.yaml)
    fleet.baton("submit", "-f", file)
    bench.expect(until(30, victim.started.exists), "the command that is to be expired does not start")
    return ending, victim


def expire(fleet, victim):
    fleet.baton("cancel", victim.identifier)
    victim.asked = time.monotonic()


def has_succeeded(fleet, job):
    return fleet.rows(
        "SELECT 1 FROM request r JOIN identifier i ON i.id = r.identifier WHERE i.name = ? AND r.state = 3", job.identifier)


def check_accepted(bench, fleet, ending, victim, begin, ended):
    """Endings must not be refused, and must come on time."""
    hostile.check_free(bench, fleet, victim)
    job_seconds = 2 * ENDING_PAUSE_SECONDS
    if bench.expect(ended, f"a job of {job_seconds} s has not ended {time.monotonic() - begin:.1f} s after the flood began"):
        bench.figure("seconds until a job had ended beside it", round(ended - begin, 1))


def report(bench, results, latencies, seconds):
    accepted, shed, broken = (sum(len(result[0]) for result in results), *(sum(r[n] for r in results) for n in (1, 2)))
    bench.figure("submissions a second", round(accepted / seconds))
    bench.figure("submissions shed", shed)
    bench.figure("slowest answer in seconds", round(max(latencies), 2))
    bench.figure("median answer in seconds", round(statistics.median(latencies), 3))
    bench.expect(accepted > 0, "nothing was accepted under load")
    bench.expect(shed > 0, "nothing was shed: that was no overload")
    bench.expect(broken == 0, f"{broken} calls were not answered at all")
    mute = [text for result in results for text in result[3] if "again" not in text]
    bench.expect(not mute, f"shed without a word of what to do: {mute[:1]}")


def ask(bench, fleet, token):
    begin = time.monotonic()
    try:
        client = Client(fleet.socket, token, 20)
        client.show("com.example.faults.beside")
        client.close()
    except (OSError, wire.CallFailed) as error:
        bench.violation(f"an operator is not answered under load: {error}")
    took = time.monotonic() - begin
    on_time = took < LATENCY_SECONDS or took < LATENCY_SECONDS + bench.stalls.since(begin)
    bench.expect(on_time, f"an operator waited {took:.1f} s")
    return took


def submit_for(place, path, token, seconds, answers):
    """Submits in a process of its own. Reports what was promised, how many submissions were refused, how many calls
    broke, and the messages of the refusals."""
    # Real clients run on other machines. Here they take only the processor time that the coordinator leaves.
    os.nice(19)
    client, promised, shed, broken, words = Client(path, token, 60), {}, 0, 0, set()
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        groups = [[new_item(place) for _ in range(10)] for _ in range(CALLS_AT_ONCE)]
        try:
            calls = [(client.begin_submit(items), items) for items in groups]
            for call, items in calls:
                try:
                    for (key, _), answer in zip(items, client.submitted(call), strict=True):
                        promised[key] = answer[0]
                except wire.CallFailed as error:
                    shed += len(items)
                    words.add(error.message)
        except OSError:
            broken += 1
            client = Client(path, token, 60)
    answers.put(({key: number for key, number in promised.items() if number}, shed, broken, words))


def new_item(place):
    key = uuid.uuid4().hex
    # One in so many can start at once.
    kind = "taken" if int(key[:8], 16) % TAKEN_EVERY == 0 else "parked"
    return key, f"com.example.{kind}.c{place}.k{key}"


def restart(bench, fleet, job):
    """Kills the coordinator and starts it again with all these requests. A submission must be answered soon, and the
    job must continue in its launch."""
    bench.figure("MiB in memory", processes.resident_bytes(fleet.coordinator.pid) >> 20)
    fleet.kill_coordinator()
    begin = time.monotonic()
    if not fleet.start_coordinator(seconds=60):
        raise RuntimeError(f"it does not start again: {fleet.said()[-300:]!r}")
    client = fleet.client(timeout=60)
    client.submit([("after-restart", "com.example.parked.after")])
    took = time.monotonic() - begin
    bench.figure("seconds from start to the first answer", round(took, 2))
    bench.expect(took <= LATENCY_SECONDS + bench.stalls.since(begin), f"the first submission after a restart took {took:.1f} s")
    lines = len(jobs.lines_of(job))
    bench.expect(jobs.wait_for_lines(job, lines + 3, seconds=10), "the job does not go on after the restart")
    state, launches = client.show(job.identifier)
    client.close()
    bench.expect(len(launches) == 1, f"the job is {state} in launch {len(launches)}: overload and restart cost it one")
    fleet.stop_coordinator(seconds=30)


def check_promised(bench, fleet, promised):
    stored = dict(fleet.rows("SELECT key, request FROM submission"))
    lost = [key for key, number in promised.items() if stored.get(key) != number]
    bench.expect(not lost, f"{len(lost)} of {len(promised)} acknowledged submissions are lost")
    fill = sum(key.startswith("fill-") for key in stored)
    bench.expect(fill == bench.rounds, f"{fill} of {bench.rounds} submissions are there")
