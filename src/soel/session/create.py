"""Making a session from data, and opening one."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from soel.errors import SessionError
from soel.files import building, copy_whole, write_whole
from soel.scoring.ray import Cluster, import_ray
from soel.session import Session, SessionConfig, SessionFolder, SessionOptions, lay_out
from soel.session.folder import KEPT, write_patches
from soel.session.pictures import MediaOptions
from soel.session.sampling import PoolSource, Sampling, read_pool
from soel.session.store import new_store, open_store, strip_password
from soel.tables.encoder import Encoder
from soel.tables.inspection import inspect_frame
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
    sampling = Sampling(options.pool_rows, options.seed, cluster)
    with read_pool(data, options.id_column, options.label_column, media, sampling, as_options(columns)) as pool:
        table, kind = pool.table, wanted.kind_for(pool.kind(options.kind))
        encoder, features = pool.encode_items(wanted.scaling_for(kind))
        if pool.features is None:
            labels = table.excluded.get(pool.label_column or "")
            encoder = replace(encoder, schema=inspect_frame(table.frame, labels))
        if kind is Kind.TABLE:
            encoder = encoder.with_baseline(table.frame)
        chosen = settle(wanted, kind, features.shape[1])
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
            store=strip_password(store),
        )
        _build(folder, pool, config, encoder, features, store)
    return open_session(folder, store)


def open_session(folder: Path, store: str | None = None) -> Session:
    """The session in a folder. store: the address of its events, where the config's lacks a password or is outdated."""
    place = SessionFolder(Path(folder))
    _ = place.config  # says first that a folder is no session
    return Session(place, open_store(place, store))


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
        new_store(partial, config, store).close()
        for name, content in pool.beside.items():
            write_whole(partial / name, content)
        if pool.patches is not None:
            write_patches(partial, pool.patches)
        if pool.whole is not None:
            (partial / KEPT).mkdir()
            copy_whole(pool.whole, partial / KEPT / pool.whole.name)
        lay_out(partial, config, pool.table.ids.tolist(), features)
