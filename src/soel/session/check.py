"""Is a session whole? Every file and event compared with what was written down of it; what damage means."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from soel.errors import DamagedError, SoelError
from soel.model_folder import read_manifest, read_model
from soel.session import SessionFolder
from soel.session.config import ROWS
from soel.session.create import open_session, open_store
from soel.session.fold import fold
from soel.session.folder import FEATURES, IDS, MEDIA, NUMBERS, PATCHES, STREAM, digest_of
from soel.session.item_tables import remake_items
from soel.session.state import SessionState

CONFIG = "config.json"
RESTORE = "Restore it from a copy."
REBUILD = "It can be made again from the table: `soel check DIR --repair`."
_MEANS = {
    FEATURES: "What is learnt and scored would be other rows than the table's.",
    IDS: "Scores and labels would go to other items.",
    "encoder.json": "New rows cannot be scored, and the table cannot be read as it was.",
    ROWS: "What the items are cannot be found in their tables.",
    NUMBERS: "Which rows of the data the items are cannot be found.",
    PATCHES: "Places in the pictures cannot be looked at.",
    STREAM: "The data that the pool was drawn from cannot be found.",
    MEDIA: "The pictures cannot be found, and no new ones be read.",
    "source": "Items cannot be shown, and features not made again.",
}


@dataclass(frozen=True)
class CheckedFile:
    """One file or list, by its name in the session. is_whole: None where nothing was kept to compare it with.

    means: what follows from the damage. remedy: what to do. can_rebuild: whether `repair` makes it again.
    """

    name: str
    is_whole: bool | None
    means: str = ""
    remedy: str = ""
    can_rebuild: bool = False


def check_session(folder: Path, store: str | None = None) -> tuple[CheckedFile, ...]:
    """All that the session rests on, in full: every byte is read, whatever was compared before."""
    place = SessionFolder(Path(folder))
    try:
        config = place.config
    except DamagedError as error:
        return (CheckedFile(CONFIG, False, f"Nothing else can be compared. {error}", RESTORE),)
    found = [CheckedFile(CONFIG, True), *_files(place, config.digests)]
    try:
        with closing(open_store(place, store)) as kept:
            kept.check()
            state = fold(kept.read(), config.budget, config.answers_per_item)
    except SoelError as error:
        return (*found, CheckedFile("events", False, f"Every answer is in there. {error}", RESTORE))
    for number in range(2, len(state.pools) + 1):
        found += _files(SessionFolder(place.path, state.pools[:number]), state.pools[number - 1].digests)
    if place.has_pictures and not any(finding.is_whole is False for finding in found):
        found += _pictures(SessionFolder(place.path, state.pools))
    return (*found, CheckedFile("events", True), *_rounds(place, state), *_models(place, state))


def _files(place: SessionFolder, digests: Mapping[str, str]) -> Iterator[CheckedFile]:
    """The files of one pool."""
    damaged = [name for name, digest in digests.items() if not _is_same(place.home / name, digest)]
    source_is_whole = not any(name.startswith(("source", "encoder", ROWS)) for name in damaged)
    for name in digests:
        shown = (place.home / name).relative_to(place.path).as_posix()
        if name not in damaged:
            yield CheckedFile(shown, True)
            continue
        is_features = name == FEATURES and not place.has_pictures
        is_ids = name == IDS and (len(place.pools) == 1 or place.config.id_column is not None)
        can_rebuild = source_is_whole and (is_ids or is_features)
        means = _MEANS.get(name) or _MEANS.get(Path(name).stem, "")
        yield CheckedFile(shown, False, means, REBUILD if can_rebuild else RESTORE, can_rebuild)


def _pictures(place: SessionFolder) -> Iterator[CheckedFile]:
    """The pictures that items of the pool came with: whether they are where the session will look for them."""
    for number, part in place.parts.items():
        note = part.media_note
        data, paths = Path(note["data"]), note["paths"]
        base = data if data.is_dir() else data.parent
        missing = [path for path in ([data] if paths is None else [base / path for path in paths]) if not path.exists()]
        means = f"{len(missing)} are missing, such as {missing[0]}; their items cannot be shown." if missing else ""
        yield CheckedFile(f"pictures of pool {number}", not missing, means, "Bring them back." if missing else "")


def _rounds(place: SessionFolder, state: SessionState) -> Iterator[CheckedFile]:
    records = {part.record: part for drawn in state.rounds for part in reversed(drawn.parts)}
    for drawn in sorted(records.values(), key=lambda part: part.event):
        is_whole = _is_same(place.rounds / drawn.record, drawn.digest)
        means = (
            "" if is_whole else f"Labels of round {drawn.number} cannot be learnt from, its questions not explained."
        )
        yield CheckedFile(f"rounds/{drawn.record}", is_whole, means, "" if is_whole else RESTORE)


def _models(place: SessionFolder, state: SessionState) -> Iterator[CheckedFile]:
    """The models that something still rests on: the warm-up and the last fit."""
    wanted = {}
    if state.warm_up is not None:
        wanted["The next fit makes it again by itself."] = state.warm_up
    if state.fit is not None:
        wanted["Nothing can be scored until then. Make it again: soel fit DIR."] = state.fit.model
    for remedy, ref in wanted.items():
        try:
            read_model(place.path / ref.folder)  # compares every byte of it
            fingerprint = read_manifest(place.path / ref.folder)["fingerprint"]
            why = "" if fingerprint == ref.fingerprint else "It is another model than the one that was written down."
        except SoelError as error:
            why = str(error)
        yield CheckedFile(ref.folder, not why, why, remedy if why else "")


def _is_same(path: Path, digest: str) -> bool:
    try:
        return digest_of(path) == digest
    except DamagedError:
        return False


def repair(folder: Path, findings: tuple[CheckedFile, ...]) -> list[str]:
    """Make again what can be made from the table; returns the names. What does not come out as it was stays away."""
    wanted = {finding.name for finding in findings if finding.is_whole is False and finding.can_rebuild}
    if not wanted:
        return []
    with closing(open_session(Path(folder))) as session:
        place = session.folder
    return [name for number in range(1, len(place.pools) + 1) for name in remake_items(place.part(number), wanted)]
