"""What of a damaged session can be made again from its table."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from soel.session.api.sessions import open_session
from soel.session.stores.checks import Finding
from soel.tables.session_tables import remake_items


def repair(folder: Path, findings: tuple[Finding, ...]) -> list[str]:
    """Make again what can be made from the table; returns the names. What does not come out as it was stays away."""
    wanted = {finding.name for finding in findings if finding.is_whole is False and finding.can_rebuild}
    if not wanted:
        return []
    with closing(open_session(Path(folder))) as session:
        place = session.folder
    return [name for number in range(1, len(place.pools) + 1) for name in remake_items(place.part(number), wanted)]
