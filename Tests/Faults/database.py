"""A PostgreSQL server of its own with a throw-away cluster, which a row can kill, stop, start again and set back.
Commits are durable (fsync is on), as Baton demands. If the row says nothing else, the server listens on a Unix socket
only, in a folder that only its own user and root can enter.

There every user is the superuser without a password, unless the row says otherwise (`DeployedDatabase`)."""

import glob
import os
import pathlib
import pwd
import re
import shutil
import signal
import subprocess
import tempfile

import processes
from bench import Skipped, until

STORE_SQL = pathlib.Path(__file__).resolve().parents[2] / "Deploy/postgres/store.sql"
# What psql prints for NULL, and between two columns.
NULL, COLUMN = "<null>", "\x1f"
# A socket's path has at most 107 bytes, and a connection URI encodes some characters.
SHORT_PATH = re.compile(r"[A-Za-z0-9/._-]{1,80}")


# Makes each commit of a coordinator one that is answered before it is on the disk, although the settings say otherwise.
ANSWERS_EARLY = [
    "CREATE FUNCTION answer_early() RETURNS trigger LANGUAGE plpgsql AS"
    " $$ BEGIN PERFORM set_config('synchronous_commit', 'off', true); RETURN NULL; END $$",
    "CREATE TRIGGER answers_early AFTER UPDATE ON coordinator FOR EACH ROW EXECUTE FUNCTION answer_early()",
]


class Database:
    """The server runs from the beginning of the `with` block until its end."""

    def __init__(self, settings=(), port=5432):
        self.settings = list(settings)
        self.port = port
        self.binaries = newest_binaries()
        self.owner = {}
        if os.geteuid() == 0:
            # The server refuses to run as root.
            user = next(user for user in (find_user("postgres"), find_user("nobody")) if user)
            self.owner = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
        self.folder = None
        self.postmaster = None

    def __enter__(self):
        # The folder may be that of a server that is gone.
        self.folder = self.folder or new_folder()
        try:
            if self.owner:
                os.chown(self.folder, self.owner["user"], self.owner["group"])
            self.make()
            self.start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_):
        self.close()

    @property
    def address(self):
        """The store as its owner, the superuser, sees it."""
        return f"postgresql://postgres@/postgres?host={self.folder}&port={self.port}"

    @property
    def store(self):
        """The address that coordinators get."""
        return self.address

    @property
    def login(self):
        """What coordinators need in their environment to log in."""
        return {}

    @property
    def data(self):
        return self.folder / "data"

    @property
    def options_of_initdb(self):
        return []

    def make(self):
        """Makes the cluster."""
        command = [self.binaries / "initdb", "-A", "trust", "-U", "postgres", "-E", "UTF8", "--locale=C"]
        command += self.options_of_initdb
        subprocess.run(
            [*command, "-D", self.data], check=True, timeout=60, cwd=self.folder, env=self.environment,
            stdin=subprocess.DEVNULL, capture_output=True, **self.owner)  # fmt: skip
        with open(self.data / "postgresql.conf", "a", encoding="utf-8") as file:
            file.write(f"listen_addresses = ''\nport = {self.port}\nunix_socket_directories = '{self.folder}'\n")
            file.write("\n".join(["fsync = on", *self.settings, ""]))

    def start(self, seconds=60):
        """Starts the server, and waits until it answers. Raises RuntimeError if it does not."""
        with open(self.folder / "log", "ab") as log:
            self.postmaster = subprocess.Popen(
                [self.binaries / "postgres", "-D", self.data], cwd=self.folder, env=self.environment,
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, **self.owner)  # fmt: skip
        if not until(seconds, lambda: self.answers() or not self.runs) or not self.runs:
            raise RuntimeError(f"PostgreSQL does not start: {self.said()[-500:]}")

    @property
    def runs(self):
        return self.postmaster is not None and self.postmaster.poll() is None

    def answers(self):
        try:
            return self.rows("SELECT 1") == [(1,)]
        except subprocess.SubprocessError:
            return False

    def said(self):
        return (self.folder / "log").read_text(errors="replace")

    # ---- Faults

    def members(self):
        """The process ids of the server and of all its processes."""
        return processes.tree_of(self.postmaster.pid) if self.runs else []

    def kill(self):
        """Kills all processes of the server at one instant, and waits until they are gone: a new server refuses to
        start beside them."""
        members = self.members()
        if self.runs:
            processes.kill_tree(self.postmaster.pid)
            self.postmaster.wait()
        until(10, lambda: not any(processes.is_alive(pid) for pid in members))

    def signal(self, number):
        processes.signal_all(self.members(), number)

    def stop(self):
        """Ends all sessions and the server, which writes everything into its files."""
        self.postmaster.send_signal(signal.SIGINT)
        self.postmaster.wait(30)

    def copy(self):
        """Copies the files of the cluster. Meanwhile the server is stopped."""
        self.stop()
        subprocess.run(["cp", "-a", self.data, self.folder / "copy"], check=True, timeout=60)
        self.start()

    def set_back(self):
        """Kills the server, puts the copy in the place of its files, and starts it again: what was committed since then
        is lost."""
        self.kill()
        shutil.rmtree(self.data)
        (self.folder / "copy").rename(self.data)
        self.start()

    def answer_early(self):
        """From now on commits of coordinators are answered before they are on the disk."""
        for statement in ANSWERS_EARLY:
            self.rows(statement)
        # This process would write the log soon.
        (writer,) = self.rows("SELECT pid FROM pg_stat_activity WHERE backend_type = 'walwriter'")
        os.kill(writer[0], signal.SIGSTOP)

    def close(self):
        if self.runs:
            # Nothing is kept, so it need not write anything.
            self.signal(signal.SIGCONT)
            self.kill()
        if self.folder is not None:
            shutil.rmtree(self.folder, ignore_errors=True)

    # ---- Queries

    def rows(self, sql, *values):
        """The rows of a query, as tuples of numbers, texts and None; each `?` in it stands for a value. A text that
        looks like a number comes as a number. Raises SubprocessError if the server does not answer."""
        for value in values:
            sql = sql.replace("?", str(value) if isinstance(value, int) else "'" + value.replace("'", "''") + "'", 1)
        command = [self.binaries / "psql", "-X", "-q", "-A", "-t", "-F", COLUMN, "-P", f"null={NULL}"]
        found = subprocess.run(
            [*command, "-v", "ON_ERROR_STOP=1", "-d", self.address, "-c", sql], check=True, timeout=30,
            env=self.environment, stdin=subprocess.DEVNULL, capture_output=True, text=True)  # fmt: skip
        return [tuple(map(value_of, line.split(COLUMN))) for line in found.stdout.splitlines()]

    def deadlocks(self):
        """How many deadlocks there were. The statistics of a server that was killed are lost; its log is kept."""
        counted = self.rows("SELECT coalesce(sum(deadlocks), 0)::bigint FROM pg_stat_database")[0][0]
        return max(counted, self.said().count("deadlock detected"))


class DeployedDatabase(Database):
    """A server with the role and the database that Deploy/postgres/store.sql makes, which belongs to nobody else and
    has no other rights. It logs in with its password (SCRAM), which coordinators find in a file."""

    PASSWORD = "of the store's role"

    def make(self):
        super().make()
        (self.data / "pg_hba.conf").write_text("local all postgres trust\nlocal all baton scram-sha-256\n")

    def start(self, seconds=60):
        super().start(seconds)
        if self.has_store:
            return
        command = [self.binaries / "psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-v", f"password={self.PASSWORD}"]
        subprocess.run(
            [*command, "-d", super().address, "-f", STORE_SQL], check=True, timeout=60, env=self.environment,
            stdin=subprocess.DEVNULL, capture_output=True)  # fmt: skip
        self.passwords.touch(mode=0o600)
        self.passwords.write_text(f"*:*:baton:baton:{self.PASSWORD}\n")

    @property
    def passwords(self):
        return self.folder / "pgpass"

    @property
    def has_store(self):
        return self.passwords.exists()

    @property
    def address(self):
        # Before it is made, this is the database that every cluster has.
        return super().address.replace("/postgres?", "/baton?") if self.has_store else super().address

    @property
    def store(self):
        return f"postgresql://baton@/baton?host={self.folder}&port={self.port}"

    @property
    def login(self):
        return {"PGPASSFILE": str(self.passwords)}


def value_of(text):
    if text == NULL:
        return None
    return int(text) if re.fullmatch(r"-?\d{1,18}|-?[1-9]\d{18}", text) else text


def newest_binaries():
    """The folder of the newest version of PostgreSQL that is installed, or else the folder of the initdb in PATH.
    Raises Skipped if there is none."""
    folders = map(pathlib.Path, glob.glob("/usr/lib/postgresql/*/bin") + glob.glob("/usr/pgsql-*/bin"))
    initdb = shutil.which("initdb")
    found = sorted(folders, key=lambda folder: int(re.search(r"\d+", str(folder))[0]), reverse=True)
    found += [pathlib.Path(initdb).resolve().parent] if initdb else []
    for folder in found:
        if all(os.access(folder / name, os.X_OK) for name in ("initdb", "postgres", "psql")):
            return folder
    raise Skipped("there is no PostgreSQL (initdb is neither in /usr/lib/postgresql/*/bin nor in PATH)")


def find_user(name):
    try:
        return pwd.getpwnam(name)
    except KeyError:
        return None


def new_folder():
    """A new folder that only its owner can enter, with a short path."""
    folder = tempfile.mkdtemp(prefix="baton-pg-")
    if not SHORT_PATH.fullmatch(folder):
        os.rmdir(folder)
        folder = tempfile.mkdtemp(prefix="baton-pg-", dir="/tmp")
    return pathlib.Path(folder)
