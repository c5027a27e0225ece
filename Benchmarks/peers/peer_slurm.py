"""Slurm: munged, slurmctld and one slurmd on loopback, without accounting. It needs root.

Each job is a batch script, so there are no no-ops. Commands are one array, and the node says that it has 64 processors,
because the scheduler starts about once a second what fits. The time from submission to start includes the start of
sbatch and of a shell.
"""
import os
import shutil
import subprocess
import sys

from common import (COMMANDS, NO_OPS, RUNS_AGAIN, START, Fifo, Row, count, debian_version, folder, free_port,
                    median_start, seconds, setup, start, until)

CONFIGURATION = """\
ClusterName=bench
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmctldPort={control}
SlurmdPort={node}
AuthType=auth/munge
AuthInfo=socket={folder}/munge/socket
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerType=sched/builtin
SchedulerParameters=batch_sched_delay=0,sched_min_interval=0,default_queue_depth=1000
PriorityType=priority/basic
MaxArraySize=10001
MaxJobCount=20000
MinJobAge=2
ReturnToService=2
SlurmdParameters=config_overrides
NodeName=n1 NodeHostname={host} NodeAddr=127.0.0.1 CPUs=64 State=UNKNOWN
PartitionName=p Nodes=n1 Default=YES MaxTime=INFINITE State=UP
"""


def start_munge(data):
    """Munge says who a caller is: both programs of Slurm ask it."""
    os.chmod(data, 0o755)
    os.mkdir(f"{data}/munge", 0o755)
    key = f"{data}/munge/key"
    with open(os.open(key, os.O_CREAT | os.O_WRONLY, 0o600), "wb") as file:
        file.write(os.urandom(128))
    for path in (f"{data}/munge", key):
        shutil.chown(path, "munge", "munge")
    words = {"socket": "socket", "key-file": "key", "pid-file": "pid", "log-file": "log", "seed-file": "seed"}
    start(["munged", "-F", "--num-threads=4", *[f"--{word}={data}/munge/{file}" for word, file in words.items()]],
          user="munge", group="munge", extra_groups=[])
    until(lambda: os.path.exists(f"{data}/munge/socket"), 10)


def start_slurm(data):
    for name in ("state", "spool"):
        os.mkdir(f"{data}/{name}")
    path = f"{data}/slurm.conf"
    with open(path, "w") as file:
        file.write(CONFIGURATION.format(
            host=os.uname().nodename, folder=data, control=free_port(), node=free_port()))
    os.environ["SLURM_CONF"] = path
    start(["slurmctld", "-D", "-f", path], log=f"{data}/slurmctld.log")
    start(["slurmd", "-D", "-f", path, "-N", "n1"], log=f"{data}/slurmd.log")
    until(lambda: "idle" in ask("sinfo", "-h", "-o", "%t"), 60, interval=0.2)


def ask(*words):
    return subprocess.run(words, capture_output=True, text=True).stdout


def submit(*words):
    subprocess.run(["sbatch", "-Q", "-o", "/dev/null", "-e", "/dev/null", "-D", "/", *words], check=True)


def measure():
    if os.geteuid() != 0:
        sys.exit("it needs root")
    setup("slurm")
    row = Row("Slurm", debian_version("slurmctld"), "its own files (when it syncs them was not examined)",
              "runs again from its beginning", RUNS_AGAIN)
    row.figure(NO_OPS, None)
    data, jobs = folder("slurm"), count(2_000, 100)
    start_munge(data)
    start_slurm(data)

    def run():
        submit("-J", "array", f"--array=0-{jobs - 1}", "--wrap", "/bin/true")
        until(lambda: not ask("squeue", "-h", "-r", "-n", "array", "-t", "PD,R,CG,CF", "-o", "%i"), interval=0.2)

    row.figure(COMMANDS, jobs / seconds(run))
    fifo = Fifo()
    row.figure(START, median_start(
        count(30, 5), lambda: submit("-J", "start", "--wrap", fifo.shell), fifo.wait, pause=0.02))


measure()
