"""Jobs with transfers whose commands note, outside of Baton, what they were told and what the files hold; and the rules
that these notes must keep."""

import contextlib
import dataclasses
import hashlib
import json
import random

from file_server import HONEST, MANNERS

# Each launch writes a file of its own: what it was told, the hashes of the files as it sees them, and whether what it
# was told is acknowledged. The first launch adds the transfers of a second group, if there are any.
SCRIPT = """#!/bin/sh
log=$1.$BATON_LAUNCH more=$2
sleep 0.1
[ -n "$BATON_TRANSFERS" ] || { echo nothing > "$log"; exit 0; }
tr -d '\\n' < "$BATON_TRANSFERS" > "$log"
echo >> "$log"
paths=$(tr '{' '\\n' < "$BATON_TRANSFERS" | sed -n 's/.*"path":"\\([^"]*\\)".*/\\1/p')
echo "$paths" | xargs -r sha256sum | tr '\\n' ' ' >> "$log"
echo >> "$log"
if [ -n "$more" ] && [ ! -s "$BATON_CHECKPOINT_FILE" ]; then
  printf '{"checkpoint": 1, "transfers": %s}\\n' "$more" >&"$BATON_PROGRESS_FD"
  read -r _ <&"$BATON_COMMIT_FD" && echo kept >> "$log"
fi
sleep 0.1
"""


@dataclasses.dataclass
class Wish:
    """A transfer of a job: what is asked for, and how it has to end."""

    file: object
    keys: dict
    state: str = "done"
    code: str = None

    @property
    def is_upload(self):
        return "method" in self.keys


class FetchJob:
    """A job with a few transfers, and in every third case with two more that its first launch adds."""

    def __init__(self, row, number):
        self.identifier = f"com.example.faults.fetch{number}"
        self.random = random.Random(f"{row.bench.seed} {self.identifier}")
        self.log = row.logs / f"fetch{number}"
        self.seat = self.random.choice(row.hosts)
        is_shared = number % 6 == 5
        count = self.random.randint(3, 5)
        self.first = [self.wish(row, f"{number}-{index}", is_shared) for index in range(count)]
        if number % 4 == 1:
            self.first[0] = self.upload(row, f"{number}-up")
        count = 2 if number % 3 == 0 else 0
        more = [self.wish(row, f"{number}-more{index}", False, "second") for index in range(count)]
        self.wishes = self.first + more
        self.more = json.dumps([wish.keys for wish in more]) if more else ""

    def wish(self, row, name, is_shared, group="default"):
        chosen = self.random
        manner = chosen.choice(HONEST if chosen.random() < 0.6 else MANNERS)
        file = row.server.add(name, manner, chosen.randint(1, 300_000), chosen.choice([0, 1, 1, 2, 3]))
        if manner in HONEST and chosen.random() < 0.1:
            file.trickles, file.faults = True, max(1, file.faults)
        keys = {"url": row.server.url(name), "to": name, "group": group}
        if is_shared or chosen.random() < 0.1:
            keys["to"] = str(row.outside / name)
        if is_shared:
            keys["shared"] = True
        if manner == "shifted":
            # Nothing but the hash can tell that the bytes are not those that were asked for.
            keys["sha256"] = file.sha256
        elif chosen.random() < 0.05:
            file.manner, keys["sha256"] = "whole", hashlib.sha256(b"another file").hexdigest()
            return Wish(file, keys, "failed", "wrongHash")
        elif chosen.random() < 0.05:
            del row.server.files[name]
            return Wish(file, keys, "failed", "refusedByServer")
        return Wish(file, keys)

    def upload(self, row, name):
        file = row.server.add(name, "upload", self.random.randint(1, 300_000), self.random.choice([0, 1, 2]))
        source = row.outside / f"source-{name}"
        source.write_bytes(file.body)
        return Wish(file, {"url": row.server.url(name), "method": "put", "file": str(source)})

    def yaml(self, script):
        transfers = [wish.keys | {"requestTimeout": "3s"} for wish in self.first]
        return (
            f"---\nidentifier: {self.identifier}\nkind: processing\ntitle: Faults\nretry: {{limit: 100, backoff: 1s}}\n"
            f"preferredLabels: {{seat: {self.seat}}}\n"
            f"work:\n  command: {json.dumps([str(script), str(self.log), self.more])}\n"
            f"  transfers: {json.dumps(transfers)}\n"
        )

    # ---- What must be true afterwards

    def launches(self):
        """What each launch wrote, in their order: the events, the hashes by path, and whether it was acknowledged. The
        lines of a launch that was killed may be missing."""
        found = []
        for number in range(1, 200):
            with contextlib.suppress(FileNotFoundError):
                lines = self.log.with_name(f"{self.log.name}.{number}").read_text().split("\n")
                if lines[0] == "nothing" or len(lines) < 3:
                    found += [(number, None, {}, False)] if lines[0] == "nothing" else []
                    continue
                words = lines[1].split()
                found.append((number, json.loads(lines[0]), dict(zip(words[1::2], words[::2])), "kept" in lines))
        return found

    def problems(self):
        found, told, kept = [], set(), set()
        for number, events, sums, is_kept in self.launches():
            if events is None:
                found.append(f"launch {number} was told nothing")
                continue
            for event in events:
                index = event["number"]
                if index >= len(self.wishes):
                    found.append(f"launch {number} was told of transfer {index}, which nothing asked for")
                    continue
                # A command may be killed after its checkpoint was committed, and before it has noted that.
                if index in kept if event["new"] else index not in told:
                    found.append(f"launch {number} was told transfer {index} with new: {event['new']}")
                told |= {index} if event["new"] else set()
                found += self.event_problems(number, index, event, sums)
            found += self.group_problems(number, {event["number"] for event in events})
            kept |= {event["number"] for event in events} if is_kept else set()
        lost = [index for index in range(len(self.wishes)) if index not in told]
        found += [f"transfer {index} ({self.wishes[index].file.name}) was told to no launch" for index in lost]
        return [f"{self.identifier}: {problem}" for problem in found]

    def event_problems(self, number, index, event, sums):
        wish = self.wishes[index]
        name = f"launch {number}, {wish.file.name} ({wish.file.manner})"
        if (event["state"], event.get("code")) != (wish.state, wish.code):
            return [f"{name}: {event['state']} {event.get('code')} {event.get('error')}, not {wish.state} {wish.code}"]
        if wish.is_upload and wish.file.received != wish.file.body:
            return [f"{name}: done, but the server did not get what was sent"]
        if wish.state == "done" and not wish.is_upload and sums.get(event["path"]) != wish.file.sha256:
            return [f"{name}: the file is not what the server holds: {sums.get(event['path'])}"]
        if wish.state == "done" and event["sha256"] != wish.file.sha256:
            return [f"{name}: the event has another hash than the file"]
        return []

    def group_problems(self, number, told):
        """A launch is told of whole groups."""
        groups = [set(range(len(self.first))), set(range(len(self.first), len(self.wishes)))]
        parts = [sorted(told & group) for group in groups if told & group and not group <= told]
        return [f"launch {number} was told a part of a group, {part}: the rest was told to no launch" for part in parts]
