"""The extractors that can be had without a download keep the kit's laws."""

from __future__ import annotations

from pathlib import Path

import pytest

from soel.images.extractors import OwnExtractor
from soel.images.onnx_extractor import OnnxExtractor
from soel.testing import EXTRACTOR_LAWS
from soel.testing.laws import Law
from soel.testing.scoring_laws import MakeExtractor
from tests.images.makers import ColourExtractor, residual_network


@pytest.mark.parametrize("law", EXTRACTOR_LAWS)
def test_laws_of_a_callable(law: Law[MakeExtractor]) -> None:
    law(lambda: OwnExtractor(lambda picture: picture.mean(axis=(0, 1)), size=16))
    law(ColourExtractor)


@pytest.mark.parametrize("law", EXTRACTOR_LAWS)
def test_laws_of_an_onnx_file(law: Law[MakeExtractor], tmp_path: Path) -> None:
    network = residual_network(tmp_path / "net.onnx")
    law(lambda: OnnxExtractor(network))
