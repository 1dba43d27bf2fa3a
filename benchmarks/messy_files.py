"""Messy files, each with its truth: the same items as a careless colleague would write them, and cleaned by hand.

The core of every file is a handful of correlated numbers, of which the anomalies break the correlation; what is special
about a file (a time, a note, a name) carries anomalies of its own, so that reading it wrongly costs something.
"""

from __future__ import annotations

import gzip
import json
import uuid
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.messy_items import (
    COMMAS,
    N_ROWS,
    Items,
    Messy,
    Write,
    around,
    circle,
    core,
    grouped,
    make_items,
    moments,
    plain,
)
from benchmarks.messy_more import make_more_files

NARROW = "\u202f"

STYLES: dict[str, tuple[Mapping[str, Write], str]] = {
    "plain": ({}, ","),
    "decimal_commas": (COMMAS, ";"),
    "dollars": ({"amount": around("$", grouped(2, ",", "."), ""), "count": grouped(0, ",", ".")}, ","),
    "euros": (COMMAS | {"amount": around("", grouped(2, ".", ","), " €"), "count": grouped(0, ".", ",")}, ";"),
    "percent": ({"share": around("", plain(1), " %"), "count": grouped(0, ",", ".")}, ","),
    "swiss": ({"amount": around("CHF ", grouped(2, "'", "."), ""), "count": grouped(0, "'", ".")}, ","),
    "french": (COMMAS | {"amount": grouped(2, NARROW, ","), "count": grouped(0, NARROW, ",")}, "\t"),
    "kilograms": ({"weight": around("", plain(2), " kg"), "amount": around("", plain(2), " EUR")}, ","),
    "accounts": ({"weight": lambda x: f"{x - 70:.2f}" if x >= 70 else f"({70 - x:.2f})"}, ","),
    "minus_behind": ({"weight": lambda x: f"{abs(x - 70):.2f}{'-' if x < 70 else ''}"}, ","),
    "scientific": ({"amount": lambda x: f"{x:.6E}", "count": lambda x: f"{x:.4E}"}, ","),
}


def _frame(items: Items, extra: Mapping[str, Any] | None = None) -> pd.DataFrame:
    return pd.DataFrame(core(items) | dict(extra or {}), dtype=object)


WORDS = ("order", "parcel", "arrived", "late", "again", "please", "call", "back", "customer", "about", "invoice")


def _note(items: Items, row: int) -> str:
    return " ".join(items.rng.choice(WORDS, int(items.lengths[row])))


def make_files(folder: Path) -> list[Messy]:
    """All files, written into the folder."""
    first = [*_styled(folder), *_timed(folder), *_worded(folder), *_packed(folder), *_framed(folder)]
    return [*first, *make_more_files(folder)]


def _styled(folder: Path) -> list[Messy]:
    made = []
    for name, (writers, separator) in STYLES.items():
        items = make_items()
        path = folder / f"{name}.csv"
        pd.DataFrame(core(items, writers)).to_csv(path, index=False, sep=separator)
        kinds = dict.fromkeys(("amount", "share", "weight", "count"), "number")
        made.append(Messy(path, items.numbers, items.truth, kinds))
    items = make_items()
    frame = _frame(items)
    gaps = items.rng.random(frame.shape) < 0.08
    words: Any = items.rng.choice(["n/a", "-", "?", "", "k.A.", "#N/A"], frame.shape)
    frame.mask(gaps, words).to_csv(folder / "gaps.csv", index=False)
    clean = np.where(gaps, np.nan, items.numbers)
    made.append(Messy(folder / "gaps.csv", clean, items.truth, {"amount": "number", "count": "number"}))
    return made


TIMES: dict[str, Callable[[pd.Timestamp], Any]] = {
    "german_times": lambda t: t.strftime("%d.%m.%Y %H:%M:%S"),
    "american_times": lambda t: t.strftime("%m/%d/%Y %I:%M:%S %p"),
    "iso_times": lambda t: t.strftime("%Y-%m-%dT%H:%M:%SZ"),
    "named_months": lambda t: t.strftime("%d %b %Y %H:%M:%S"),
    "seconds_since_1970": lambda t: int(t.timestamp()),
    "clocks": lambda t: t.strftime("%H:%M:%S"),
}


def _timed(folder: Path) -> list[Messy]:
    made = []
    for name, write in TIMES.items():
        items = make_items(by="hours")
        column = "created_at"
        _frame(items, {column: [write(t) for t in moments(items)]}).to_csv(folder / f"{name}.csv", index=False)
        clean = np.column_stack([items.numbers, circle(items)])
        made.append(Messy(folder / f"{name}.csv", clean, items.truth, {column: "time"}))
    items = make_items(by="hours")
    seconds = np.round(60 * items.lengths + 13.0)
    for name, write_length in LENGTHS.items():
        _frame(items, {"took": [write_length(int(s)) for s in seconds]}).to_csv(folder / f"{name}.csv", index=False)
        clean = np.column_stack([items.numbers, seconds])
        made.append(Messy(folder / f"{name}.csv", clean, items.truth, {"took": "duration"}))
    items = make_items(by="hours")
    year = [
        t + pd.Timedelta(days=int(d)) for t, d in zip(moments(items), items.rng.integers(0, 350, N_ROWS), strict=True)
    ]
    _frame(items, {"when": [TIMES["german_times"](t) for t in year]}).to_csv(
        folder / "a_year_of_times.csv", index=False
    )
    clean = np.column_stack([items.numbers, circle(items)])
    made.append(Messy(folder / "a_year_of_times.csv", clean, items.truth, {"when": "time"}))
    items = make_items()
    dates = [int(t.strftime("%Y%m%d")) for t in moments(items)]
    _frame(items, {"day": dates}).to_csv(folder / "compact_days.csv", index=False)
    clean = np.column_stack([items.numbers, np.array(dates) % 100])
    made.append(Messy(folder / "compact_days.csv", clean, items.truth, {"day": "time"}))
    return made


LENGTHS: dict[str, Callable[[int], str]] = {
    "clock_lengths": lambda s: f"{s // 3600}:{s // 60 % 60:02d}:{s % 60:02d}",
}


def _worded(folder: Path) -> list[Messy]:
    made = []

    def add(
        name: str, extra: Mapping[str, Any], more: np.ndarray | None, kinds: Mapping[str, str], items: Items
    ) -> None:
        frame = _frame(items, extra)
        frame[[*extra, *(c for c in frame if c not in extra)]].to_csv(folder / f"{name}.csv", index=False)
        clean = items.numbers if more is None else np.column_stack([items.numbers, more])
        made.append(Messy(folder / f"{name}.csv", clean, items.truth, kinds))

    items = make_items()
    add("codes", {"order": [f"ORD-{row * 37:06d}" for row in range(N_ROWS)]}, None, {"order": "id"}, items)
    keys = [str(uuid.UUID(bytes=items.rng.bytes(16))) for _ in range(N_ROWS)]
    add("uuids", {"guid": keys}, None, {"guid": "id"}, items)
    add("row_numbers", {"Unnamed: 0": list(range(N_ROWS))}, None, {"Unnamed: 0": "id"}, items)
    # Codes are categories, so by hand they become one column each; whoever knows that they say nothing leaves them out.
    branch = np.arange(N_ROWS) % 7
    codes = {"branch": [f"{each:04d}" for each in branch]}
    add("zeros_in_front", codes, branch[:, None] == np.arange(7), {"branch": "category"}, items)
    constant = {"site": ["Ulm"] * N_ROWS, "nothing": [""] * N_ROWS}
    add("constant_and_empty", constant, None, {"site": "constant", "nothing": "ignored"}, items)
    items = make_items(by="hours")
    notes = [f"{_note(items, row)} {row}" for row in range(N_ROWS)]
    add("notes", {"memo": notes}, np.log1p(items.lengths), {"memo": "text"}, items)
    items = make_items(by="hours")
    urgent = np.where(items.truth, items.rng.random(N_ROWS) < 0.9, items.rng.random(N_ROWS) < 0.05)
    add("yes_and_no", {"express": np.where(urgent, "ja", "nein")}, urgent, {"express": "flag"}, items)
    items = make_items(by="hours")
    usual = items.rng.choice([f"Firma {n}" for n in range(40)], N_ROWS)
    names = np.where(items.truth, [f"Neu {row} GmbH" for row in range(N_ROWS)], usual)
    counts = pd.Series(names).map(pd.Series(names).value_counts()).to_numpy()
    add("names", {"supplier": names}, np.log(counts), {"supplier": "category"}, items)
    return made


def _packed(folder: Path) -> list[Messy]:
    items = make_items()
    kinds = {"amount": "number"}
    frame = pd.DataFrame(core(items, COMMAS)).rename(columns={"weight": "größe"})
    (folder / "latin.csv").write_bytes(frame.to_csv(index=False, sep=";").encode("latin-1"))
    (folder / "sixteen.tsv").write_bytes(frame.to_csv(index=False, sep="\t").encode("utf-16"))
    (folder / "packed.csv.gz").write_bytes(gzip.compress(frame.to_csv(index=False, sep=";").encode()))
    rows = pd.DataFrame(core(items, STYLES["dollars"][0])).to_dict("records")
    (folder / "lines.jsonl").write_text("\n".join(json.dumps(row) for row in rows))
    names = ("latin.csv", "sixteen.tsv", "packed.csv.gz", "lines.jsonl")
    return [Messy(folder / name, items.numbers, items.truth, kinds) for name in names]


def _framed(folder: Path) -> list[Messy]:
    """Files with more than the table in them, as banks, loggers, spreadsheets and laboratories write them."""
    items = make_items()
    kinds = dict.fromkeys(("amount", "share", "weight", "count"), "number")
    german = pd.DataFrame(core(items, STYLES["euros"][0])).to_csv(index=False, sep=";")
    names, rows = pd.DataFrame(core(items)).to_csv(index=False).split("\n", 1)
    bars = "".join(f"|{line.replace(',', '|')}|\n" for line in rows.splitlines())
    low = items.numbers[:, 1].min()
    limit = pd.DataFrame(core(items, {"share": lambda x: f"<{low:.1f}" if x == low else f"{x:.1f}"}))
    texts = {
        "bank.csv": f'"Konto";"DE12 3456"\n\n"Stand vom 31.01.2025:";"4.321,00 EUR"\n\n{german}\n',
        "logger.csv": f"# logger 4711\n# start 2024-03-01\n{names}\n(EUR),(%),(kg),(-)\n{rows}",
        "bars.txt": f"|{names.replace(',', '|')}|\n|---|---|---|---|\n{bars}",
        "spreadsheet.csv": f"sep=;\n{german}",
        "remarks.csv": f"Report for March\n{names}\n{rows}\n",
        "limits.csv": limit.to_csv(index=False),
    }
    for name, text in texts.items():
        (folder / name).write_text(text)
    with pd.ExcelWriter(folder / "sheet.xlsx") as book:
        table = pd.DataFrame(items.numbers, columns=["amount", "share", "weight", "count"])
        table.to_excel(book, index=False, startrow=3)
        book.sheets["Sheet1"]["A1"] = "All parcels of March"
        book.sheets["Sheet1"].merge_cells("A1:D1")
    return [Messy(folder / name, items.numbers, items.truth, kinds) for name in (*texts, "sheet.xlsx")]


def careless(table: Path, folder: Path, seed: int = 0, n_rows: int = 1500) -> Messy:
    """A real table of numbers as somebody's export: German numbers, units, an id, a memo, words for what is missing."""
    with np.load(table) as arrays:
        x, truth = np.asarray(arrays["X"], float), np.asarray(arrays["y"]).astype(bool)
    rng = np.random.default_rng(seed)
    rows = np.sort(rng.choice(len(x), min(n_rows, len(x)), replace=False))
    x, truth = x[rows], truth[rows]
    columns: dict[str, Any] = {"Beleg-Nr": [f"B{row * 13:07d}" for row in range(len(x))]}
    for at in range(x.shape[1]):
        digits = 0 if (x[:, at] % 1 == 0).all() else 6
        write = grouped(digits, ".", ",")
        unit = ("", " %", " kg", " €")[at % 4]
        columns[f"Größe {at}"] = [write(value) + unit for value in x[:, at]]
    columns["Werk"] = ["Ulm"] * len(x)
    path = folder / f"{table.stem}.csv"
    path.write_bytes(pd.DataFrame(columns).to_csv(index=False, sep=";").encode("windows-1252"))
    return Messy(path, x.round(6), truth, {"Beleg-Nr": "id", "Größe 0": "number", "Werk": "constant"})
