"""What a row of the fault table works with: the number of rounds, seeded choices, a folder, and the list of
violations."""

import dataclasses
import pathlib
import random
import re
import time

from stalls import Stalls


class Skipped(Exception):
    """This machine cannot run the row. The text is the reason."""


class Caught(Exception):
    """The row has reported its planted bug, so it need not run on."""


@dataclasses.dataclass(frozen=True)
class Row:
    """One line of the table: its name, the function that runs it, and the number of rounds in each tier."""

    name: str
    run: object
    quick: int
    long: int
    # True if the row measures how fast the fleet answers. Nothing else runs beside it then.
    is_alone: bool = False

    def rounds(self, tier):
        """The number of rounds of a tier. The brief tier has half of the quick tier's rounds. The full tier has a fifth
        of the long tier's, but not fewer than the quick tier."""
        brief, full = (self.quick + 1) // 2, max(self.quick, self.long // 5)
        return {"brief": brief, "quick": self.quick, "full": full, "long": self.long}[tier]


class Bench:
    """A run of one row. The row calls `land` for each fault that hit its target, and `violation` for each promise that
    was not kept."""

    def __init__(self, row, options, folder, rounds, plant=None):
        self.row = row
        self.tier = options.tier
        self.seed = options.seed
        self.random = random.Random(f"{options.seed} {row.name}")
        self.rounds = rounds
        self.plant = plant
        self.folder = pathlib.Path(folder)
        self.binaries = pathlib.Path(options.bin)
        # The folder of the programs of an earlier version, or None.
        self.older = options.older
        self.is_verbose = options.verbose
        self.round = 0
        self.landed = 0
        self.violations = []
        self.kinds = {}
        self.figures = {}
        self.folders = 0
        self.stalls = Stalls(self.folder)

    @property
    def is_quick(self):
        return self.tier == "quick"

    def end(self):
        self.stalls.stop()
        self.figure("seconds that the machine did not give", round(self.stalls.in_all(), 1))

    def each_round(self):
        """Yields the numbers of the rounds, from 1."""
        for self.round in range(1, self.rounds + 1):
            yield self.round

    def land(self, kind):
        self.landed += 1
        self.kinds[kind] = self.kinds.get(kind, 0) + 1

    def violation(self, text):
        self.violations.append(f"round {self.round}: {text}")
        print(f"  {self.row.name}, {self.violations[-1]}", flush=True)
        if self.plant and re.search(self.plant.said, text):
            raise Caught

    def expect(self, is_kept, text):
        if not is_kept:
            self.violation(text)
        return is_kept

    def note(self, text):
        if self.is_verbose:
            print(f"  {self.row.name}, round {self.round}: {text}", flush=True)

    def figure(self, name, value):
        """Keeps a number for the results. If a name gets several numbers, the largest one is kept."""
        self.figures[name] = max(value, self.figures.get(name, value))

    def new_folder(self, name):
        self.folders += 1
        folder = self.folder / f"{name}-{self.folders}"
        folder.mkdir()
        return folder


def until(seconds, condition, every=0.02):
    """Waits until `condition()` is true, for at most `seconds`, and returns its last value."""
    deadline = time.monotonic() + seconds
    while not (answer := condition()) and time.monotonic() < deadline:
        time.sleep(every)
    return answer
