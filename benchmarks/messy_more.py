"""More messy files, invented after the first ones were read well: what offices, laboratories and logs write."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.messy_items import COMMAS, N_ROWS, Items, Messy, circle, core, grouped, make_items, moments

NUMBERS = dict.fromkeys(("amount", "share", "weight", "count"), "number")


def make_more_files(folder: Path) -> list[Messy]:
    """All of them, written into the folder."""
    return [*_numbers(folder), *_times(folder), *_names(folder), *_structures(folder), *_missing_codes(folder)]


def _write(folder: Path, name: str, items: Items, changed: Mapping[str, Any], separator: str = ",") -> Path:
    """The four numbers with some columns changed or added."""
    plain = core(items, COMMAS if separator == ";" else None)
    pd.DataFrame(plain | dict(changed)).to_csv(folder / name, index=False, sep=separator)
    return folder / name


def _numbers(folder: Path) -> list[Messy]:
    items, whole = make_items(), np.arange(N_ROWS) % 4 == 0
    numbers, german = items.numbers, grouped(2, ".", ",")
    amount, share, _, count = numbers.T
    prices = np.where(whole, amount.round(), amount)
    prices_text = [f"{grouped(0, '.', ',')(x)},-" if w else german(x) for x, w in zip(prices, whole, strict=True)]
    low = np.quantile(share, 0.01)
    laboratory = {
        "share": [f"< {low:.1f}".replace(".", ",") if x < low else f"{x:.1f}".replace(".", ",") for x in share],
        "count": [f"{x:.0f} KBE/ml" for x in count],
    }
    limited = numbers.copy()
    limited[:, 1] = np.maximum(share, low.round(1))
    priced = numbers.copy()
    priced[:, 0] = prices
    return [
        Messy(_write(folder, "prices.csv", items, {"amount": prices_text}, ";"), priced, items.truth, NUMBERS),
        Messy(_write(folder, "laboratory.csv", items, laboratory, ";"), limited, items.truth, NUMBERS),
    ]


def _times(folder: Path) -> list[Messy]:
    items = make_items(by="hours")
    times, clean = moments(items), np.column_stack([items.numbers, circle(items)])
    forms = {
        "two_forms_of_dates": [
            t.strftime("%d.%m.%Y %H:%M" if row % 9 else "%Y-%m-%d %H:%M") for row, t in enumerate(times)
        ],
        "zones": [t.strftime("%Y-%m-%d %H:%M:%S CEST") for t in times],
        "spreadsheet_days": [f"{(t - pd.Timestamp('1899-12-30')) / pd.Timedelta(days=1):.6f}" for t in times],
    }
    return [
        Messy(_write(folder, f"{name}.csv", items, {"date": cells}), clean, items.truth, {"date": "time"})
        for name, cells in forms.items()
    ]


def _names(folder: Path) -> list[Messy]:
    items = make_items()
    draw = items.rng.integers
    names = {
        "iban": [" ".join([f"DE{draw(10, 99)}", *map(str, draw(1000, 9999, 4))]) for _ in range(N_ROWS)],
        "telephone": [f"+49 {draw(150, 180)} {draw(10**6, 10**7)}" for _ in range(N_ROWS)],
        "address": [".".join(map(str, draw(0, 255, 4))) for _ in range(N_ROWS)],
        "Belegnr": [5_100_000_000 + 7 * row for row in range(N_ROWS)],
    }
    path = _write(folder, "many_ids.csv", items, names)
    made = [Messy(path, items.numbers, items.truth, dict.fromkeys(names, "id"))]
    version = np.arange(N_ROWS) % 3
    texts = {"version": np.array(["1.2.3", "1.10.0", "2.0.1"])[version]}
    clean = np.column_stack([items.numbers, version[:, None] == np.arange(3)])
    made.append(Messy(_write(folder, "versions.csv", items, texts), clean, items.truth, {"version": "category"}))
    return made


def _structures(folder: Path) -> list[Messy]:
    items = make_items()
    frame = pd.DataFrame(core(items))
    half = N_ROWS // 2
    (folder / "put_together.csv").write_text(frame[:half].to_csv(index=False) + frame[half:].to_csv(index=False))
    lines = [", ".join(frame.columns), *(", ".join(row) for row in frame.to_numpy())]
    (folder / "blanks.csv").write_text("\n".join(lines) + "\n")
    (folder / "list.json").write_text(json.dumps(frame.to_dict("records")))
    nested = [
        {"order": {"amount": f"${a:,.2f}", "parcel": {"weight": w, "share": s}}, "count": c, "tags": ["a", "b"]}
        for a, s, w, c in items.numbers
    ]
    (folder / "records.jsonl").write_text("\n".join(map(json.dumps, nested)))
    kinds = {"order.amount": "number", "order.parcel.weight": "number", "count": "number", "tags": "constant"}
    names = ("put_together.csv", "blanks.csv", "list.json")
    made = [Messy(folder / name, items.numbers, items.truth, NUMBERS) for name in names]
    return [*made, Messy(folder / "records.jsonl", items.numbers, items.truth, kinds)]


def _missing_codes(folder: Path) -> list[Messy]:
    """Numbers where a value is missing, as stations, questionnaires and instruments write them."""
    items = make_items()
    gaps = items.rng.random(items.numbers.shape) < 0.05
    clean = np.where(gaps, np.nan, items.numbers)
    codes = {
        "nines.csv": (-9999.0, -999.0, -999.0, -99999.0),
        "station.parquet": (99999.0, 999.9, 999.0, 999999.0),
        "instrument.csv": (1e30, -1e30, 1e20, -1e31),
    }
    made = []
    for name, each in codes.items():
        table = pd.DataFrame(np.where(gaps, each, items.numbers), columns=[*NUMBERS])
        table.to_parquet(folder / name) if name.endswith("parquet") else table.to_csv(folder / name, index=False)
        made.append(Messy(folder / name, clean, items.truth, NUMBERS))
    return made
