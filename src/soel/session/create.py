"""Making a session from data, opening one, and finding those in a folder."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from soel.errors import ConfigError, SessionError, SoelError
from soel.files import building, copy_whole, move, write_whole
from soel.images.picture_pool import MediaOptions
from soel.scoring.ray import Cluster, import_ray
from soel.session import Session, SessionConfig, SessionFolder, SessionOptions, lay_out, postgres
from soel.session.events import Event
from soel.session.folder import KEPT, MEDIA, write_patches, write_sample_notes
from soel.session.pool import PoolSource, read_pool
from soel.session.sqlite import SUFFIX
from soel.session.standing import Status
from soel.session.store import SqlStore
from soel.tables.encoder import Encoder
from soel.tables.look import inspect_frame
from soel.tables.read_options import ReadOptions, as_options
from soel.types import Floats, Kind


def create_session(
    folder: Path,
    data: str | Path,
    options: SessionOptions | None = None,
    *,
    store: str | None = None,
    media: MediaOptions | None = None,
    cluster: Cluster | None = None,
    columns: ReadOptions | Mapping[str, Any] | None = None,
) -> Session:
    """Start a session. It is written beside the folder first, so that it appears whole or not at all.

    data: a path, or an fsspec address of a table. store: the address of a PostgreSQL database for the events (default:
    a file in the folder). media: how pictures are read, for data that are pictures. cluster: whose machines read data
    that a pool is drawn from. columns: how the columns of a table are to be read, where the automatic reading
    is not wanted.
    """
    from soel.deep import settle  # here: to open a session needs no learner, and must not wait for scipy

    options = options or SessionOptions()
    folder, wanted = Path(folder), options.method
    _check_free(folder)
    if wanted.vectors.patch_detector is None:
        media = replace(media or MediaOptions(), patches="no")
    if cluster is not None:
        import_ray()  # a missing extra is named before anything is read
    with read_pool(data, options, media or MediaOptions(), as_options(columns), cluster) as pool:
        table, kind = pool.table, wanted.kind_for(pool.kind(options.kind))
        encoder, features = pool.encode_items(wanted.scaling_for(kind))
        if pool.features is None:
            labels = table.excluded.get(pool.label_column or "")
            encoder = replace(encoder, schema=inspect_frame(table.frame, labels))
        if kind is Kind.TABLE:
            encoder = encoder.with_baseline(table.frame)
        chosen = settle(wanted, kind, features.shape[1], pool.patches is not None)
        budget = options.budget_for(len(table.ids))
        found = {"id_column": pool.id_column, "label_column": pool.label_column, "kind": str(kind), "budget": budget}
        config = SessionConfig(
            **vars(options) | found | {"profile": chosen.name},
            session=str(uuid.uuid4()),
            created=datetime.now(UTC).isoformat(timespec="seconds"),
            source=table.source,
            fingerprint=table.fingerprint,
            n_items=len(table.ids),
            settings=json.loads(json.dumps(chosen.to_json())),
            store=postgres.strip_password(store),
        )
        _build(folder, pool, config, encoder, features, store)
    return open_session(folder, store)


def open_session(folder: Path, store: str | None = None) -> Session:
    """The session in a folder. store: the address of its events, where the config's lacks a password or is outdated."""
    place = SessionFolder(Path(folder))
    _ = place.config  # says first that a folder is no session
    return Session(place, open_store(place, store))


def open_store(place: SessionFolder, address: str | None = None) -> SqlStore:
    """The events of a session. address: in place of the config's, with its password; 'folder' for a copy there.

    An address that only the config names is used where this account has used it before.
    """
    where = address or place.config.store
    if where is None or where == postgres.IN_FOLDER:
        return SqlStore(place.events, must_exist=True)
    if not postgres.is_address(where):
        raise ConfigError(f"{where!r} is no store; give postgresql://user@host/database, or {postgres.IN_FOLDER!r}.")
    if address is None:
        postgres.check_known(where, place.path)
    store = SqlStore(where, must_exist=True, session=place.config.session)
    postgres.remember(postgres.without_password(where))
    return store


def copy_events_into_folder(place: SessionFolder, events: Sequence[Event]) -> Path:
    """Copy the events from the server into the session's folder, whole or not at all; returns the file."""
    if place.config.store is None:
        raise SessionError(f"The events of {place.path} are in the folder already; there is nothing to bring in.")
    target = place.events
    partial = target.with_name(".events.partial")
    partial.unlink(missing_ok=True)
    store = SqlStore(partial)
    try:
        store.copy_in(events)
    finally:
        store.close()
    for trace in ("-wal", "-shm", SUFFIX):  # of an older copy; beside a new file they would be read as a part of it
        target.with_name(target.name + trace).unlink(missing_ok=True)
    move(partial, target)
    return target


def find_model(folder: Path) -> Path:
    """The model's folder of the last fit, if this is a session's folder; any other folder as it is."""
    if not (folder / "config.json").is_file():
        return folder
    with closing(open_session(folder)) as session:
        fit = session.state.fit
    if fit is None:
        raise SessionError(f"The session in {folder} has no fitted model yet; run `soel fit {folder}` first.")
    return folder / fit.model.folder


def _check_free(folder: Path) -> None:
    if (folder / "config.json").exists():
        raise SessionError(f"{folder} is a session already; choose another folder, or go on with that one.")
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise SessionError(f"{folder} exists and is not empty; choose another folder.")


def _build(
    folder: Path, pool: PoolSource, config: SessionConfig, encoder: Encoder, features: Floats, store: str | None
) -> None:
    with building(folder, private=True) as partial:
        copy_whole(pool.path, partial / f"source{Path(config.source).suffix.lower()}")
        write_whole(partial / "encoder.json", json.dumps(encoder.to_json()).encode())
        if config.store is None:
            SqlStore(SessionFolder(partial).events).close()
        else:
            SqlStore(store or config.store, session=config.session).close()
            postgres.remember(config.store)
        if pool.note is not None:
            write_whole(partial / MEDIA, pool.note)
        if pool.numbers is not None:
            write_sample_notes(partial, pool.all_data, pool.numbers)
        if pool.patches is not None:
            write_patches(partial, pool.patches)
        if pool.kept is not None:
            (partial / KEPT).mkdir()
            copy_whole(pool.kept, partial / KEPT / pool.kept.name)
        lay_out(partial, config, pool.table.ids.tolist(), features)


@dataclass(frozen=True)
class SessionEntry:
    """One session. status: None where `error` says why nothing can be said of it. changed: when something happened
    in it last. address: of its page, where it is served.
    """

    folder: Path
    status: Status | None
    changed: str = ""
    error: str = ""
    address: str = ""


def find_sessions(folder: Path, depth: int) -> Iterator[Path]:
    """Folders that look like a session's: a config beside an encoder. Nothing is looked for inside one."""
    if (folder / "config.json").is_file() and (folder / "encoder.json").is_file():
        yield folder
        return
    if depth:
        for child in sorted(folder.iterdir()):
            if child.is_dir() and not child.is_symlink() and not child.name.startswith("."):
                try:
                    yield from find_sessions(child, depth - 1)
                except PermissionError:
                    continue


DEPTH = 2  # folders below the one that is named


def list_sessions(folder: str | Path = ".") -> tuple[SessionEntry, ...]:
    """The sessions in a folder and the two levels below, the one that changed last first; damaged ones are named."""
    folder = Path(folder)
    if not folder.is_dir():
        raise SessionError(f"{folder} is not a folder. Name one that holds sessions.")
    entries = [_read_entry(place) for place in find_sessions(folder, DEPTH)]
    return tuple(sorted(entries, key=lambda entry: (entry.changed, entry.folder.name), reverse=True))


def _read_entry(folder: Path) -> SessionEntry:
    """What a list says of a session; no server is asked for it."""
    try:
        config = SessionFolder(folder).config
        if config.store is not None:
            return SessionEntry(folder, None, config.created, f"Its events are on a server: soel status {folder}")
        with closing(open_session(folder)) as session:
            return SessionEntry(folder, session.status(), session.state.last_at or session.config.created)
    except SoelError as error:
        return SessionEntry(folder, None, error=str(error))
