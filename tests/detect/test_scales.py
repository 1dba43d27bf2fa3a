"""Coarser and finer layers side by side: each sees what the other does not, and labels say which to believe."""

from __future__ import annotations

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from soel.assess.metrics import auroc
from soel.detect import places
from soel.detect.patches import Patches
from soel.detect.places import whiten
from soel.detect.scales import COARSE, Scales, _share_out
from soel.types import Floats, Labels
from tests.detect.test_patches import PLACES, Mapped, nothing, pictures

N, N_DEFECTIVE = 200, 15
TRUTH = np.arange(N) < N_DEFECTIVE


def both(coarse_defects: int, fine_defects: int) -> Floats:
    """Patches (N, PLACES, COARSE + 6) of which so many pictures have a defect at each scale."""
    coarse = np.zeros((N, PLACES, COARSE), np.float16)
    coarse[..., :6] = pictures(N, 0, coarse_defects)
    return np.concatenate([coarse, pictures(N, 1, fine_defects)], axis=2)


def labels_of(anomalies: tuple[int, ...], normals: tuple[int, ...]) -> Labels:
    labels = nothing(N)
    labels[list(anomalies)], labels[list(normals)] = 1, 0
    return labels


@pytest.mark.parametrize(("coarse", "fine"), [(N_DEFECTIVE, 0), (0, N_DEFECTIVE)])
def test_a_defect_at_either_scale_is_found_and_pointed_at(coarse: int, fine: int) -> None:
    x = both(coarse, fine)
    detector = Scales.fit(x, nothing(N), 0)
    assert detector.shares.tolist() == pytest.approx([2 / 3, 1 / 3])
    found = auroc(TRUTH, detector.score(x))
    silent = detector.parts[0 if fine else 1].score(x[..., :COARSE] if fine else x[..., COARSE:])
    assert found > 0.85
    assert found > auroc(TRUTH, silent) + 0.25
    assert detector.maps(x)[:N_DEFECTIVE].argmax(axis=1).tolist() == (np.arange(N_DEFECTIVE) % PLACES).tolist()
    above = detector.maps(x) > detector.limit
    assert above[np.arange(N_DEFECTIVE), np.arange(N_DEFECTIVE) % PLACES].all()
    assert above[N_DEFECTIVE:].any(axis=1).mean() < 0.2


def test_labels_say_which_scale_to_believe() -> None:
    x = both(0, N_DEFECTIVE)
    x[100:115, 3, 0] += 3  # harmless, and loud to the coarser layers
    detector = Scales.fit(x, labels_of((0, 1, 2, 3), (100, 101, 102, 103)), 0)
    coarse, fine = detector.shares
    assert coarse < 0.2
    assert coarse + fine == pytest.approx(1)
    assert detector.trust > Scales.fit(x, nothing(N), 0).trust
    free = np.r_[4:100, 104:N]
    assert auroc(TRUTH[free], detector.score(x)[free]) > 0.99


def test_shares_by_hand() -> None:
    assert _share_out([3.0, 2.0]).tolist() == [0.75, 0.25]
    assert _share_out([0.0, 2.0]).tolist() == [0, 1]
    assert _share_out([0.0, 0.0]).tolist() == pytest.approx([2 / 3, 1 / 3])
    assert _share_out([5.0]).tolist() == [1]


def test_scores_and_maps_are_weighted_means_of_both_parts() -> None:
    x = both(N_DEFECTIVE, N_DEFECTIVE)
    detector = Scales.fit(x, labels_of((0, 1), (50, 60)), 0)
    parts = list(zip(detector.shares, detector.parts, (x[..., :COARSE], x[..., COARSE:]), strict=True))
    scores = sum(share * part.score(own) for share, part, own in parts)
    np.testing.assert_allclose(detector.score(x), (scores - detector.middle) / detector.spread, rtol=1e-4, atol=1e-4)
    maps = sum(share * part.maps(own) / part.limit for share, part, own in parts)
    np.testing.assert_allclose(detector.maps(x), maps, rtol=1e-4)
    free = detector.score(x)[2:]
    assert abs(free.mean()) < 0.1
    assert detector.space(x).shape == (N, x.shape[2])


def test_patches_without_finer_layers_are_judged_as_before() -> None:
    x = pictures(N, 0, N_DEFECTIVE)
    detector, plain = Scales.fit(x, nothing(N), 0), Patches.fit(x, nothing(N), 0)
    assert len(detector.parts) == 1
    np.testing.assert_allclose(detector.score(x), plain.score(x), rtol=1e-3, atol=1e-3)
    assert detector.trust == pytest.approx(plain.trust)


def test_a_whole_pool_is_scored_from_its_file_and_not_copied() -> None:
    x = both(3, 3)
    detector = Scales.fit(x, nothing(N), 0)
    np.testing.assert_array_equal(detector.score(x.view(Mapped)), detector.score(x))


def test_two_parts_come_back_from_their_arrays() -> None:
    x = both(3, 3)
    detector = Scales.fit(x, labels_of((0,), (50,)), 0)
    again = Scales.from_arrays(detector.arrays())
    np.testing.assert_array_equal(again.score(x), detector.score(x))
    np.testing.assert_array_equal(again.maps(x), detector.maps(x))
    assert again.trust == detector.trust


def test_the_matrix_library_uses_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: set[int] = set()

    def spy(*args: Floats) -> Floats:
        seen.update(pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas")
        return whiten(*args)

    monkeypatch.setattr(places, "whiten", spy)
    x = both(1, 1)
    with threadpool_limits(3, user_api="blas"):
        Scales.fit(x, nothing(N), 0).maps(x)
    assert seen == {1}
