"""The table of the results. Its lines are those of results/peers.jsonl: figures, failures and the machine."""
import common

HEAD = ["system", "durability", "no-op jobs/s", "commands/s", "submit to start, p50 ms", "if its worker dies, a job"]
NOTES = """\
Each figure is one measurement; without --small those of Baton are medians of three. No-op jobs: divided by the time of
submitting and of running them. Commands: `/bin/true`, submitted before the workers start; the rate of Baton includes
the submission. Submit to start: until the code of the job runs, one job after the other; for HyperQueue and Slurm that
is a shell."""


class System:
    """A system in one setting: its facts, and its figures by their names."""

    def __init__(self, facts):
        self.name = f"{facts['system']} {facts['version']}"
        self.durability, self.death, self.fate = facts["durability"], facts["death"], facts["fate"]
        self.is_baton = facts["system"] == "Baton"
        self.figures = {}

    def text(self, name):
        """The figure as the table and the picture show it."""
        return short(self.figures[name]) if name in self.figures else "not measured"

    def rate(self, name):
        return self.figures.get(name) or 0


def systems(lines):
    """The systems in the order of their first figures. A later figure of the same name replaces an earlier one."""
    found = {}
    for line in lines:
        if "figure" in line:
            key = line["system"], line["version"], line["durability"]
            found.setdefault(key, System(line)).figures[line["figure"]] = line["value"]
    return list(found.values())


def failures(lines):
    """What was not measured, or not in full, with the reason: pairs of texts."""
    return [(line["failed"], line["reason"]) for line in lines if "failed" in line]


def machine(lines):
    """The machine and the day of the measurements, and whether they were small."""
    text = next((f"{line['machine']}, {line['at'][:10]}" for line in lines if "machine" in line), "")
    return text + (", with --small: a quick look, not a measurement" if any(map(is_small, lines)) else "")


def is_small(line):
    return line.get("isSmall", False)


def short(value):
    """The value with three digits, or without a fraction. None: the system has no such work."""
    if value is None:
        return "no such work"
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def markdown(lines):
    """The whole table, and what has to be known about it."""
    rows = [HEAD, ["---", "---", "---:", "---:", "---:", "---"]]
    for system in systems(lines):
        figures = [system.text(name) for name in (common.NO_OPS, common.COMMANDS, common.START)]
        rows.append([system.name, system.durability, *figures, system.death])
    for name, reason in failures(lines):
        rows.append([name, f"failed: {reason}", "", "", "", ""])
    text = ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
    return "\n".join([*text, "", f"{machine(lines)}.", NOTES])
