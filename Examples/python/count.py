#!/usr/bin/env python3
"""A command that goes on where it was: it writes the square of each number of its payload into a file, one by one.

It may be killed at any moment, with its host. At most ten numbers are then repeated; a line that comes twice is
harmless, because it says the same.
"""
import os
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import baton

with baton.task() as task:
    numbers = range(1, (task.payload or {"numbers": 100})["numbers"] + 1)
    with open(sys.argv[1], "a") as squares:
        for number in task.resume(numbers):
            print(number, number * number, file=squares, flush=True)
            time.sleep(float(os.environ.get("PAUSE", "0.05")))  # stands for work
            if task.done % 10 == 0:
                os.fsync(squares.fileno())
                task.checkpoint()
