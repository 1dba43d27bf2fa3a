"""The generated sets and the figures over pixels."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from benchmarks.cell_files import read_cells
from benchmarks.patches.cells import Cell
from benchmarks.patches.command import summarise
from benchmarks.patches.defects import BOARD_DEFECTS, DEFECTS
from benchmarks.patches.pixels import aupro, pixel_figures
from benchmarks.patches.sets import N_NORMAL, Pictures, make_picture, split
from benchmarks.patches.textures import FAMILIES, SIDE

from soel.images.grids import Grid
from soel.images.source import image_array


@pytest.mark.parametrize("family", list(FAMILIES))
def test_pictures_are_the_same_each_time_and_differ_from_one_another(family: str) -> None:
    picture, mask = make_picture(family, 0)
    assert picture.shape == (SIDE, SIDE, 3)
    assert not mask.any()
    np.testing.assert_array_equal(make_picture(family, 0)[0], picture)
    assert (make_picture(family, 1)[0] != picture).mean() > 0.5


@pytest.mark.parametrize("family", list(FAMILIES))
def test_defects_change_what_their_mask_says_and_nothing_else(family: str) -> None:
    for spoil in (BOARD_DEFECTS if family == "board" else DEFECTS).values():
        surface = FAMILIES[family](np.random.default_rng(3))
        spoiled, mask = spoil(np.random.default_rng(4), surface)
        changed = np.abs(spoiled - surface).max(axis=2) > 0.08
        assert 0.0002 < mask.mean() < 0.03
        assert (mask[changed]).mean() > 0.9


def test_a_fifth_of_the_generated_pictures_is_defective() -> None:
    assert make_picture("weave", N_NORMAL)[1].any()
    assert make_picture("weave", N_NORMAL + 1)[1].any()


def test_a_split_is_a_pool_with_a_tenth_of_anomalies_and_other_pictures_to_judge_by() -> None:
    truth = np.arange(1000) < 300
    source = image_array("X", np.zeros((1000, 4, 4), np.uint8))
    pictures = Pictures(source, truth, n_pool=200, n_test=(100, 50))
    parts = split(pictures, 0)
    assert (truth[parts.pool].sum(), len(parts.pool)) == (20, 200)
    assert (truth[parts.test].sum(), len(parts.test)) == (50, 150)
    assert not set(parts.pool) & set(parts.test)
    among = np.arange(1000) % 2 == 0
    fewer = split(Pictures(source, truth, None, 200, (100, 50), among), 0)
    assert among[fewer.pool].all()
    assert among[fewer.test].all()
    groups = np.array([str(row // 5) for row in range(1000)])
    apart = split(Pictures(source, truth, None, 200, (100, 50), None, groups), 0)
    assert not set(groups[apart.pool]) & set(groups[apart.test])


def test_maps_that_point_at_the_defects_have_full_marks() -> None:
    masks = np.zeros((2, 64, 64), bool)
    masks[0, 10:20, 30:40] = masks[1, 50:60, 5:12] = True
    scores = masks.astype(float) + 0.1 * np.random.default_rng(0).random(masks.shape)
    assert aupro(scores, masks) > 0.97
    assert aupro(-scores, masks) < 0.1
    assert abs(aupro(np.random.default_rng(0).random(masks.shape), masks) - 0.15) < 0.05
    grid = masks.reshape(2, 16, 4, 16, 4).mean(axis=(2, 4)).reshape(2, -1)
    area, regions = pixel_figures(grid, np.repeat(np.repeat(masks, 2, axis=1), 2, axis=2), Grid(16, 16))
    assert area > 0.98
    assert regions > 0.9


def test_cells_are_read_again_and_told_in_a_table(tmp_path: Path) -> None:
    cells = [
        Cell("weave", draw, way, n, value, 0.5, 0.4, 1, draw == 0, None, None, 1.0)
        for way, n, value in (("global", 0, 0.9), ("global", 10, 0.85), ("both", 0, 0.95))
        for draw in (0, 1)
    ]
    path = tmp_path / "cells.jsonl"
    path.write_text("".join(json.dumps(vars(cell)) + "\n" for cell in cells) + '{"name": "half')
    assert read_cells(path, Cell) == cells
    text = summarise(cells, ["weave"], [0, 10])
    assert "| weave | 10 | global | 85.0 | 50.0 | 40.0 |  |  | 1.0 | 1/2 | 1.0 |" in text
    assert "global: 10 answers left 2 of 2 draws more than two points below none" in text
