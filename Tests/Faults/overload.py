"""Ten times more than is bearable: new work is shed with an explicit answer, and what was accepted keeps its promises
(promises P10 and P13)."""

import multiprocessing
import statistics
import time
import uuid

import crowd
import jobs
import processes
import wire
from bench import until
from fleet import Client, Fleet, started
from submitter import define

CLIENTS = 8
IN_ONE_CALL = 1000
LATENCY_SECONDS = 2


def run(bench):
    """`rounds` pending requests and a worker for each 200 of them, up to 10,000; then clients that submit without pause,
    ten times as many as one needs to keep the store busy; then a restart."""
    with Fleet(bench, lease_seconds=5) as fleet:
        started(fleet, ["anna"])
        define(fleet)
        job = jobs.new_job(fleet, "beside", batches=100_000, pause=0.02)
        jobs.submit(fleet, [job])
        fill(bench, fleet)
        with crowd.Crowd(fleet, min(10_000, bench.rounds // 200)) as workers:
            connected = until(60, lambda: workers.welcomed() >= workers.size)
            bench.expect(connected, f"{workers.welcomed()} of {workers.size} workers were welcomed")
            bench.figure("workers", workers.welcomed())
            promised = flood(bench, fleet, job)
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


def flood(bench, fleet, job, seconds=4):
    """What the clients were promised. Meanwhile checkpoints go on, and an operator is answered."""
    token = (fleet.data / "token").read_text().strip()
    context = multiprocessing.get_context("fork")
    answers = context.Queue()
    shared = (fleet.port, token, seconds, answers)
    clients = [context.Process(target=submit_for, args=(n, *shared), daemon=True) for n in range(CLIENTS)]
    lines = len(jobs.lines_of(job))
    for client in clients:
        client.start()
    latencies = []
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        latencies.append(ask(bench, fleet, token))
        time.sleep(0.05)
    results = [answers.get(timeout=60) for _ in clients]
    for client in clients:
        client.join(10)
    report(bench, results, latencies, seconds)
    lines = len(jobs.lines_of(job)) - lines
    bench.figure("batches committed beside it", lines)
    bench.expect(lines >= seconds * 2, f"only {lines} batches in {seconds} s: checkpoints wait behind submissions")
    return {key: number for promised, _, _ in results for key, number in promised.items()}


def report(bench, results, latencies, seconds):
    accepted, shed, broken = (sum(len(result[0]) for result in results), *(sum(r[n] for r in results) for n in (1, 2)))
    bench.figure("submissions a second", round(accepted / seconds))
    bench.figure("submissions shed", shed)
    bench.figure("slowest answer in seconds", round(max(latencies), 2))
    bench.figure("median answer in seconds", round(statistics.median(latencies), 3))
    bench.expect(accepted > 0, "nothing was accepted under load")
    bench.expect(broken == 0, f"{broken} calls were not answered at all")
    bench.expect(max(latencies) < LATENCY_SECONDS, f"an operator waited {max(latencies):.1f} s")


def ask(bench, fleet, token):
    begin = time.monotonic()
    try:
        client = Client(fleet.port, token, 20)
        client.show("com.example.faults.beside")
        client.close()
    except (OSError, wire.CallFailed) as error:
        bench.violation(f"an operator is not answered under load: {error}")
    return time.monotonic() - begin


def submit_for(place, port, token, seconds, answers):
    """A process of its own: what was promised, how many were refused in words, and how many calls broke."""
    client, promised, shed, broken = Client(port, token, 30), {}, 0, 0
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        items = [(uuid.uuid4().hex, f"com.example.parked.c{place}x{len(promised)}x{n}") for n in range(200)]
        try:
            for (key, _), answer in zip(items, client.submit(items), strict=True):
                if answer[0] is None:
                    shed += 1
                else:
                    promised[key] = answer[0]
        except wire.CallFailed:
            shed += len(items)
        except OSError:
            broken += 1
            client = Client(port, token, 30)
    answers.put((promised, shed, broken))


def restart(bench, fleet, job):
    """Killed and started again with all that: a submission is answered soon, and the job goes on in its launch."""
    bench.figure("MiB in memory", processes.resident_bytes(fleet.coordinator.pid) >> 20)
    fleet.kill_coordinator()
    begin = time.monotonic()
    if not fleet.start_coordinator(seconds=60):
        raise RuntimeError(f"it does not start again: {fleet.said()[-300:]!r}")
    client = fleet.client(timeout=60)
    client.submit([("after-restart", "com.example.parked.after")])
    took = time.monotonic() - begin
    bench.figure("seconds from start to the first answer", round(took, 2))
    bench.expect(took <= LATENCY_SECONDS, f"the first submission after a restart took {took:.1f} s")
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
