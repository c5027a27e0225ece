"""Processes, read from /proc: their descendants, and the end of everything that this program started."""

import ctypes
import os
import pathlib
import signal
import time

PR_SET_CHILD_SUBREAPER = 36
CLONE_NEWNS = 0x00020000
MS_REC, MS_PRIVATE = 0x4000, 1 << 18


def adopt_orphans():
    """Makes this program the parent of every orphan among its descendants, so that it can find everything that a row
    starts."""
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "PR_SET_CHILD_SUBREAPER")


def leave_mounts():
    """Gives this process its own mount namespace. Otherwise another process that runs beside it in a mount namespace
    would keep a copy of each mount, which could then not be unmounted. Raises OSError without the necessary right."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNS) != 0 or libc.mount(b"none", b"/", None, MS_REC | MS_PRIVATE, None) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def state_and_parent(pid):
    """The letter of the process's state, and its parent; None if the process is gone."""
    try:
        text = pathlib.Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    fields = text.rpartition(") ")[2].split()
    return fields[0], int(fields[1])


def is_alive(pid):
    """Whether the process runs or is stopped. A zombie is not alive."""
    found = state_and_parent(pid)
    return found is not None and found[0] not in "ZX"


def children():
    """The children of each process, without zombies."""
    tree = {}
    for name in os.listdir("/proc"):
        if name.isdigit() and (found := state_and_parent(name)) and found[0] not in "ZX":
            tree.setdefault(found[1], []).append(int(name))
    return tree


def tree_of(pid):
    """The process and all its descendants, parents before their children."""
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
    """Kills the process and its descendants with SIGKILL. They are stopped first, so that none can start another
    child."""
    for _ in range(2):
        members = tree_of(pid)
        signal_all(members, signal.SIGSTOP)
    signal_all(members, signal.SIGKILL)


def executable_of(pid):
    try:
        return os.readlink(f"/proc/{pid}/exe")
    except OSError:
        return None


def has_variable(pid, name, value):
    """Whether the process was started with this variable in its environment."""
    try:
        return f"{name}={value}".encode() in pathlib.Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return False


def words_of(pid):
    """The words of the process's command line."""
    try:
        return pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").split("\0")[:-1]
    except OSError:
        return []


def resident_bytes(pid):
    """The memory that the process uses now, in bytes; 0 if the process is gone."""
    try:
        pages = int(pathlib.Path(f"/proc/{pid}/statm").read_text().split()[1])
    except (OSError, IndexError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")


def end_descendants():
    """Kills and reaps everything that this program started and that still runs, including orphans."""
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        left = tree_of(os.getpid())[1:]
        signal_all(left, signal.SIGKILL)
        reap()
        if not left:
            return
        time.sleep(0.02)


def reap():
    """Reaps children for which no other code waits. `subprocess` accepts that a child was reaped already."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass
