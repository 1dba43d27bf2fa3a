"""What of a damaged session can be made again from its table."""

from __future__ import annotations

import tempfile
from contextlib import closing
from pathlib import Path

from soel.api.sessions import open_session
from soel.data.session_tables import read_encoder, read_items
from soel.durable import move
from soel.session import SessionFolder
from soel.session.digests import digest_of
from soel.session.folder import write_items
from soel.stores.checks import FEATURES, IDS, Finding


def repair(folder: Path, findings: tuple[Finding, ...]) -> list[str]:
    """Make again what can be made from the table; returns the names. What does not come out as it was stays away."""
    wanted = [finding.name for finding in findings if finding.is_whole is False and finding.can_rebuild]
    if not wanted:
        return []
    with closing(open_session(Path(folder))) as session:
        latest = session.folder
    pools = [latest.part(number) for number in range(1, len(latest.pools) + 1)]
    return [name for pool in pools for name in _remake(pool, [n for n in wanted if latest.path / n in _items_of(pool)])]


def _items_of(place: SessionFolder) -> tuple[Path, Path]:
    return place.home / IDS, place.home / FEATURES


def _remake(place: SessionFolder, wanted: list[str]) -> list[str]:
    """Make these files of one pool again; returns those that came out as they were."""
    if not wanted:
        return []
    digests = place.pools[-1].digests or place.config.digests
    with tempfile.TemporaryDirectory(prefix=".repair-", dir=place.path) as scratch:
        table = read_items(place)
        write_items(Path(scratch), table.ids.tolist(), read_encoder(place).encode(table.frame))
        made = [Path(scratch) / Path(name).name for name in wanted]
        same = [path for path in made if digest_of(path) == digests[path.name]]
        for path in same:
            move(path, place.home / path.name)
        return [name for name, path in zip(wanted, made, strict=True) if path in same]
