"""Pictures that a browser sent stay, whenever the process that takes them in dies."""

from __future__ import annotations

import io
import os
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from soel.errors import DataError
from soel.session import Session, SessionOptions, create
from soel.session.check import check_session
from soel.session.pictures import open_media
from soel.session.uploads import Uploads, add_upload
from tests.images.media.conftest import colours

__all__ = ["colours"]
FIRST, SECOND = "1" * 16, "2" * 16
pytestmark = pytest.mark.usefixtures("colours")


def picture(seed: int) -> bytes:
    content = io.BytesIO()
    pixels = np.random.default_rng(seed).integers(0, 255, (24, 24, 3))
    Image.fromarray(pixels.astype(np.uint8)).save(content, "png")
    return content.getvalue()


@pytest.fixture
def session(tmp_path: Path) -> Session:
    (tmp_path / "pictures").mkdir()
    for seed in range(6):
        (tmp_path / "pictures" / f"{seed}.png").write_bytes(picture(seed))
    return create.create_session(tmp_path / "s", tmp_path / "pictures", SessionOptions(budget=2))


def damaged(session: Session) -> list[str]:
    return [finding.name for finding in check_session(session.folder.path) if finding.is_whole is False]


def test_a_worker_that_dies_after_the_event_loses_no_picture(session: Session) -> None:
    uploads = Uploads(session.folder.path)
    uploads.write(FIRST, "new.png", 0, picture(9))
    child = os.fork()
    if child == 0:
        with closing(create.open_session(session.folder.path)) as own:
            append = own._store.append

            def die(events: object) -> None:
                append(events)  # type: ignore[arg-type]
                os._exit(0)

            own._store.append = die  # type: ignore[method-assign,assignment]
            add_upload(own, FIRST, False, "owner")
        os._exit(1)
    assert os.waitpid(child, 0)[1] == 0
    assert len(session.ids) == 7
    uploads.write(SECOND, "newer.png", 0, picture(10))
    media = open_media(session.folder)
    assert media is not None
    assert media.picture(session.ids[-1]).shape == (24, 24, 3)
    assert damaged(session) == []


def test_pictures_that_were_refused_give_way(session: Session, tmp_path: Path) -> None:
    uploads = Uploads(session.folder.path)
    uploads.write(FIRST, "again.png", 0, picture(0))
    with pytest.raises(DataError, match="already"):
        add_upload(session, FIRST, False, "owner")
    uploads.write(SECOND, "b.png", 0, picture(10))
    assert [path.name for path in (session.folder.path / "uploads").iterdir()] == [SECOND]


def test_a_check_notices_pictures_that_are_gone(session: Session, tmp_path: Path) -> None:
    assert damaged(session) == []
    (tmp_path / "pictures" / "3.png").unlink()
    assert damaged(session) == ["pictures of pool 1"]
