"""Ranks in files are those of sorting everything at once, whatever the ties and however little is sorted at a time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from soel.scoring import scored_parts as ranking
from soel.scoring.score import rank
from soel.scoring.scored_parts import write_ranks, write_scores


def ranks_of(folder: Path, scores: np.ndarray) -> list[int]:
    kept = write_scores(folder / "scores", np.array_split(scores, 3))
    assert np.array_equal(kept, scores)
    ranks = write_ranks(folder / "ranks", kept)
    return [int(each) for each in ranks]


def expected(scores: np.ndarray) -> list[int]:
    return [int(each) for each in rank(scores)]


@settings(max_examples=60, deadline=None)
@given(values=st.lists(st.sampled_from([-2.5, -1.0, 0.0, 0.5, 0.5000001, 3.0]), min_size=1, max_size=60))
def test_ties_are_ranked_in_row_order(values: list[float], tmp_path_factory: pytest.TempPathFactory) -> None:
    folder, scores = tmp_path_factory.mktemp("ranks"), np.array(values)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ranking, "BUCKET_ROWS", 7)
        patch.setattr(ranking, "CHUNK_ROWS", 5)
        patch.setattr(ranking, "_SAMPLE_ROWS", 9)
        assert ranks_of(folder, scores) == expected(scores)


@pytest.mark.parametrize("kind", ["normal", "rising", "falling", "equal"])
def test_many_scores(tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranking, "BUCKET_ROWS", 1000)
    monkeypatch.setattr(ranking, "CHUNK_ROWS", 777)
    made = {
        "normal": np.random.default_rng(0).normal(size=20_000),
        "rising": np.arange(20_000.0),
        "falling": -np.arange(20_000.0),
        "equal": np.zeros(20_000),
    }
    assert ranks_of(tmp_path, made[kind]) == expected(made[kind])


def test_only_a_bucket_is_sorted_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranking, "BUCKET_ROWS", 1000)
    sizes: list[int] = []
    sort = np.argsort

    def watched(x: np.ndarray, **options: Any) -> np.ndarray:
        sizes.append(len(x))
        return sort(x, **options)

    monkeypatch.setattr(np, "argsort", watched)
    ranks_of(tmp_path, np.random.default_rng(0).normal(size=50_000).round(2))
    assert 0 < max(sizes) < 1500
