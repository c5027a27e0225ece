"""The checks of the console: what each is called, which of them run, and what came out."""

import time
import traceback

CHECKS = []


class Failed(Exception):
    """What a check found, in words for a person."""


class Skipped(Exception):
    """Why a check could not run."""


def expect(condition, message):
    if not condition:
        raise Failed(message)


def check(subject, name):
    """Declares a function as a check. Checks run in the order of their declarations."""

    def declare(function):
        CHECKS.append((subject, name, function))
        return function

    return declare


def until(seconds, condition, every=0.1):
    """Repeats a condition until it holds, and returns its value; the last value if it does not hold in this time."""
    deadline = time.monotonic() + seconds
    while True:
        value = condition()
        if value or time.monotonic() > deadline:
            return value
        time.sleep(every)


def run_all(bench, only):
    """Runs the checks, and returns how many failed. `only`: names of subjects, or parts of names; empty for all."""
    chosen = [entry for entry in CHECKS if not only or any(word == entry[0] or word in entry[1] for word in only)]
    if not chosen:
        print(f"check-console: no check is named {' or '.join(only)}; the subjects are "
              + ", ".join(dict.fromkeys(entry[0] for entry in CHECKS)))
        return 1
    results = [run_one(bench, *entry) for entry in chosen]
    width = max(len(name) for _, name, _, _, _ in results)
    print("\n" + "\n".join(
        f"{subject:<9} {name:<{width}} {seconds:6.1f} s  {verdict}" for subject, name, seconds, verdict, _ in results))
    failed = [result for result in results if result[3] == "FAILED"]
    for _, name, _, _, message in failed:
        print(f"\n{name}:\n{message}")
    print(f"\ncheck-console: {len(results)} checks, {len(failed)} failed")
    return len(failed)


def run_one(bench, subject, name, function):
    begun, verdict, message = time.monotonic(), "ok", ""
    try:
        note = function(bench)
        verdict = f"ok: {note}" if note else "ok"
    except Skipped as reason:
        verdict = f"skipped: {reason}"
    except Failed as failure:
        verdict, message = "FAILED", "  " + str(failure).replace("\n", "\n  ")
    except Exception as error:
        own = [frame for frame in traceback.extract_tb(error.__traceback__) if "/Tests/Console/" in frame.filename]
        where = "".join(f"  {frame.filename.rpartition('/')[2]}:{frame.lineno}: {frame.line}\n" for frame in own[1:])
        verdict, message = "FAILED", f"{where}  {type(error).__name__}: {error}"
    seconds = time.monotonic() - begun
    print(f"{time.monotonic() - bench.begun:6.1f} s  {name}: {verdict}", flush=True)
    return subject, name, seconds, verdict, message
