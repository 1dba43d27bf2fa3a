"""Who may enter (one-time keys become signed cookies, in a private file beside the session), and know what."""

from __future__ import annotations

import hashlib
import os
import secrets
import stat
import threading
import time
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Literal, TypeVar, cast

from itsdangerous import BadData, URLSafeTimedSerializer
from pydantic import Field, TypeAdapter, ValidationError

from soel.errors import DiskFullError, NoPermissionError, ReadOnlyError, SessionError
from soel.files import hold_lock, write_whole
from soel.session import SessionState
from soel.session.events import settle

Role = Literal["owner", "annotator"]
FILE, LOCK = "page.json", ".page.lock"
PATIENCE = 10.0  # seconds to wait for another server that changes the file
T = TypeVar("T")


@dataclass(frozen=True)
class User:
    """Who sits before the page. sign_in: the id of the sign-in by which they came, where there is one."""

    name: str
    role: Role
    sign_in: str = field(default="", compare=False)

    @property
    def is_owner(self) -> bool:
        return self.role == "owner"


@dataclass(frozen=True)
class SignIn:
    """A browser that is signed in. since: seconds since 1970."""

    name: str
    role: Role
    since: float


@dataclass
class AuthState:
    """What the file holds. secret: signs the cookies. keys: whom each key lets in, by the key's digest."""

    secret: Annotated[str, Field(min_length=32)]
    keys: dict[str, User] = field(default_factory=dict)
    sign_ins: dict[str, SignIn] = field(default_factory=dict)
    port: int = 0


_STATE = TypeAdapter(AuthState)


class AuthFile:
    """One file, shared by all servers of a session.

    On a disk that cannot be written to, changes hold for this server alone and until it ends; keys that the disk
    knows are then not accepted, because nothing could stop them from working twice. initial: what a new file holds.
    """

    def __init__(self, folder: Path, initial: AuthState | None = None) -> None:
        self.path, self._initial = folder / FILE, initial
        self._changing = threading.RLock()
        self._seen: tuple[tuple[int, ...], AuthState] | None = None
        self._in_memory: AuthState | None = None
        self.change(lambda state: None)

    @property
    def state(self) -> AuthState:
        """What holds now; not to be changed."""
        return self._in_memory or self._read()

    def change(self, apply: Callable[[AuthState], T]) -> T:
        """Change what holds, as one step for all servers; returns what `apply` returns."""
        with self._changing:
            try:
                self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                with hold_lock(self.path.with_name(LOCK), PATIENCE):
                    return self._change_file(apply)
            except (DiskFullError, NoPermissionError, ReadOnlyError):
                return self._change_memory(apply)

    def _change_file(self, apply: Callable[[AuthState], T]) -> T:
        state = deepcopy(self._in_memory or self._read())
        answer = apply(state)
        if self._in_memory is not None or self._seen is None or state != self._seen[1] or not self.path.exists():
            write_whole(self.path, _STATE.dump_json(state, indent=1), private=True)
            self._in_memory = None
        return answer

    def _change_memory(self, apply: Callable[[AuthState], T]) -> T:
        if self._in_memory is None:
            self._in_memory = deepcopy(self._read())
            self._in_memory.keys.clear()
        return apply(self._in_memory)

    def _read(self) -> AuthState:
        """The file's content, read only when it is another one than before."""
        try:
            descriptor = os.open(self.path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
        except FileNotFoundError:
            if self._seen is None and self._initial is None:
                self._initial = AuthState(secrets.token_hex(32))
            return self._seen[1] if self._seen else cast(AuthState, self._initial)
        except OSError as error:
            raise SessionError(f"{self.path} cannot be read ({error.strerror}). {REMEDY}") from error
        with os.fdopen(descriptor, "rb") as file:
            found = os.fstat(descriptor)
            stamp = (found.st_dev, found.st_ino, found.st_mtime_ns, found.st_size)
            seen = self._seen
            if seen is None or seen[0] != stamp:
                _check_private(self.path, found)
                seen = self._seen = (stamp, _unpack(self.path, file.read()))
        return seen[1]


REMEDY = "Delete it, and sign in by a new link; labels are not touched by that."


def _check_private(path: Path, found: os.stat_result) -> None:
    """Refuse a file that another account wrote or could read: the secret in it signs cookies."""
    if not hasattr(os, "geteuid"):
        return
    if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid():
        raise SessionError(
            f"{path} was not made by this account (it belongs to user {found.st_uid}), so whoever made it "
            f"could sign in as anybody. {REMEDY}"
        )
    mode = stat.S_IMODE(found.st_mode)
    if mode & 0o077:
        raise SessionError(
            f"{path} can be read by other accounts (mode {mode:o}), and the secret in it signs in whoever knows it. "
            f"{REMEDY}"
        )


def _unpack(path: Path, content: bytes) -> AuthState:
    try:
        return _STATE.validate_json(content)
    except ValidationError as error:
        what = error.errors()[0]["msg"]
        raise SessionError(f"{path} cannot be read ({what}). {REMEDY}") from error


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


def may_see(state: SessionState, item: str, who: str) -> bool:
    """Whether this annotator may know what others said: after an own label, or when no more labels are wanted."""
    vote, answered = state.vote_of(item, who), state.answers.get(item)
    if vote is not None and vote.is_label:
        return True
    if answered is None:
        return False
    return answered.decision is not None or answered.n_labels >= state.answers_per_item


def may_see_map(state: SessionState, item: str, who: str) -> bool:
    """Whether unusual places of a picture may be drawn for this annotator: at once, or after an own answer."""
    return not state.maps_wait or state.vote_of(item, who) is not None


def view_for(state: SessionState, who: str) -> SessionState:
    """The session as one annotator may see it: of the other items only their own answers, notes and marks are left.

    What is open, and how much of the budget is left, is to be read from the whole state.
    """
    hidden = {item for item in (*state.answers, *state.written_notes, *state.marks) if not may_see(state, item, who)}
    if not hidden:
        return state
    answers = dict(state.answers)
    notes, marks = dict(state.written_notes), dict(state.marks)
    for item in hidden:
        answered = answers.pop(item, None)
        own = None if answered is None else settle([vote for vote in answered.votes if vote.who == who], None)
        if own is not None:
            answers[item] = own
        notes[item] = tuple(note for note in notes.get(item, ()) if note.who == who)
        marks[item] = tuple(mark for mark in marks.get(item, ()) if mark.who == who)
    return replace(state, answers=answers, written_notes=notes, marks=marks)
