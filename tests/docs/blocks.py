"""The code blocks of Markdown pages, and how a page is run: each block in order, in one scratch folder."""

from __future__ import annotations

import csv
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from soel.cli.main import main

FENCE = re.compile(
    r"^(?P<indent> *)(?P<fence>`{3,}|~{3,})(?P<info>[^\n`]*)\n(?P<body>.*?)^(?P=indent)(?P=fence) *$", re.M | re.S
)
NOT_RUN = re.compile(r"<!-- not run: (?P<reason>[^>]+?) -->\s*\Z")
RUN, SHOWN = ("python", "shell"), ("text", "json", "yaml", "toml")  # a block is run, or it is no code


@dataclass(frozen=True)
class Block:
    """One fenced block: its language, its text, and why it is not run, if it is not."""

    line: int
    language: str
    text: str
    not_run: str | None


def find_blocks(page: str) -> list[Block]:
    """All fenced blocks of a page that are not directives of the site."""
    found = []
    for match in FENCE.finditer(page):
        language = match["info"].strip()
        if not language.startswith("{"):
            reason = NOT_RUN.search(page, 0, match.start())
            line = page.count("\n", 0, match.start()) + 1
            found.append(Block(line, language, match["body"], reason and reason["reason"]))
    return found


def run_page(path: Path) -> None:
    """Run the page's blocks in the current folder; Python blocks share their names."""
    names: dict[str, Any] = {"__name__": "__main__"}
    for block in find_blocks(path.read_text()):
        if block.not_run is None and block.language == "python":
            code = compile("\n" * block.line + block.text, str(path), "exec")
            exec(code, names)
        elif block.not_run is None and block.language == "shell":
            with serving(block.text) as port:
                for words in commands(block.text):
                    run_command(words, port)


@contextmanager
def serving(text: str) -> Iterator[str]:
    """What `soel serve` in a block serves, on another port, while the block runs; gives the port."""
    call = next((words for words in commands(text) if words[0] == "serve"), None)
    if call is None:
        yield ""
        return
    call[call.index("--port") + 1] = "0"
    with subprocess.Popen([sys.executable, "-m", "soel", *call], stderr=subprocess.PIPE, text=True) as server:
        try:
            assert server.stderr is not None
            yield server.stderr.readline().strip().rpartition(":")[2]
        finally:
            server.terminate()


def commands(text: str) -> Iterator[list[str]]:
    """The calls of `soel` and curl in a shell block; other programs (pip, make) are not ours to run."""
    for line in text.replace("\\\n", " ").splitlines():
        words = shlex.split(line, comments=True)
        while words:
            end = words.index("&&") if "&&" in words else len(words)
            if words[0] in ("soel", "curl"):
                yield words[words[0] == "soel" : end]
            words = words[end + 1 :]


def run_command(words: list[str], port: str) -> None:
    """One call of `soel` or curl; before `soel tell`, the person of the story fills in the sheet."""
    if words[0] == "curl":
        words = [word.replace("localhost:8000", f"127.0.0.1:{port}") for word in map(os.path.expandvars, words)]
        subprocess.run([*words, "--fail-with-body", "--silent", "--show-error"], check=True)
    if words[0] in ("curl", "serve"):
        return
    if words[0] == "tell":
        fill_in(Path(words[2]))
    code = main(words)
    usual = (0, 3, 4) if words[0] == "watch" else (0,)  # its verdict is its code
    assert code in usual, f"`soel {shlex.join(words)}` ended with {code}"


def fill_in(sheet: Path) -> None:
    """Answer the questions of a sheet: the row with the largest first number is an anomaly, the others are normal."""
    with sheet.open(newline="") as file:
        rows = list(csv.DictReader(file))
    value = next(
        name for name in rows[0] if name not in ("item", "label", "note", "because") and is_number(rows[0][name])
    )
    largest = max(float(row[value]) for row in rows)
    for row in rows:
        row["label"] = "anomaly" if float(row[value]) == largest else "normal"
    with sheet.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def is_number(cell: str) -> bool:
    """Whether a cell of a sheet is a number."""
    try:
        float(cell)
    except ValueError:
        return False
    return True
