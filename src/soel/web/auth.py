"""Who may enter: one-time keys that become signed cookies, kept beside the session for the next start."""

from __future__ import annotations

import hashlib
import json
import secrets
import threading
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from itsdangerous import BadData, URLSafeTimedSerializer

from soel.durable import write_whole
from soel.errors import SessionError

Role = Literal["owner", "annotator"]
ROLES = ("owner", "annotator")
FILE = "page.json"
LASTS = 30 * 24 * 3600  # seconds a cookie is good for
MOST_KEYS = 200  # the oldest unused keys give way


@dataclass(frozen=True)
class User:
    """Who sits before the page. The owner invites, writes the guideline and decides disagreements."""

    name: str
    role: Role

    @property
    def is_owner(self) -> bool:
        """Whether the session is theirs."""
        return self.role == "owner"


@dataclass
class _Kept:
    secret: str
    keys: dict[str, dict[str, str]] = field(default_factory=dict)  # digest of a key: who it lets in
    port: int = 0


class Auth:
    """Hands out keys, lets a key in once, and knows its own cookies again after a restart.

    Only digests of keys are kept. The file is readable by its owner alone.
    """

    def __init__(self, folder: Path) -> None:
        self._path, self._lock = folder / FILE, threading.Lock()
        self._kept = self._read()
        self._write()

    @property
    def port(self) -> int:
        """The port of the last start, so that an open page finds the server again; 0 before the first."""
        return self._kept.port

    @property
    def cookie(self) -> str:
        """What its cookies are called: browsers tell servers on one machine apart by this name only."""
        return f"soel-{_digest(self._kept.secret)[:8]}"

    def move(self, folder: Path) -> None:
        """Keep everything in another folder from now on; those who are in stay in."""
        with self._lock:
            old, self._path = self._path, folder / FILE
            self._write()
            old.unlink(missing_ok=True)

    def remember_port(self, port: int) -> None:
        """Keep the port for the next start."""
        with self._lock:
            self._kept.port = port
            self._write()

    def new_key(self, user: User) -> str:
        """A key that lets this user in, once."""
        key = secrets.token_urlsafe(24)
        with self._lock:
            self._kept.keys[_digest(key)] = asdict(user)
            for stale in list(self._kept.keys)[:-MOST_KEYS]:
                del self._kept.keys[stale]
            self._write()
        return key

    def sign_in(self, key: str) -> str | None:
        """The cookie for a key that was not used before; None for any other."""
        with self._lock:
            entry = self._kept.keys.pop(_digest(key), None)
            if entry is None:
                return None
            self._write()
        return self._serializer.dumps(entry)

    def user_of(self, cookie: str) -> User | None:
        """The user that a cookie was made for; None when it is foreign, changed or too old."""
        try:
            content = self._serializer.loads(cookie.encode("utf-8", "replace"), max_age=LASTS)
        except BadData:
            return None
        return User(content["name"], _role(content["role"]))

    @property
    def _serializer(self) -> URLSafeTimedSerializer:
        return URLSafeTimedSerializer(self._kept.secret, salt="soel.web.cookie")

    def _read(self) -> _Kept:
        if not self._path.exists():
            return _Kept(secrets.token_hex(32))
        try:
            return _checked(json.loads(self._path.read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise SessionError(f"{self._path} cannot be read ({error}); delete it, and enter by a new link.") from error

    def _write(self) -> None:
        write_whole(self._path, json.dumps(asdict(self._kept), indent=1).encode())
        self._path.chmod(0o600)


def _checked(content: dict[str, Any]) -> _Kept:
    keys = {str(digest): {"name": str(v["name"]), "role": _role(v["role"])} for digest, v in content["keys"].items()}
    secret = str(content["secret"])
    if len(secret) < 32:
        raise ValueError("its secret is too short")
    return _Kept(secret, dict(keys), int(content["port"]))


def _role(word: str) -> Role:
    if word not in ROLES:
        raise ValueError(f"there is no role {word!r}")
    return word  # type: ignore[return-value]


def _digest(key: str) -> str:
    return hashlib.sha256(key.encode("utf-8", "replace")).hexdigest()
