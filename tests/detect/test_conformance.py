"""Every detector in the registry keeps the kit's laws. A new one joins by its registry entry."""

from __future__ import annotations

import pytest

from soel.detect import DETECTORS
from soel.testing import DETECTOR_LAWS
from soel.testing.laws import Law
from soel.testing.scoring_laws import DetectorClass


@pytest.mark.parametrize("law", DETECTOR_LAWS)
@pytest.mark.parametrize("name", list(DETECTORS))
def test_laws(name: str, law: Law[DetectorClass]) -> None:
    law(DETECTORS.get(name))


@pytest.mark.parametrize("name", list(DETECTORS))
def test_a_detector_has_the_name_of_its_entry(name: str) -> None:
    assert DETECTORS.get(name).name == name
