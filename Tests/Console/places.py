"""The pages and the actions of the console, by the requests that the seeds made."""

import urllib.parse

from seeds import LONG

R = "/requests/com.example"

PAGES = {
    "overview": "/",
    "requests": "/requests",
    "requests-failed": "/requests?state=failed",
    "requests-none": "/requests?id=com.example.missing",
    "request-running": f"{R}.counting/1",
    "request-cursor": f"{R}.cursor/1",
    "request-hostile": f"{R}.hostile/1",
    "request-broken": f"{R}.broken.1/1",
    "request-spread": f"{R}.spread/1",
    "request-scheduled": f"{R}.scheduled/1",
    "request-poked": f"{R}.poked/1",
    "request-long": f"/requests/{LONG}/1",
    "request-current": f"{R}.done.1",
    "why-waiting": f"{R}.waiting.1/1/why",
    "why-impossible": f"{R}.impossible/1/why",
    "why-running": f"{R}.counting/1/why",
    "why-failed": f"{R}.broken.1/1/why",
    "trace": f"{R}.quarantined/1/trace",
    "trace-running": f"{R}.counting/1/trace",
    "request-flow": f"{R}.flow.report/1",
    "schedules": "/schedules",
    "schedules-none": "/schedules?pattern=com.example.missing",
    "notifications": "/notifications",
    "definition-paused": "/definitions/com.example.nightly",
    "queue": "/queue",
    "hosts": "/hosts",
    "hosts-none": "/hosts?name=missing",
    "host": "/hosts/anna",
    "host-gone": "/hosts/gone",
    "definitions": "/definitions",
    "definition": "/definitions/com.example.hostile",
    "definition-wildcard": "/definitions/" + urllib.parse.quote("com.example.waiting.*"),
    "check": "/definitions/check",
    "activity": "/activity",
    "reasons": "/reasons",
    "about": "/about",
    "help": "/help",
    "missing": "/requests/com.example.missing/1",
    "question": f"{R}.counting/1/cancel",
}

_waiting = [f"com.example.waiting.{number}#1" for number in range(1, 31)]
_many = urllib.parse.urlencode([("id", name) for name in _waiting])

# Every action: where it asks, and fields with which it would be carried out.
ACTIONS = {
    f"{R}.counting/1/cancel": {},
    f"{R}.broken.1/1/retry": {},
    f"{R}.scheduled/1/redefine": {},
    f"{R}.waiting.1/1/priority": {"priority": "background"},
    f"{R}.waiting.1/1/simulate-launch": {},
    f"{R}.counting/1/simulate-expire": {"reason": "powerLost"},
    f"/requests/cancel?{_many}": {"id": _waiting, "count": "30"},
    "/requests/retry?id=com.example.broken.1%231&id=com.example.broken.2%231": {
        "id": ["com.example.broken.1#1", "com.example.broken.2#1"]},
    "/hosts/anna/drain": {},
    "/hosts/anna/undrain": {},
    "/hosts/anna/evict": {"pattern": "com.example.counting"},
    "/hosts/anna/simulate": {"power": "battery"},
    "/hosts/gone/forget": {},
    "/definitions/com.example.scheduled/submit": {},
    "/definitions/com.example.repeating/remove": {},
    "/definitions/com.example.scheduled/allow": {},
    "/definitions/com.example.repeating/revert?version=1": {"version": "1"},
    "/definitions/check": {"yaml": "identifier: com.example.new\nkind: refresh\nwork: {command: ['true']}\n"},
    "/definitions/com.example.nightly/pause": {"reason": "the disk is full"},
    "/definitions/com.example.nightly/resume": {},
    "/definitions/com.example.nightly/stop-backfill": {},
    "/receivers/ops/test": {},
    "/fleet/pause": {},
    "/fleet/resume": {},
}
