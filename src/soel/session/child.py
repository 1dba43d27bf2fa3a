"""A process that holds a lock while it works.

Run by `python -m soel.session.child LOCK PROGRESS TEXT MODULE WORD...`.

It takes the lock before it imports anything slow, writes TEXT as the first progress, says so to whoever started it,
and runs MODULE with its words.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from pathlib import Path

from soel.errors import StorageError
from soel.files import take_lock, write_whole

STARTED, NO_PLACE = b"started\n", b"no place: "  # what it says; why nothing can be written follows the second
BUSY, CLOSED, PATIENCE = 75, 74, 0.2


def main(lock: str, progress: str, text: str, module: str, *words: str) -> int:
    """Be that process; returns BUSY where another one holds the lock, CLOSED where nothing can be written."""
    try:
        held = take_lock(Path(lock), PATIENCE)  # somebody may just be looking whether it is held
        if held is None:
            return BUSY
        write_whole(Path(progress), text.encode(), lasting=False)
    except StorageError as error:
        os.write(1, NO_PLACE + f"{error}\n".encode("utf-8", "backslashreplace"))
        return CLOSED
    os.write(1, STARTED)
    os.dup2(2, 1)  # what is printed from now on belongs into the log
    code: int = import_module(module).run(words)
    held.release()  # at once: leaving takes torch a while
    return code


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
