"""Spoilt files for every reader: each is read or refused in one line that names it, in bounded memory and time.

`python -m benchmarks fuzz`: 2,000 files a reader. `python -m benchmarks.fuzz READER ... --files N --first N` for some.
In parts: `--keep FILE --seconds 150` keeps every batch in FILE, goes on where FILE ends, and prints the table of it.
A child process reads them under limits of memory and processor time, so that a file that takes too much is found, too.
Seeds are the number of the file, or that of its batch: a defect can be made again.
"""

from benchmarks.fuzz.command import FLOORS, NAMES, measure, run

__all__ = ["FLOORS", "NAMES", "measure", "run"]
