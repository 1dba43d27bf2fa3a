"""The n-th call of a session that changes the disk fails or ends the process, for every n: nothing may be lost.

`python -m benchmarks faults`. Below Python, so SQLite's own writes, syncs and renames are among the calls. Each fault
is met on a session of its own; afterwards all that was acknowledged is there, nothing half-written, and work goes on.

In parts: `python -m benchmarks.faults FILE --seconds 200` keeps every attempt in FILE, goes on where FILE ends, and
prints the table of what is in it.
"""

from benchmarks.faults.command import FLOORS, measure

__all__ = ["FLOORS", "measure"]
