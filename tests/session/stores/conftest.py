"""A real PostgreSQL server, started once for all tests of a process."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator

import pytest

from tests.session.stores.postgres_server import Server, find_binaries, running_server


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    if find_binaries() is None and not os.environ.get("CI"):
        pytest.skip("there is no PostgreSQL on this machine (no initdb) and it cannot be installed without root")
    with running_server() as server:
        yield server


@pytest.fixture(scope="session")
def address(postgres: Server) -> str:
    """The address of a database that many sessions share."""
    return postgres.new_database("shared")


@pytest.fixture
def empty_address(postgres: Server) -> str:
    """The address of a new, empty database."""
    return postgres.new_database(f"d{uuid.uuid4().hex}")


@pytest.fixture
def name() -> str:
    """A session's id that no other test uses."""
    return uuid.uuid4().hex
