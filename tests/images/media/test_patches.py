"""Sessions that look at places: patches are kept with them, counted in scores, and asked for by size or by word."""

from __future__ import annotations

import json
import re
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from soel import SOEL
from soel.detect.patches import Patches
from soel.errors import ConfigError, DamagedError, DataError, SchemaError
from soel.images import image_rows, picture_pool
from soel.images.grids import Grid
from soel.images.picture_pool import MediaOptions
from soel.images.views import MOST_EVER, choose_shape
from soel.report.facts import gather_report
from soel.report.page import write_report
from soel.session import Session, SessionOptions, create, score_file
from soel.session.check import check_session
from soel.session.growth import add_data, remove_items
from soel.session.marks import Mark, Region
from soel.session.pictures import SessionMaps, _about_view, media_summary
from soel.session.score_file import find_patches, write_maps
from tests.images.makers import ColourExtractor
from tests.images.test_patches import PlaceExtractor
from tests.session.again import differing


@pytest.fixture(autouse=True)
def _places(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(picture_pool, "open_extractor", lambda which: PlaceExtractor())
    monkeypatch.setenv("SOEL_CACHE", str(tmp_path / "cache"))


def make_pictures(folder: Path, n: int = 40, side: int = 80, first: int = 0) -> Path:
    """Grey pictures; the first three have a bright lower right quarter."""
    folder.mkdir(parents=True)
    for number in range(n):
        rng = np.random.default_rng(first + number)
        picture = np.clip(100 + rng.normal(0, 12, (side, side, 3)) + rng.normal(0, 6), 0, 255)
        if number < 3:
            picture[side // 2 :, side // 2 :] += 70
        Image.fromarray(picture.astype(np.uint8)).save(folder / f"{number:02d}.png")
    return folder


def make_session(tmp_path: Path, patches: str = "auto", side: int = 80) -> Session:
    data = make_pictures(tmp_path / "pictures", side=side)
    options = SessionOptions(budget=4)
    return create.create_session(tmp_path / "s", data, options, media=MediaOptions(patches=patches))


def ask_and_fit(session: Session, n: int) -> tuple[str, ...]:
    """Questions answered by the truth, and a fit; returns what was asked."""
    asked = tuple(session.ask(n).items)
    session.tell({item: "anomaly" if session.ids.index(item) < 3 else "normal" for item in asked})
    session.fit()
    return asked


def test_scores_count_places_in_the_pool_and_in_new_pictures(tmp_path: Path) -> None:
    with closing(make_session(tmp_path)) as session:
        assert session.folder.patches is not None
        assert session.folder.patches.shape[:2] == (40, 4)
        ask_and_fit(session, 4)
        model = session.fitted()[1]
        assert model.patches is not None
        own = score_file.score_file(session, None, tmp_path / "own.csv")
        assert {row["file"] for row in own["top"][:3]} == {"00.png", "01.png", "02.png"}
        new = score_file.score_file(session, make_pictures(tmp_path / "new", 12, first=500), tmp_path / "new.csv")
        assert {row["file"] for row in new["top"][:3]} == {"00.png", "01.png", "02.png"}
        assert all(finding.is_whole for finding in check_session(session.folder.path))


def test_patches_that_changed_are_refused(tmp_path: Path) -> None:
    with closing(make_session(tmp_path)) as session:
        path = session.folder.path / "patches.npy"
    content = bytearray(path.read_bytes())
    content[-9] ^= 1
    path.write_bytes(content)
    with closing(create.open_session(tmp_path / "s")) as again, pytest.raises(DamagedError, match=r"patches\.npy"):
        again.ask(2)


@pytest.mark.parametrize(("side", "said", "looks"), [(80, "auto", True), (40, "auto", False), (40, "yes", True)])
def test_size_or_word_decides(tmp_path: Path, side: int, said: str, looks: bool) -> None:
    with closing(make_session(tmp_path, said, side)) as session:
        assert (session.folder.patches is not None) == looks
        assert (session.folder.media_note["view"] is not None) == looks
        assert ("Places" in media_summary(session.folder.path)["chosen"]) == looks


def test_an_extractor_without_places_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(picture_pool, "open_extractor", lambda which: ColourExtractor())
    with closing(make_session(tmp_path)) as session:
        assert session.folder.patches is None
    with pytest.raises(ConfigError, match="colours has no middle layers"):
        create.create_session(tmp_path / "t", tmp_path / "pictures", media=MediaOptions(patches="yes"))
    with pytest.raises(ConfigError, match="auto, yes, no"):
        create.create_session(tmp_path / "t", tmp_path / "pictures", media=MediaOptions(patches="some"))


def test_a_profile_that_does_not_look_at_places_takes_none(tmp_path: Path) -> None:
    data = make_pictures(tmp_path / "pictures", 6)
    with closing(create.create_session(tmp_path / "s", data, SessionOptions(profile="paper", budget=2))) as session:
        assert session.folder.patches is None


@pytest.mark.parametrize(
    ("media", "shape", "says"),
    [
        (MediaOptions(), [80, 160], "in pictures of 160 x 80 pixels"),
        (MediaOptions(resolution=64), [64, 128], "100 % of the pictures are larger and were shrunk"),
        (MediaOptions(resolution=500), [80, 160], "in pictures of 160 x 80 pixels"),
        (MediaOptions(region="0,0,80,80"), [80, 80], "80 x 80 pixels within the region"),
        (MediaOptions(patches="no"), None, "Only the middle 50 % of a picture is looked at; <<patches=yes>>"),
    ],
)
def test_it_is_said_what_of_pictures_is_looked_at(
    tmp_path: Path, media: MediaOptions, shape: list[int] | None, says: str
) -> None:
    folder = make_pictures(tmp_path / "pictures", 12)
    for path in folder.iterdir():
        Image.open(path).resize((160, 80)).save(path)
    with closing(create.create_session(tmp_path / "s", folder, SessionOptions(budget=2), media=media)) as session:
        view = session.folder.media_note["view"]
        assert (None if view is None else view["shape"]) == shape
        assert says in media_summary(tmp_path / "s")["chosen"]


@pytest.mark.parametrize("shape", [(1800, 2600), (3000, 4000), (9000, 9000), (100, 60000)])
def test_the_resolution_that_is_advised_is_taken_and_looks_at_more(shape: tuple[int, int]) -> None:
    said = _about_view([shape], choose_shape([shape]), None)
    (side,) = re.findall(r"<<resolution=(\d+)>>", said)
    larger = choose_shape([shape], int(side))
    assert larger[0] * larger[1] == pytest.approx(min(shape[0] * shape[1], MOST_EVER), rel=0.03)
    assert "<<resolution" not in _about_view([shape], larger, None)


def test_pictures_of_many_sizes_are_said_to_be_shrunk_without_advice_that_would_shrink_them_more() -> None:
    sizes = [(400, 220), (390, 230), (220, 400), (230, 390), (300, 300)]
    said = _about_view(sizes, choose_shape(sizes), None)
    assert "80 % of the pictures are larger and were shrunk" in said
    assert "resolution" not in said


def test_of_pictures_that_are_not_looked_at_by_places_no_part_can_be_chosen(tmp_path: Path) -> None:
    data = make_pictures(tmp_path / "pictures", 6)
    with pytest.raises(ConfigError, match="region"):
        create.create_session(tmp_path / "s", data, media=MediaOptions(patches="no", region="0,0,10,10"))


def test_rows_alone_are_not_enough_for_such_a_model(tmp_path: Path) -> None:
    with closing(make_session(tmp_path)) as session:
        ask_and_fit(session, 2)
        with pytest.raises(DataError, match="only rows were given"):
            session.score(np.asarray(session.folder.pool), session.ids)


def test_pictures_that_are_added_bring_their_patches(tmp_path: Path) -> None:
    with closing(make_session(tmp_path)) as session:
        before = np.array(session.folder.patches)
        add_data(session, make_pictures(tmp_path / "more", 5, first=900))
        patches = session.folder.patches
        assert patches is not None
        assert patches.shape == (45, *before.shape[1:])
        np.testing.assert_array_equal(patches[:40], before)
        means = np.asarray(patches[40:, :, 0], np.float32).mean(axis=1)
        np.testing.assert_allclose(means, session.folder.pool[40:, 0], rtol=2e-2)
        session.ask(2)
    with closing(create.open_session(tmp_path / "s")) as again:
        np.testing.assert_array_equal(again.folder.patches, patches)


def test_pictures_that_are_added_are_scored_by_the_fit_of_before(tmp_path: Path) -> None:
    with closing(make_session(tmp_path)) as session:
        ask_and_fit(session, 2)
        add_data(session, make_pictures(tmp_path / "more", 5, first=900))
        assert score_file.score_file(session, None, tmp_path / "grown.csv")["n_items"] == 45
        maps = SessionMaps(session)
        bright, plain = maps.of(session.ids[40]), maps.of(session.ids[44])
        assert bright is not None
        assert plain is not None
        assert bright.shape == (4,)
        assert bright.argmax() == 3
        assert bright.max() > 1 > plain.max()


def test_a_session_goes_on_after_pictures_were_added_and_removed(tmp_path: Path) -> None:
    """By the fit of before, until somebody fits again."""
    with closing(make_session(tmp_path)) as session:
        asked = ask_and_fit(session, 2)
        before = dict(zip(session.ids, session.pool_scores(session.fitted()[1]), strict=True))
        add_data(session, make_pictures(tmp_path / "more", 5, first=900))
        gone = [item for item in session.ids[:8] if item not in asked][:3]
        remove_items(session, gone)
        assert len(session.ids) == 42
        after = dict(zip(session.ids, session.pool_scores(session.fitted()[1]), strict=True))
        kept = [item for item in after if item in before]
        np.testing.assert_allclose([after[item] for item in kept], [before[item] for item in kept], rtol=1e-4)
        assert not set(session.ask(2).items) & {*asked, *gone}
        assert score_file.score_file(session, None, tmp_path / "changed.csv")["n_items"] == 42
        assert write_maps(session, None, tmp_path / "maps", "alarms=42")["n_maps"] == 42
        write_report(gather_report(session), tmp_path / "report.html")


def test_a_mark_reaches_the_patches_and_a_fit_made_again_knows_it(tmp_path: Path) -> None:
    with closing(make_session(tmp_path)) as session:
        session.ask(4)
        truth = {item: "anomaly" if row < 3 else "normal" for row, item in enumerate(session.ids)}
        session.tell({item: truth[item] for item in [*session.state.open, session.ids[0]]})
        session.fit()
        plain = find_patches(session.load_fit(session.state))
        session.mark(session.ids[0], Mark("expert", (Region("point", ((0.75, 0.75),)),), 80, 80))
        assert not session.state.fit_is_current
        session.fit()
        marked = find_patches(session.load_fit(session.state))
        assert isinstance(marked, Patches)
        assert isinstance(plain, Patches)
        assert len(marked.anomalous) < len(plain.anomalous)  # one place instead of the worst ones
        assert differing(session) == []


def test_a_sessions_detector_takes_pictures_in_python_and_says_so_to_features(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(image_rows, "open_extractor", lambda which: PlaceExtractor())
    with closing(make_session(tmp_path)) as session:
        session.tell({session.ids[0]: "anomaly", session.ids[9]: "normal"})
        session.fit()
        model, pool, patches = session.fitted()[1], session.folder.pool, session.folder.patches
        expected = model.score(pool[:4], None if patches is None else patches[:4])
    detector = SOEL.load(tmp_path / "s")
    files = sorted((tmp_path / "pictures").glob("*.png"))[:4]
    pictures = np.stack([np.asarray(Image.open(file)) for file in files])
    np.testing.assert_allclose(detector.anomaly_score(pictures), expected, rtol=1e-4, atol=1e-4)
    with pytest.raises(SchemaError, match=r"give the pictures.*patches='no'"):
        detector.anomaly_score(np.asarray(pool[:4]))


def test_a_defect_outside_the_region_raises_no_alarm(tmp_path: Path) -> None:
    """In the pool, in new pictures and in maps."""
    folder = tmp_path / "wide"
    folder.mkdir()
    for number in range(30):
        rng = np.random.default_rng(number)
        picture = np.clip(100 + rng.normal(0, 12, (80, 240, 3)), 0, 255)
        if number < 3:
            picture[:40, 80:120] += 90
        elif number < 9:
            picture[:, 160:] += 90
        Image.fromarray(picture.astype(np.uint8)).save(folder / f"{number:02d}.png")
    media = MediaOptions(region="80,0,80,80")
    with closing(create.create_session(tmp_path / "s", folder, SessionOptions(budget=4), media=media)) as session:
        assert session.folder.grid == Grid(2, 2, (0, 1 / 3, 1, 2 / 3), (0.25, 0.25), (0.5, 0.5))
        session.ask(2)
        session.fit()
        ranked = session.score()
        assert {ranked.ids[row] for row in np.argsort(-ranked.scores)[:3]} == set(session.ids[:3])
        for data in (None, folder):
            told = write_maps(session, data, tmp_path / f"maps-{data is None}", "alarms=3")
            assert told["n_maps"] == 3
            for entry in json.loads((tmp_path / f"maps-{data is None}" / "boxes.json").read_text()):
                assert all(box["x"] >= 80 and box["x"] + box["width"] <= 160 for box in entry["boxes"])
                values = np.load(tmp_path / f"maps-{data is None}" / entry["overlay"].replace(".png", ".npy"))
                assert values.argmax() == 0
