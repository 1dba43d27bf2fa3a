"""Who may enter: the file with the secret, keys, sign-ins, two servers on one session."""

from __future__ import annotations

import json
import os
import stat
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from soel import files
from soel.errors import DiskFullError, ReadOnlyError, SessionError
from soel.web.auth import FILE, MOST_KEYS, Auth, User

OWNER, ANN, BOB = User("expert", "owner"), User("ann", "annotator"), User("bob", "annotator")


def sign_in(auth: Auth, user: User) -> str:
    cookie = auth.sign_in(auth.new_key(user))
    assert cookie is not None
    return cookie


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_the_secret_is_private_before_a_byte_is_written(
    tmp_path: Path, umask: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = list[int]()
    create = files.create

    def watch(path: Path, private: bool = False) -> Any:
        file = create(path, private)
        if FILE in path.name:
            seen.append(stat.S_IMODE(path.stat().st_mode))
        return file

    monkeypatch.setattr(files, "create", watch)
    before = os.umask(umask)
    try:
        Auth(tmp_path / "session").new_key(OWNER)
    finally:
        os.umask(before)
    assert seen
    assert set(seen) == {0o600}
    assert stat.S_IMODE((tmp_path / "session" / FILE).stat().st_mode) == 0o600


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o644, 0o666])
def test_a_page_json_that_others_can_read_is_refused(tmp_path: Path, mode: int) -> None:
    Auth(tmp_path)
    (tmp_path / FILE).chmod(mode)
    with pytest.raises(SessionError, match=rf"can be read by other accounts \(mode {mode:o}\).*Delete it"):
        Auth(tmp_path)


def test_a_page_json_of_another_account_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Auth(tmp_path)
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    with pytest.raises(SessionError, match="was not made by this account"):
        Auth(tmp_path)


def test_a_link_in_the_place_of_page_json_is_refused(tmp_path: Path) -> None:
    (tmp_path / "here").mkdir()
    Auth(tmp_path / "elsewhere")
    (tmp_path / "here" / FILE).symlink_to(tmp_path / "elsewhere" / FILE)
    with pytest.raises(SessionError, match="Delete it"):
        Auth(tmp_path / "here")


def test_a_file_from_before_there_were_sign_ins_is_read(tmp_path: Path) -> None:
    path = tmp_path / FILE
    path.write_text(json.dumps({"secret": "s" * 64, "keys": {}, "port": 4711}))
    path.chmod(0o600)
    assert Auth(tmp_path).port == 4711


def test_signing_out_ends_this_browser_only(tmp_path: Path) -> None:
    auth = Auth(tmp_path)
    first, second = sign_in(auth, ANN), sign_in(auth, ANN)
    user = auth.user_of(first)
    assert user == ANN
    assert user is not None
    auth.sign_out(user)
    assert (auth.user_of(first), auth.user_of(second)) == (None, ANN)


def test_a_person_or_everybody_can_be_revoked(tmp_path: Path) -> None:
    auth = Auth(tmp_path)
    owner, ann, again, bob = (sign_in(auth, user) for user in (OWNER, ANN, ANN, BOB))
    waiting = auth.new_key(ANN)
    auth.revoke("ann")
    assert (auth.user_of(ann), auth.user_of(again), auth.sign_in(waiting)) == (None, None, None)
    assert (auth.user_of(owner), auth.user_of(bob)) == (OWNER, BOB)
    auth.revoke("bob", keep=str(auth.user_of(bob) and auth.user_of(bob).sign_in))  # type: ignore[union-attr]
    assert auth.user_of(bob) == BOB, "the browser that asks stays in"
    left = auth.new_key(BOB)
    user = auth.user_of(owner)
    assert user is not None
    auth.revoke_others(user)
    assert (auth.user_of(owner), auth.user_of(bob), auth.sign_in(left)) == (OWNER, None, None)
    assert [held.name for held in auth.sign_ins().values()] == ["expert"]


def test_two_servers_agree_on_keys_and_sign_ins(tmp_path: Path) -> None:
    first, second = Auth(tmp_path), Auth(tmp_path)
    key = first.new_key(ANN)
    second.new_key(BOB)
    first.remember_port(4711)
    cookie = second.sign_in(key)
    assert cookie is not None, "an invitation of one server is known to the other"
    assert first.sign_in(key) is None, "and works once in all"
    assert first.user_of(cookie) == ANN
    first.revoke("ann")
    assert second.user_of(cookie) is None
    assert second.port == 4711


def test_a_key_works_once_however_many_try_at_the_same_moment(tmp_path: Path) -> None:
    servers = [Auth(tmp_path) for _ in range(8)]
    for _ in range(5):
        key, start = servers[0].new_key(ANN), threading.Barrier(len(servers))

        def use(auth: Auth, key: str = key, start: threading.Barrier = start) -> str | None:
            start.wait()
            return auth.sign_in(key)

        with ThreadPoolExecutor(len(servers)) as pool:
            assert sum(cookie is not None for cookie in pool.map(use, servers)) == 1


def test_no_invitation_is_lost_when_two_servers_invite_at_once(tmp_path: Path) -> None:
    servers = [Auth(tmp_path) for _ in range(4)]
    with ThreadPoolExecutor(4) as pool:
        keys = list(pool.map(lambda auth: [auth.new_key(ANN) for _ in range(10)], servers))
    assert all(servers[0].sign_in(key) for group in keys for key in group)


def test_unused_keys_do_not_pile_up(tmp_path: Path) -> None:
    auth = Auth(tmp_path)
    keys = [auth.new_key(ANN) for _ in range(MOST_KEYS + 1)]
    assert auth.sign_in(keys[0]) is None
    assert auth.sign_in(keys[-1]) is not None


def test_two_servers_that_prepared_the_same_session_both_stay_open(tmp_path: Path) -> None:
    first, second = Auth(tmp_path / "preparing"), Auth(tmp_path / "preparing")
    one, two = sign_in(first, OWNER), sign_in(second, OWNER)
    key = second.new_key(OWNER)
    for auth in (first, second):
        auth.move(tmp_path / "session")
    assert (first.user_of(two), second.user_of(one)) == (OWNER, OWNER)
    assert first.sign_in(key) is not None
    assert list((tmp_path / "preparing").glob(FILE)) == []


def test_a_server_that_comes_late_brings_its_link_along(tmp_path: Path) -> None:
    first, late = Auth(tmp_path / "session"), Auth(tmp_path / "preparing")
    key = late.new_key(OWNER)
    late.move(tmp_path / "session")
    cookie = first.sign_in(key)
    assert cookie is not None
    assert late.user_of(cookie) == OWNER


def fail(error: type[OSError]) -> Callable[..., Any]:
    def refuse(*_: object, **__: object) -> None:
        raise error("The disk takes nothing in.")

    return refuse


@pytest.mark.parametrize("error", [DiskFullError, ReadOnlyError])
def test_on_a_disk_that_takes_nothing_the_owner_still_comes_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: type[OSError]
) -> None:
    waiting = Auth(tmp_path).new_key(ANN)
    with monkeypatch.context() as patch:
        patch.setattr("soel.web.auth.write_whole", fail(error))
        auth = Auth(tmp_path)
        key = auth.new_key(OWNER)
        cookie = auth.sign_in(key)
        assert cookie is not None
        assert auth.user_of(cookie) == OWNER
        assert auth.sign_in(key) is None
        assert auth.sign_in(waiting) is None, "that it was used could not be kept"
    assert Auth(tmp_path).sign_in(waiting) is not None
