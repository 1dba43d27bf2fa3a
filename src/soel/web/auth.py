"""Who may enter: one-time keys that become signed cookies, kept beside the session for the next start."""

from __future__ import annotations

import hashlib
import secrets
import time
from pathlib import Path

from itsdangerous import BadData, URLSafeTimedSerializer

from soel.web.auth_file import FILE, AuthFile, AuthState, Role, SignIn, User

__all__ = ["DAY", "FILE", "LASTS", "Auth", "Role", "SignIn", "User"]
DAY = 24 * 3600
LASTS = 30 * DAY  # seconds a sign-in is good for
MOST_KEYS, MOST_SIGN_INS = 200, 1000  # the oldest give way


class Auth:
    """Hands out keys, lets a key in once, and knows its own cookies again after a restart.

    A cookie names a sign-in, and holds for as long as that stands in the list: signing out, or being revoked, takes it
    off. Only digests of keys are kept. All servers of a session share the file, and see its changes at once.
    """

    def __init__(self, folder: Path) -> None:
        self._file = AuthFile(folder)

    @property
    def port(self) -> int:
        """The port of the last start, so that an open page finds the server again; 0 before the first."""
        return self._file.state.port

    @property
    def cookie(self) -> str:
        """What its cookies are called: browsers tell servers on one machine apart by this name only."""
        return f"soel-{_digest(self._file.state.secret)[:8]}"

    def move(self, folder: Path) -> None:
        """Keep everything in another folder from now on; those who are in stay in."""
        old, state = self._file.path, self._file.state
        self._file = AuthFile(folder, state)
        if self._file.state.secret != state.secret:  # another server was here first: its cookies hold, our keys too
            self._file.change(lambda target: target.keys.update(state.keys))
        old.unlink(missing_ok=True)

    def remember_port(self, port: int) -> None:
        """Keep the port for the next start."""
        self._file.change(lambda state: setattr(state, "port", port))

    def new_key(self, user: User) -> str:
        """A key that lets this user in, once."""
        key = secrets.token_urlsafe(24)

        def add(state: AuthState) -> None:
            state.keys[_digest(key)] = User(user.name, user.role)
            for stale in list(state.keys)[:-MOST_KEYS]:
                del state.keys[stale]

        self._file.change(add)
        return key

    def holder_of(self, key: str) -> User | None:
        """Whom a key lets in; None for one that was used or never handed out."""
        return self._file.state.keys.get(_digest(key))

    def sign_in(self, key: str) -> str | None:
        """The cookie for a key that was not used before; None for any other."""
        digest, number = _digest(key), secrets.token_urlsafe(12)
        if digest not in self._file.state.keys:
            return None  # a guess takes no lock

        def use(state: AuthState) -> bool:
            user = state.keys.pop(digest, None)
            if user is None:
                return False
            state.sign_ins = {each: held for each, held in state.sign_ins.items() if not _is_over(held)}
            state.sign_ins[number] = SignIn(user.name, user.role, time.time())
            for stale in list(state.sign_ins)[:-MOST_SIGN_INS]:
                del state.sign_ins[stale]
            return True

        return self._serializer.dumps(number) if self._file.change(use) else None

    def user_of(self, cookie: str) -> User | None:
        """The user that a cookie was made for; None when it is foreign, changed, too old or revoked."""
        if not cookie:
            return None
        try:
            number = self._serializer.loads(cookie.encode("utf-8", "replace"))  # its age is that of the sign-in
        except BadData:
            return None
        held = self._file.state.sign_ins.get(number) if isinstance(number, str) else None
        return None if held is None or _is_over(held) else User(held.name, held.role, number)

    def sign_ins(self) -> dict[str, SignIn]:
        """Who is signed in, oldest first, by the number of the sign-in."""
        return {number: held for number, held in self._file.state.sign_ins.items() if not _is_over(held)}

    def list_invited(self) -> list[User]:
        """Who has a key that was not used yet."""
        return list(self._file.state.keys.values())

    def names(self) -> set[str]:
        """Everybody who is signed in or invited."""
        state = self._file.state
        return {held.name for held in state.sign_ins.values()} | {user.name for user in state.keys.values()}

    def sign_out(self, user: User) -> None:
        """End the sign-in by which this user came."""
        self._file.change(lambda state: state.sign_ins.pop(user.sign_in, None))

    def revoke(self, name: str, keep: str = "") -> None:
        """End all sign-ins of a person but one, and take their keys back."""

        def remove(state: AuthState) -> None:
            state.sign_ins = {
                number: held for number, held in state.sign_ins.items() if held.name != name or number == keep
            }
            state.keys = {digest: user for digest, user in state.keys.items() if user.name != name}

        self._file.change(remove)

    def revoke_others(self, user: User) -> None:
        """End all sign-ins but the one by which this user came, and take all keys back."""

        def remove(state: AuthState) -> None:
            state.sign_ins = {number: held for number, held in state.sign_ins.items() if number == user.sign_in}
            state.keys.clear()

        self._file.change(remove)

    @property
    def _serializer(self) -> URLSafeTimedSerializer:
        return URLSafeTimedSerializer(self._file.state.secret, salt="soel.web.cookie")


def _is_over(held: SignIn) -> bool:
    """Whether a sign-in is too old, or from so far ahead that the clock was wrong; one set back a little ends none."""
    return not -DAY <= time.time() - held.since <= LASTS


def _digest(key: str) -> str:
    return hashlib.sha256(key.encode("utf-8", "replace")).hexdigest()
