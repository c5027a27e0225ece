"""Wrong YAML. It must be accepted, or refused with an error that has a place, in bounded time and without a crash."""

import json
import pathlib
import re
import subprocess

from disks import TRAPS
from fleet import Fleet, started

ROOT = pathlib.Path(__file__).resolve().parents[2]
IN_ONE_GO = 250
SECONDS_FOR_ONE_GO = 30
PLACE = re.compile(r"^.+:\d+:\d+: (error|warning): .", re.MULTILINE)
WORDS = [
    "&a", "*a", "!!binary", "!!python/object", "~", "null", "true", "{", "}", "[", "]", "- ", ": ", "? ", "| ", "> ", "\t",
    "\0", "\ufeff", "%YAML 9.9", "---", "...", "<<: *a", "'", '"', "\\", "1e999", "-9223372036854775809", "0x", ".nan",
    "99999999999h", "-1s", "${wildcard}", "*", "com.example.*", "\u2028", "\udc80", "é" * 300, "x" * 70000,
]  # fmt: skip


def bombs():
    """Texts that have hung or killed parsers before."""
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)]
    base = "identifier: com.example.bomb\nkind: continued\ntitle: B\nwork:\n  command: [x]\n"
    return [
        "\n".join(lines), "[" * 20000, "{a: " * 5000, "- " * 5000, "a: &a [*a]\n", "&a a: *a\n", "? " * 3000, "!" * 5000,
        base + "  items: {range: 1...999999999999999999}\n", base + "  environment: {" + ", ".join(
            f"K{n}: v" for n in range(20000)) + "}\n", "---\n" * 20000, "#" * 1000000, "\n" * 1000000, "a: |\n" + " b\n" * 100000,
        base * 400, "\r" * 100000, "x" * (10 << 20), "x" * ((10 << 20) + 1), base.replace("\n", "\r\n"), base.encode("utf-16"),
        b"\xff\xfe\x00", b"", b"\0" * 100, "\ufeff" + base, base.replace("  command", "\tcommand"),
        base + "  items: {list: [" + "a, " * 50000 + "]}\n", "a: " + "9" * 100000,
        "retry: {limit: " + "1" * 400 + "}\n" + base,
    ]  # fmt: skip


def run(bench):
    """Sends mutations of the examples, many files at a time, through `baton validate`, and one of these files through
    `apply`."""
    seeds = [path.read_bytes() for path in sorted((ROOT / "Config").glob("jobs/*.yaml"))]
    seeds += [path.read_bytes() for path in sorted((ROOT / "Examples").glob("*.yaml"))]
    with Fleet(bench) as fleet:
        started(fleet)
        pending, made = bombs(), 0
        while made < bench.rounds:
            bench.round = made + 1
            count = min(IN_ONE_GO, bench.rounds - made)
            texts = [pending.pop() if pending else mutated(bench.random, seeds) for _ in range(count)]
            folder = bench.new_folder("specifications")
            files = [write(folder / f"{made + n}.yaml", text, made + n) for n, text in enumerate(texts)]
            validate(bench, fleet, files)
            apply(bench, fleet, files[bench.random.randrange(len(files))])
            made += count
            bench.landed += count
            for file in files:
                file.unlink()
        bench.expect(bench.figures.get("with problems", 0) > bench.rounds // 4, "hardly a mutation made a problem")
        bench.expect(fleet.runs, "the coordinator ended")


def write(path, text, number):
    """Writes a file whose identifiers are its own: if two files declared one identifier, both would have a problem."""
    data = text if isinstance(text, bytes) else text.encode("utf-8", "surrogateescape")
    path.write_bytes(data.replace(b"com.example", b"com.n%d" % number))
    return path


def mutated(random, seeds):
    """Changes a few characters, lines and words of an example."""
    lines = random.choice(seeds).decode().splitlines(keepends=True)
    for _ in range(random.randint(1, 4)):
        at = random.randrange(len(lines))
        line = lines[at]
        column = random.randrange(len(line) + 1)
        match random.randrange(7):
            case 0:
                lines[at] = line[:column] + random.choice(WORDS) + line[column:]
            case 1:
                lines[at] = line[:column] + line[column + random.randint(1, 5) :]
            case 2:
                lines.insert(at, random.choice(lines))
            case 3:
                del lines[at]
            case 4:
                lines[at] = " " * random.randint(0, 4) + line.lstrip()
            case 5:
                odd = chr(random.choice([random.randrange(0x20), random.randrange(0x80, 0xD800)]))
                lines[at] = line[:column] + odd + line[column:]
            case 6:
                lines[at] = line.partition(":")[0] + ": " + random.choice(WORDS) + "\n"
        lines = lines or ["\n"]
    return "".join(lines)


def validate(bench, fleet, files):
    """Validates all files at once. If that goes wrong, it validates halves of them, until the file is found."""
    try:
        result = fleet.baton("validate", *files, "-o", "jsonl", seconds=SECONDS_FOR_ONE_GO, check=False)
    except subprocess.TimeoutExpired:
        return narrow(bench, fleet, files, f"no verdict within {SECONDS_FOR_ONE_GO} s")
    if result.returncode not in (0, 65):
        kind = "trapped" if result.returncode in TRAPS else "ended"
        return narrow(bench, fleet, files, f"`validate` {kind} with {result.returncode}: {result.stderr[-200:]!r}")
    problems = [json.loads(line) for line in result.stdout.splitlines()]
    check_places(bench, files, problems, result)
    return None


def narrow(bench, fleet, files, what):
    if len(files) > 1:
        middle = len(files) // 2
        validate(bench, fleet, files[:middle])
        validate(bench, fleet, files[middle:])
    else:
        bench.violation(f"{what}; the file: {files[0].read_bytes()[:300]!r}")


def check_places(bench, files, problems, result):
    """Every problem must name its file, line and column, and the line must be in the file."""
    lengths = {str(file): file.read_bytes().count(b"\n") + file.read_bytes().count(b"\r") + 2 for file in files}
    for problem in problems:
        path = problem["file"]
        lines = lengths.get(path) or lengths.get(str(files[0].parent / pathlib.Path(path).name))
        good = lines and 1 <= problem["line"] <= lines and problem["column"] >= 1 and problem["message"]
        bench.expect(good, f"a problem without its place: {problem}")
    with_errors = {problem["file"] for problem in problems if problem["severity"] == "error"}
    agrees = (result.returncode == 65) == bool(with_errors)
    bench.expect(agrees, f"exit status {result.returncode}, {len(with_errors)} files with errors")
    bench.figure("with problems", bench.figures.get("with problems", 0) + len(with_errors))


def apply(bench, fleet, file):
    """Applies a file. It must be accepted, or refused with a place."""
    try:
        result = fleet.baton("apply", file, seconds=SECONDS_FOR_ONE_GO, check=False)
    except subprocess.TimeoutExpired:
        return bench.violation(f"`apply` has no verdict within {SECONDS_FOR_ONE_GO} s: {file.read_bytes()[:300]!r}")
    said = result.stderr.decode(errors="replace")
    known = result.returncode in (0, 4, 65)
    bench.expect(known, f"`apply` ended with {result.returncode}: {said[-200:]} {file.read_bytes()[:200]!r}")
    if result.returncode == 65:
        bench.expect(PLACE.search(said), f"`apply` refuses without a place: {said[:200]!r}")
    return None
