"""Alarms for people who are not looking: one JSON a group of alike alarms, sent to an address once.

What was sent is kept in a file beside the alarms, so that an address that was away is tried again by the next run, and
a group that goes on is quiet for a while. The JSON is read by the incoming hooks of Slack and Teams (`text`), and has
the same as fields.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from soel.errors import ConfigError
from soel.files import write_whole
from soel.session.alarms import FOLDER, Night, read_kept
from soel.session.folder import SessionFolder
from soel.text import count

SENT = "sent.json"
N_SHOWN = 5
TRIES, SECONDS = 3, 5.0
QUIET_HOURS = 24.0


@dataclass(frozen=True)
class Incident:
    """Alarms of one run that are alike. group: the columns that make them so, as their reasons name them.

    text: in words. items: ids of the alarms, the highest score first. whys, links: of the first few, their reasons and
    where to answer them.
    """

    group: str
    n_alarms: int
    text: str
    items: tuple[str, ...]
    whys: tuple[str, ...]
    session: str
    links: tuple[str, ...] = ()


def find_incidents(place: SessionFolder, nights: Sequence[Night], title: str, page: str = "") -> list[Incident]:
    """The alarms of these nights by group, the largest first. page: the address of the page where people answer."""
    table = read_kept(place, nights, ["alarm_id", "alarm", "score", "group", "why"])
    groups: dict[str, list[dict[str, Any]]] = {}
    for row in [] if table is None else table.to_pylist():
        if row["alarm"]:
            groups.setdefault(row["group"], []).append(row)
    found = []
    for group, rows in sorted(groups.items(), key=lambda each: (-len(each[1]), each[0])):
        rows.sort(key=lambda row: -row["score"])
        whys = tuple(row["why"] for row in rows[:N_SHOWN] if row["why"])
        about = f" about {group}" if group else ""
        items = tuple(row["alarm_id"] for row in rows)
        links = tuple(f"{page.rstrip('/')}/watched?item={item}" for item in items[:N_SHOWN] if page)
        text = "\n".join([f"{title}: {count(len(rows), 'alarm')}{about}", *whys, *links])
        found.append(Incident(group, len(rows), text, items, whys, place.config.session, links))
    return found


def notify(
    place: SessionFolder, nights: Sequence[Night], url: str, title: str, page: str = "", quiet: float = QUIET_HOURS
) -> list[str]:
    """Send what was not sent yet; returns what went wrong, a line each. Later runs try again.

    nights: all of the session, in order. quiet: hours for which a group that was sent is not sent again.
    """
    check_address(url)
    kept = _read(place)
    done, failed = int(kept.get("n_nights", 0)), []
    now = datetime.now(UTC)
    held = {group: at for group, at in kept.get("groups", {}).items() if _is_recent(at, now, quiet)}
    for incident in find_incidents(place, nights[done:], title, page):
        if incident.group in held:
            continue
        problem = _send(url, asdict(incident))
        if problem:  # the others would fare no better; each try takes its time
            failed.append(f"{urlsplit(url).hostname} was not told of {incident.group or 'alarms'}: {problem}")
            break
        held[incident.group] = now.isoformat()
    content = {"n_nights": done if failed else len(nights), "groups": held}
    write_whole(place.path / FOLDER / SENT, json.dumps(content).encode(), private=True)
    return failed


def check_address(url: str) -> None:
    """Refuse what is no address of the web."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ConfigError(f"An address to notify begins with http:// or https://, got {url!r}.")


class _NoRedirect(HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        """What is sent goes to the address that was named, and nowhere else."""


def _send(url: str, content: Mapping[str, Any]) -> str:
    """What went wrong in the last of a few tries; empty where it arrived."""
    opener = build_opener(_NoRedirect)
    body, problem = json.dumps(content).encode(), ""
    for attempt in range(TRIES):
        if attempt:
            time.sleep(0.2 * 4**attempt)
        try:
            with opener.open(Request(url, body, {"Content-Type": "application/json"}), timeout=SECONDS) as reply:
                reply.read(1024)
                return ""
        except OSError as error:  # of the network, a time limit, or a code of 300 and more
            problem = str(error)
    return problem


def _is_recent(at: str, now: datetime, hours: float) -> bool:
    return now - datetime.fromisoformat(at) < timedelta(hours=hours)


def _read(place: SessionFolder) -> dict[str, Any]:
    try:
        content = json.loads((place.path / FOLDER / SENT).read_bytes())
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}
