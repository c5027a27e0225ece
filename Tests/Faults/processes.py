"""Processes, by /proc: who descends from whom, and the end of everything that this program started."""

import ctypes
import os
import pathlib
import signal
import time

PR_SET_CHILD_SUBREAPER = 36
CLONE_NEWNS = 0x00020000
MS_REC, MS_PRIVATE = 0x4000, 1 << 18


def adopt_orphans():
    """What loses its parent becomes a child of this program: nothing that a row starts can get out of sight."""
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "PR_SET_CHILD_SUBREAPER")


def leave_mounts():
    """From now on this process's mounts are its own: another that runs beside it in a namespace of mounts would keep a
    copy of each, and what it keeps is not unmounted. OSError without the right to."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNS) != 0 or libc.mount(b"none", b"/", None, MS_REC | MS_PRIVATE, None) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def state_and_parent(pid):
    """The letter of its state and its parent, or None if it is gone."""
    try:
        text = pathlib.Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    fields = text.rpartition(") ")[2].split()
    return fields[0], int(fields[1])


def is_alive(pid):
    """It runs or is stopped; a zombie is not alive."""
    found = state_and_parent(pid)
    return found is not None and found[0] not in "ZX"


def children():
    """Every living process below its parent."""
    tree = {}
    for name in os.listdir("/proc"):
        if name.isdigit() and (found := state_and_parent(name)) and found[0] not in "ZX":
            tree.setdefault(found[1], []).append(int(name))
    return tree


def tree_of(pid):
    """The process and all its descendants, the oldest first."""
    below = children()
    found = [pid]
    for member in found:
        found.extend(below.get(member, []))
    return found


def signal_all(pids, number):
    for pid in pids:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            pass


def kill_tree(pid):
    """SIGKILL for the process and its descendants. Stopped first, so that none can have another child meanwhile."""
    for _ in range(2):
        members = tree_of(pid)
        signal_all(members, signal.SIGSTOP)
    signal_all(members, signal.SIGKILL)


def executable_of(pid):
    try:
        return os.readlink(f"/proc/{pid}/exe")
    except OSError:
        return None


def resident_bytes(pid):
    """What it has in memory now, or 0 if it is gone."""
    try:
        pages = int(pathlib.Path(f"/proc/{pid}/statm").read_text().split()[1])
    except (OSError, IndexError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")


def end_descendants():
    """Kills all that this program started and that is still there, orphans included, and reaps it."""
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        left = tree_of(os.getpid())[1:]
        signal_all(left, signal.SIGKILL)
        reap()
        if not left:
            return
        time.sleep(0.02)


def reap():
    """Of children that nobody else waits for. `subprocess` copes with a child that was reaped already."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass
