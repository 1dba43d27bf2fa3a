"""The script that counts the files that a call walks through."""

from __future__ import annotations

import threading

from scripts import crossings

from soel.assess.threshold import parse_threshold
from soel.types import Kind


def test_files_of_calls_are_counted_in_every_thread() -> None:
    with crossings.record() as files:
        parse_threshold("share=0.1")
        thread = threading.Thread(target=Kind.read, args=("table",))
        thread.start()
        thread.join()
    assert files == {"assess/threshold.py", "types.py"}
    parse_threshold("share=0.1")
    with crossings.record() as later:
        pass
    assert later == set()
