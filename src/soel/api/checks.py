"""Is a session whole? Every file and event compared with what was written down of it; what damage means; repairs."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from soel.api.sessions import open_session, read_encoder, read_source
from soel.durable import move
from soel.errors import DamagedError, SoelError
from soel.media.picture_pool import MEDIA
from soel.session import SessionFolder
from soel.session.digests import digest_of
from soel.session.folder import write_items
from soel.session.ledger import fold
from soel.session.state import SessionState
from soel.stores.event_stores import open_store
from soel.stores.models import read_manifest, read_model

CONFIG, IDS, FEATURES = "config.json", "ids.json", "features.npy"
RESTORE = "Restore it from a copy."
REBUILD = "It can be made again from the table: soel check DIR --repair."
_MEANS = {
    FEATURES: "What is learnt and scored would be other rows than the table's.",
    IDS: "Scores and labels would go to other items.",
    "encoder.json": "New rows cannot be scored, and the table cannot be read as it was.",
    "stream.json": "The data that the pool was drawn from cannot be found.",
    MEDIA: "The pictures cannot be found, and no new ones be read.",
    "source": "Items cannot be shown, and features not made again.",
}


@dataclass(frozen=True)
class Finding:
    """One file or list, by its name in the session. is_whole: None where nothing was kept to compare it with.

    means: what follows from the damage. remedy: what to do. can_rebuild: whether `repair` makes it again.
    """

    name: str
    is_whole: bool | None
    means: str = ""
    remedy: str = ""
    can_rebuild: bool = False


def check_session(folder: Path, store: str | None = None) -> tuple[Finding, ...]:
    """All that the session rests on, in full: every byte is read, whatever was compared before."""
    place = SessionFolder(Path(folder))
    try:
        config = place.config
    except DamagedError as error:
        return (Finding(CONFIG, False, f"Nothing else can be compared. {error}", RESTORE),)
    found = [Finding(CONFIG, True), *_files(place)]
    if not config.digests:
        found.append(Finding("files", None, "The session is of a release that kept no digests of its files."))
    try:
        with closing(open_store(place, store)) as kept:
            kept.check()
            state = fold(kept.read(), config.budget, config.answers_per_item)
    except SoelError as error:
        return (*found, Finding("events", False, f"Every answer is in there. {error}", RESTORE))
    return (*found, Finding("events", True), *_rounds(place, state), *_models(place, state))


def repair(folder: Path, findings: tuple[Finding, ...]) -> list[str]:
    """Make again what can be made from the table; returns the names. What does not come out as it was stays away."""
    wanted = [finding.name for finding in findings if finding.is_whole is False and finding.can_rebuild]
    if not wanted:
        return []
    place = SessionFolder(Path(folder))
    with (
        closing(open_session(place.path)) as session,
        tempfile.TemporaryDirectory(prefix=".repair-", dir=place.path) as scratch,
    ):
        table = read_source(session)
        write_items(Path(scratch), table.ids.tolist(), read_encoder(place).encode(table.frame))
        same = [name for name in wanted if digest_of(Path(scratch) / name) == place.config.digests[name]]
        for name in same:
            move(Path(scratch) / name, place.path / name)
    return same


def _files(place: SessionFolder) -> Iterator[Finding]:
    damaged = [name for name, digest in place.config.digests.items() if not _is_same(place.path / name, digest)]
    source_is_whole = not any(name.startswith(("source", "encoder")) for name in damaged)
    for name in place.config.digests:
        if name not in damaged:
            yield Finding(name, True)
            continue
        is_features = name == FEATURES and not (place.path / MEDIA).exists()
        can_rebuild = source_is_whole and (name == IDS or is_features)
        means = _MEANS.get(name) or _MEANS.get(Path(name).stem, "")
        yield Finding(name, False, means, REBUILD if can_rebuild else RESTORE, can_rebuild)


def _rounds(place: SessionFolder, state: SessionState) -> Iterator[Finding]:
    for drawn in state.rounds:
        is_whole = _is_same(place.rounds / drawn.record, drawn.digest)
        means = (
            "" if is_whole else f"Labels of round {drawn.number} cannot be learnt from, its questions not explained."
        )
        yield Finding(f"rounds/{drawn.record}", is_whole, means, "" if is_whole else RESTORE)


def _models(place: SessionFolder, state: SessionState) -> Iterator[Finding]:
    """The models that something still rests on: the warm-up and the last fit."""
    wanted = {}
    if state.warm_up is not None:
        wanted["The next fit makes it again by itself."] = state.warm_up
    if state.fit is not None:
        wanted["Nothing can be scored until then. Make it again: soel fit DIR."] = state.fit.model
    for remedy, ref in wanted.items():
        try:
            fingerprint = fingerprint_of(place.path / ref.folder)
            why = "" if fingerprint == ref.fingerprint else "It is another model than the one that was written down."
        except SoelError as error:
            why = str(error)
        yield Finding(ref.folder, not why, why, remedy if why else "")


def fingerprint_of(folder: Path) -> str:
    """The fingerprint of a model folder, after every byte of it was compared."""
    read_model(folder)
    return str(read_manifest(folder)["fingerprint"])


def _is_same(path: Path, digest: str) -> bool:
    try:
        return digest_of(path) == digest
    except DamagedError:
        return False
