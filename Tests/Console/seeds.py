"""What the checks look at: requests in every state, whose texts try to break pages."""

import json

from checks import until

# Each would set `planted` if a page ran it.
MARKUP = "<script>window.planted=1</script>\"><img src=x onerror=window.planted=2>' onfocus='window.planted=3"
BIDI = "\u202Egnp.exe\u2066\u200B"
ANSI = "\x1b[31mred\x1b[0m\x1b]0;title\x07\x1b[2J"
PAYLOAD = json.dumps({"markup": "</pre></script>" + MARKUP, "bidi": BIDI, "ansi": ANSI, "long": "x" * 3000})
LONG = "com.example." + ".".join(["long-name-without-an-end"] * 9)

# It prints what a terminal would act on, a line of 64 KiB and bytes that are no text, and fails.
OUTPUT = f"""#!/bin/sh
printf '%s\\n' '{MARKUP.replace("'", "'" + chr(92) + "''")}'
printf '\\033[31mred\\033[0m \\033]0;title\\007 \\000 \\302\\200 \\377\\376 {BIDI}\\n'
head -c 65536 /dev/zero | tr '\\0' 'y'
printf '\\n%s\\n' '</pre></textarea></title><!-- {MARKUP.split("'")[0]}' >&2
exit 3
"""

# It keeps a cursor, with a subtitle, until it is told to stop.
CURSOR = """#!/bin/sh
n=0
while [ ! -e "$BATON_EXPIRY_FILE" ] && [ $n -lt 2000 ]; do
  n=$((n + 1))
  printf '{"checkpoint": %d, "completed": %d, "total": 2000, "subtitle": "SUBTITLE %d"}\\n' $n $n $n \\
    >&"$BATON_PROGRESS_FD"
  echo "line $n"
  sleep 1
done
exit 1
"""

JOBS = """
identifier: com.example.hostile
kind: continued
title: TITLE
subtitle: "</title><b>bold</b>"
retry: {limit: 0, backoff: 1s}
work: {command: [sh, FOLDER/output.sh]}
---
identifier: com.example.broken.*
kind: processing
title: Breaks at its second batch
retry: {limit: 0, backoff: 1s}
work: {command: [sh, -c, 'test "$BATON_BATCH" = 0'], items: {range: 1...6}, batchSize: 2}
---
identifier: com.example.counting
kind: continued
title: Counts slowly
stallAfter: 1h
work: {command: [sleep, "1", --], items: {range: 1...2000}, pass: stdin}
---
identifier: com.example.cursor
kind: continued
title: Keeps a cursor
stallAfter: 1h
work: {command: [sh, FOLDER/cursor.sh]}
---
identifier: com.example.scheduled
kind: processing
title: Is not due for a day
earliestBeginDate: 24h
work: {command: ['true']}
---
identifier: com.example.repeating
kind: refresh
repeat: {every: 1h}
work: {command: ['true']}
---
identifier: com.example.impossible
kind: processing
title: No host can ever run it
gpu: {count: 8, memory: 80GiB}
requiredLabels: {zone: MARKUP}
work: {command: ['true']}
---
identifier: com.example.quarantined
kind: processing
title: Never gets a batch done
budget: 1s
closingWindow: 1s
work: {command: [sleep, "30"], items: {range: 1...3}, pass: stdin, onExpiry: terminate}
---
identifier: com.example.spread
kind: continued
title: Is divided
stallAfter: 1h
work: {command: [sleep, "2"], items: {range: 1...300}, pass: stdin, spread: 2, shardSize: 60}
---
identifier: com.example.done.*
kind: refresh
work: {command: [echo, done]}
---
identifier: com.example.waiting.*
kind: processing
title: Waits for external power
requiresExternalPower: true
requiresIdle: false
work: {command: ['true']}
---
identifier: com.example.poked
kind: refresh
title: Is poked
earliestBeginDate: 2h
work: {command: ['true']}
---
identifier: com.example.flow.fetch
kind: processing
title: TITLE
requiresIdle: false
retry: {limit: 0}
work: {command: [sh, FOLDER/output.sh]}
---
identifier: com.example.flow.work
kind: processing
after: [{identifier: com.example.flow.fetch}]
work: {command: ['true']}
---
identifier: com.example.flow.repair
kind: processing
requiredLabels: {zone: cellar}
requiresIdle: false
after: [{identifier: com.example.flow.fetch, on: failure}]
work: {command: ['true']}
---
identifier: com.example.flow.report
kind: processing
after: [{identifier: com.example.flow.repair, on: any}, {identifier: com.example.flow.fetch, on: any}]
work: {command: ['true']}
---
identifier: com.example.nightly
kind: processing
title: TITLE
schedule: {cron: "0 2 * * *", timeZone: Europe/Berlin}
work: {command: ['true']}
---
identifier: LONG
kind: processing
title: Has a long name
requiresExternalPower: true
work: {command: ['true']}
"""


def set_receivers(fleet, names):
    """Writes coordinator.yaml with these receivers. No program listens behind them."""
    secret = fleet.folder / "secret"
    secret.write_text("0123456789abcdef\n")
    secret.chmod(0o600)
    listed = "".join(
        f"  - {{name: {name}, webhook: 'http://127.0.0.1:{fleet.silent}/', secretFile: {secret}}}\n" for name in names)
    (fleet.folder / "coordinator.yaml").write_text(
        f"receivers:\n{listed}notify:\n  failure: [{', '.join(names)}]\n")


def plant(fleet):
    """Starts the fleet and makes everything. Returns when all of it has the state that it is to have."""
    folder = fleet.folder
    (folder / "output.sh").write_text(OUTPUT)
    (folder / "cursor.sh").write_text(CURSOR.replace("SUBTITLE", "<i>at</i> \\u202e \\u001b[1m"))
    jobs = JOBS.replace("TITLE", json.dumps(MARKUP)).replace("MARKUP", json.dumps(MARKUP))
    (folder / "jobs.yaml").write_text(jobs.replace("FOLDER", str(folder)).replace("LONG", LONG))
    set_receivers(fleet, ["ops", "old"])
    fleet.start_coordinator()
    fleet.start_worker("gone", labels={"zone": "attic"})
    fleet.start_worker("anna", slots=6, labels={"zone": "garage", "markup": MARKUP})
    fleet.start_worker("ben", slots=6, labels={"quotes": "\"'<>&"})
    fleet.until_ready(3)
    fleet.kill_worker("gone")
    for host in ("anna", "ben"):
        fleet.run("simulate", "conditions", host, "--power", "battery", "--battery", "61", "--for", "1h")
    fleet.run("apply", "jobs.yaml")
    submit(fleet)
    if not until(30, lambda: fleet.state("com.example.hostile") == "failed", 0.5):
        raise RuntimeError(f"nothing has failed:\n{fleet.run('list', '--all')}")
    # What the other receiver is to be told fails for good.
    set_receivers(fleet, ["ops"])
    fleet.restart_coordinator()
    if not until(60, lambda: is_planted(fleet), 0.5):
        raise RuntimeError(f"the fleet is not as it is to be:\n{fleet.run('list', '--all')}\n{fleet.run('status')}")


def submit(fleet):
    names = ["hostile", "counting", "cursor", "scheduled", "impossible", "quarantined", "spread"]
    orders = [{"identifier": f"com.example.{name}", "payload": json.loads(PAYLOAD)} for name in names]
    for kind, count in (("broken", 24), ("done", 5), ("waiting", 130)):
        orders += [{"identifier": f"com.example.{kind}.{number}"} for number in range(1, count + 1)]
    answers = fleet.call("POST", "/v1/requests", orders + [{"identifier": LONG}])["answers"]
    refused = [answer for answer in answers if "request" not in answer]
    if refused:
        raise RuntimeError(f"submissions were refused: {refused}")
    for _ in range(3):
        fleet.run("poke", "com.example.poked", "--payload", PAYLOAD)
    members = ["fetch", "work", "repair", "report"]
    fleet.flow = fleet.call("POST", "/v1/flows", [{"identifier": f"com.example.flow.{it}"} for it in members])["answers"]
    if any("request" not in answer for answer in fleet.flow):
        raise RuntimeError(f"the flow was refused: {fleet.flow}")
    from places import ACTIONS, PAGES

    number = fleet.flow[0]["flow"]
    PAGES["flow"], PAGES["question-flow"] = f"/flows/{number}", f"/flows/{number}/cancel"
    ACTIONS[f"/flows/{number}/cancel"] = {}
    fleet.run("schedules", "pause", "com.example.nightly", "--reason", MARKUP + BIDI + ANSI)
    fleet.run("evict", "com.example.scheduled", "--host", "ben")
    (fleet.folder / "again.yaml").write_text(
        "identifier: com.example.repeating\nkind: refresh\nrepeat: {every: 2h}\nwork: {command: ['true']}\n---\n"
        "identifier: com.example.scheduled\nkind: processing\ntitle: Is not due for two days\n"
        "earliestBeginDate: 48h\nwork: {command: ['true']}\n")
    fleet.run("apply", "again.yaml")


def is_planted(fleet):
    states = {"hostile": "failed", "quarantined": "failed", "counting": "running", "cursor": "running",
              "spread": "running", "scheduled": "scheduled", "broken.1": "failed", "broken.24": "failed",
              "done.5": "succeeded", "flow.fetch": "failed", "flow.work": "cancelled", "flow.repair": "ready",
              "flow.report": "scheduled"}
    return all(fleet.state(f"com.example.{name}") == state for name, state in states.items())
