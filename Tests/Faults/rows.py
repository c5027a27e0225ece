"""The fault table: the rows, and the number of their rounds in the quick and in the long tier."""

import chain
import clocks
import commits
import cut_off
import disks
import embedded
import flips
import frames
import hostile
import hostile_clients
import kills
import moves
import networks
import overload
import partitions
import postgres
import power
import restores
import simulation
import specifications
import standbys
import telemetry
import torn
import traces
import transfers
import used_up
import webhooks
import zombies
from bench import Row

# The rows are started in this order, and the long ones come first.
TABLE = [
    Row("simulation", simulation.run, 2_500, 100_000),
    Row("disk-slow", disks.slow, 5, 200),
    Row("postgres", postgres.run, 6, 100),
    Row("postgres-commits", commits.run, 5, 100),
    Row("postgres-standby", standbys.run, 3, 50),
    Row("postgres-full", used_up.run, 6, 60),
    Row("postgres-cut-off", cut_off.run, 4, 60),
    Row("move", moves.run, 2, 120),
    Row("restore", restores.run, 2, 40),
    Row("traces", traces.run, 30, 500),
    Row("zombies", zombies.run, 30, 1000),
    Row("workers", kills.workers, 60, 2000),
    Row("partitions", partitions.run, 20, 500),
    Row("networks", networks.run, 6, 60),
    Row("coordinator", kills.coordinator, 60, 2000),
    Row("power", power.run, 20, 1000),
    Row("torn", torn.run, 60, 5000),
    Row("hostile", hostile.run, 14, 2400),
    Row("hostile-clients", hostile_clients.run, 80, 3000),
    Row("clocks", clocks.run, 20, 400),
    Row("disk-full", disks.full, 30, 2000),
    Row("disk-failing", disks.failing, 30, 5000),
    Row("telemetry", telemetry.run, 10, 200),
    Row("webhooks", webhooks.run, 6, 110),
    Row("transfers", transfers.run, 24, 500),
    Row("chain", chain.run, 24, 1000),
    Row("flips", flips.run, 12, 300),
    Row("run", embedded.run, 6, 150),
    Row("yaml", specifications.run, 10_000, 100_000),
    Row("frames", frames.run, 20_000, 1_000_000, is_alone=True),
    Row("overload", overload.run, 100_000, 1_000_000, is_alone=True),
]
