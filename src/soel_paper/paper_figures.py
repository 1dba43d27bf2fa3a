"""The figures that the paper printed, in per cent, each with the spread it was printed with."""

from __future__ import annotations

from collections.abc import Hashable, Mapping

Figures = Mapping[tuple[Hashable, ...], tuple[float, float]]
SHARES = (0.01, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45)

# By artefact: rows are data sets, columns methods or true shares of anomalies, cells a mean and its spread.
TEXT = """
table3 | Mar | Hybr1 | Pos1 | Pos2 | Rand1 | Rand2 | Hybr2 | Hybr3 | SOEL
breastw | 81.6 0.7 | 83.3 2.0 | 58.6 7.7 | 81.3 0.8 | 87.1 1.0 | 82.9 1.1 | 55.0 6.0 | 79.6 4.9 | 93.9 0.5
Ionosphere | 91.9 0.3 | 92.3 0.5 | 56.1 6.2 | 91.1 0.8 | 91.1 0.3 | 91.9 0.6 | 64.0 4.6 | 88.2 0.9 | 91.8 1.1
Pima | 50.1 1.3 | 49.2 1.9 | 48.5 0.4 | 52.4 0.8 | 53.6 1.1 | 51.9 2.0 | 53.8 4.0 | 48.4 0.7 | 55.5 1.2
satellite | 64.2 1.2 | 66.2 1.7 | 57.0 3.0 | 56.7 3.2 | 67.7 1.2 | 66.6 0.8 | 48.6 6.9 | 56.9 7.0 | 71.1 1.7

table2 | Mar | Hybr1 | Pos1 | Pos2 | Rand1 | Rand2 | Hybr2 | Hybr3 | SOEL
CIFAR-10 | 92.4 0.7 | 92.0 0.7 | 93.4 0.5 | 92.1 0.7 | 89.2 3.2 | 91.4 1.0 | 85.1 2.2 | 71.8 7.4 | 96.3 0.3
Fashion-MNIST | 93.1 0.4 | 92.6 0.4 | 92.2 0.6 | 89.3 1.0 | 84.0 3.8 | 90.6 1.1 | 88.7 1.4 | 82.6 4.3 | 94.8 0.6
Blood | 68.6 1.8 | 69.1 1.3 | 69.6 1.8 | 72.2 4.9 | 70.6 1.6 | 69.2 1.7 | 72.2 2.7 | 58.3 5.2 | 80.5 0.5
OrganA | 86.4 1.3 | 87.4 0.7 | 81.7 2.9 | 81.8 2.1 | 82.9 0.6 | 86.5 0.7 | 88.6 1.5 | 68.8 3.1 | 90.7 0.7
OrganC | 86.5 0.9 | 87.0 0.7 | 84.6 1.9 | 79.6 2.0 | 85.5 0.9 | 86.4 0.8 | 84.8 1.2 | 68.9 3.0 | 89.7 0.7
OrganS | 83.5 1.1 | 84.1 0.4 | 83.2 1.3 | 78.6 1.0 | 82.2 1.4 | 83.8 0.4 | 82.3 0.7 | 66.9 4.3 | 87.4 0.8
OCT | 64.4 3.7 | 63.3 1.8 | 63.8 4.4 | 63.0 4.0 | 59.7 1.9 | 62.1 4.3 | 63.0 7.6 | 56.2 4.5 | 68.5 3.4
Path | 82.7 2.4 | 86.0 1.1 | 77.5 2.0 | 80.2 3.5 | 83.2 1.6 | 83.9 2.9 | 86.1 2.0 | 75.1 4.2 | 88.1 1.1
Pneumonia | 72.1 7.0 | 75.1 5.3 | 75.5 8.8 | 83.6 6.1 | 68.1 5.9 | 76.0 8.0 | 88.4 3.3 | 63.4 17.7 | 91.2 1.4
Tissue | 60.2 1.5 | 61.3 1.7 | 65.8 1.7 | 63.5 2.0 | 59.9 1.7 | 59.5 1.3 | 62.1 1.7 | 50.8 1.6 | 66.4 1.4
Derma | 62.6 3.8 | 63.1 4.7 | 66.6 2.3 | 66.4 4.3 | 64.5 4.8 | 68.3 2.1 | 57.2 13.3 | 48.0 13.6 | 73.5 2.5

alpha | 0.01 | 0.05 | 0.1 | 0.15 | 0.2 | 0.25 | 0.3 | 0.35 | 0.4 | 0.45
CIFAR-10 | 0.5 1.2 | 6.0 3.3 | 12.0 4.4 | 15.3 4.5 | 18.9 5.4 | 26.2 6.0 | 30.6 5.5 | 35.8 6.9 | 42.0 7.7 | 47.2 6.7
Fashion-MNIST | 1.0 1.5 | 3.8 2.3 | 8.7 4.1 | 12.8 5.3 | 19.3 5.1 | 27.9 6.4 | 31.8 6.1 | 38.3 6.5 | 43.1 5.7 | 48.9 5.6

deep-svdd | SOEL on Deep SVDD | Hybr1 on Deep SVDD | Hybr2 on Deep SVDD
CIFAR-10 | 93.1 0.2 | 89.0 0.6 | 91.3 1.0
Fashion-MNIST | 91.4 0.5 | 90.9 0.4 | 82.5 2.9
Blood | 80.2 1.1 | 79.7 1.2 | 77.2 3.0
OrganA | 89.5 0.3 | 87.1 0.7 | 71.3 3.8
OrganC | 87.5 0.7 | 85.3 0.8 | 84.2 0.9
OrganS | 85.5 0.7 | 83.4 0.3 | 81.2 1.3

mhrot | SOEL on MHRot | Hybr1 on MHRot | Hybr2 on MHRot | LOE on MHRot | queries alone on MHRot
CIFAR-10 | 86.9 0.7 | 83.9 0.1 | 49.1 2.0 | 86.3 0.2 | 64.0 0.2
Fashion-MNIST | 92.6 0.1 | 87.1 0.2 | 58.9 5.7 | 91.2 0.4 | 91.5 0.1
Blood | 83.3 0.2 | 81.1 2.5 | 61.8 2.1 | - | -
OrganA | 96.5 0.3 | 94.1 0.3 | 61.1 4.8 | - | -
OrganC | 92.1 0.2 | 91.6 0.1 | 70.9 0.8 | - | -
OrganS | 89.3 0.2 | 88.3 0.3 | 68.2 0.1 | - | -

components | LOE | queries alone | SOEL
CIFAR-10 | 94.9 0.1 | 95.6 0.3 | 96.3 0.3
Fashion-MNIST | 92.5 0.1 | 94.3 0.2 | 94.8 0.4

tau | tau = 1 | tau = 0.1 | tau = 0.01 | tau = 0.001
CIFAR-10 | 93.2 1.7 | 94.5 0.8 | 96.3 0.3 | 95.9 0.4
Fashion-MNIST | 91.8 1.4 | 92.7 1.1 | 94.8 0.6 | 94.9 0.2

pseudo-labels | y = 1 | y = 0.875 | y = 0.75 | y = 0.625 | y = 0.5 | y = 0.25
CIFAR-10 | 95.3 0.6 | 95.7 0.4 | 95.8 0.4 | 96.0 0.5 | 96.3 0.3 | 94.5 0.3
Fashion-MNIST | 94.5 0.5 | 94.5 0.4 | 94.6 0.4 | 94.6 0.3 | 94.8 0.6 | 94.0 0.4

knn | kNN k=1 | kNN k=2 | kNN k=5 | kNN k=10 | kNN k=15 | kNN k=20 | SOEL
breastw | 84.3 7.6 | 86.5 3.1 | 89.9 3.9 | 90.7 3.4 | 92.5 2.1 | 91.9 1.5 | 93.9 0.5
Ionosphere | 88.1 1.3 | 87.6 2.6 | 84.5 3.9 | 75.2 2.5 | 70.4 3.6 | 67.4 3.4 | 91.8 1.1
Pima | 34.4 3.6 | 32.3 3.4 | 36.9 6.4 | 40.5 4.7 | 35.3 3.6 | 35.5 4.5 | 55.5 1.2
satellite | 51.0 1.1 | 53.5 0.7 | 54.7 1.3 | 57.4 1.8 | 59.3 1.3 | 61.1 2.2 | 71.1 1.7

clean-tables | NTL
Arrhythmia | 60.7 3.7
thyroid | 73.4 0.6
"""


def _read(block: str) -> dict[tuple[Hashable, ...], tuple[float, float]]:
    """The figures of one artefact, keyed by (row, column)."""
    (_, *columns), *rows = ([cell.strip() for cell in line.split("|")] for line in block.splitlines())
    found: dict[tuple[Hashable, ...], tuple[float, float]] = {}
    for row, *cells in rows:
        for column, cell in zip(columns, cells, strict=True):
            if cell != "-":
                mean, spread = map(float, cell.split())
                found[row, float(column) if column.startswith("0.") else column] = mean, spread
    return found


PRINTED: dict[str, Figures] = {block.partition(" ")[0]: _read(block) for block in TEXT.strip().split("\n\n")}
# The paper's kNN raised its alarms above the cut that marks a tenth of the pool; all other methods did not.
PRINTED["knn"] = {(*key, "f1" if key[1] == "SOEL" else "f1_pool_cut"): figure for key, figure in PRINTED["knn"].items()}
