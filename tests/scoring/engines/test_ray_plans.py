"""How work is divided, without a cluster."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from soel.ask.space import BLOCK_ROWS
from soel.cli.main import main
from soel.errors import ConfigError, DataError, SessionError
from soel.scoring.ray.cluster import Cluster, Plan, check_installed, in_our_words
from soel.scoring.ray.clusters import ClusterOptions, FeatureFile
from soel.scoring.ray.feature_shards import FeatureShards
from soel.scoring.ray.states import Form, State
from soel.scoring.ray.storage import Storage
from soel.scoring.ray.training import Job, worthwhile
from soel.settings import DEFAULT, Schedule
from soel.types import Floats

N_ROWS, WIDTH = 5 * BLOCK_ROWS + 77, 4


class Made:
    """Rows that are known without a file."""

    x = np.random.default_rng(0).standard_normal((N_ROWS, WIDTH)).astype(np.float32)

    def read(self, start: int, stop: int) -> Floats:
        return self.x[start:stop]


@pytest.fixture(params=["path", "address"])
def shards(request: pytest.FixtureRequest, tmp_path: Path) -> FeatureShards:
    root = str(tmp_path) if request.param == "path" else f"memory://{tmp_path.name}"
    return FeatureShards(Storage(root), "me", N_ROWS, WIDTH)


def test_shards_give_back_what_was_written(shards: FeatureShards) -> None:
    shards.claim()
    for number in shards.missing():
        shards.write(number, Made())
    assert shards.is_ours
    assert not shards.missing()
    for start, stop in [
        (0, N_ROWS),
        (0, 1),
        (BLOCK_ROWS - 1, BLOCK_ROWS + 1),
        (3 * BLOCK_ROWS, N_ROWS),
        (N_ROWS - 1, N_ROWS),
    ]:
        assert np.array_equal(shards.read(start, stop), Made.x[start:stop])


def test_shards_of_another_pool_are_not_taken(shards: FeatureShards) -> None:
    shards.claim()
    other = FeatureShards(shards.storage, "another", N_ROWS, WIDTH)
    assert not other.is_ours
    shards.storage.write("part-000000.parquet", b"old")
    other.claim()
    assert other.is_ours
    assert not shards.is_ours
    assert not other.storage.has("part-000000.parquet"), "what another pool left is gone"


@pytest.mark.parametrize("manifest", [None, b'{"name": "a web page"}', b"[1]", b"{"])
def test_what_is_no_pools_is_left_alone(shards: FeatureShards, manifest: bytes | None) -> None:
    shards.storage.write("thesis.tex", b"years of work")
    if manifest is not None:
        shards.storage.write("manifest.json", manifest)
    assert not shards.is_ours
    with pytest.raises(SessionError, match="did not put there, and is left as it is"):
        shards.claim()
    assert shards.storage.read("thesis.tex") == b"years of work"


@pytest.mark.parametrize("n_shards", [1, 2, 3, 6])
def test_shards_begin_with_a_block_and_leave_no_row_out(shards: FeatureShards, n_shards: int) -> None:
    bounds = shards.bounds(n_shards)
    assert len(bounds) == n_shards + 1
    assert bounds[0] == 0
    assert bounds[-1] == N_ROWS
    assert all(bound % BLOCK_ROWS == 0 for bound in bounds[:-1])
    assert all(np.diff(bounds) > 0)


def test_a_damaged_and_a_missing_shard_are_named(tmp_path: Path) -> None:
    shards = FeatureShards(Storage(str(tmp_path)), "me", N_ROWS, WIDTH)
    shards.write(0, Made())
    with pytest.raises(DataError, match=r"part-000001\.parquet cannot be read: No such file"):
        shards.read(0, N_ROWS)
    (tmp_path / shards.name(0)).write_bytes(b"PAR1 and nothing else")
    with pytest.raises(DataError, match=r"part-000000\.parquet cannot be read: .* Remove it"):
        shards.read(0, 10)


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(SessionError, match=r"file/inside/x cannot be written: .* run the same"):
        Storage(str(tmp_path / "file" / "inside")).write("x", b"content")


def test_shards_of_others_that_cannot_be_removed_are_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(SessionError, match=r"file cannot be removed: .* by hand"):
        Storage(str(tmp_path / "file")).clear(is_ours=True)
    Storage(str(tmp_path / "nothing")).clear(is_ours=False)


def test_features_that_a_machine_cannot_reach_are_named() -> None:
    with pytest.raises(ConfigError, match=r"nowhere\.npy cannot be read on a machine of the cluster.*shared="):
        FeatureFile("nowhere.npy").read(0, 1)


def job(schedule: Schedule) -> Job:
    shards = FeatureShards(Storage("nowhere"), "me", 10**7, 30)
    return Job("job", Form(DEFAULT.to_json(), 0, 30), State({}, {}), shards, schedule)


@pytest.mark.parametrize(
    ("batch_size", "n_cores", "memory", "n_workers"),
    [
        (2048, 16, 64e9, 1),  # one machine is faster than waiting for others
        (2048, 1, 64e9, 8),
        (None, 16, 64e9, 9),  # a fifth of an epoch of 200,000 rows
        (2048, 16, 1e9, 5),  # 4.8 GB have to go somewhere
    ],
)
def test_no_more_workers_share_a_training_than_gain_by_it(
    batch_size: int | None, n_cores: int, memory: float, n_workers: int
) -> None:
    schedule = Schedule(epochs=1, learning_rate=1e-3, batch_size=batch_size)
    assert worthwhile(Plan(100, n_cores, memory), job(schedule)).n_workers == n_workers


def test_our_own_errors_are_found_inside_those_of_others() -> None:
    class Wrapper(Exception):  # noqa: N818
        def __init__(self, cause: Exception) -> None:
            self.cause = cause

    ours = DataError("this one")
    assert in_our_words(Wrapper(ours)) is ours
    foreign = ValueError("not ours")
    assert in_our_words(foreign) is foreign


@pytest.mark.parametrize("address", ["localhost:1", "ray://head:10001", "head"])
def test_an_address_without_a_cluster_is_named(address: str) -> None:
    with pytest.raises(ConfigError, match=f"There is no Ray cluster at {address} .*ray start --head"):
        Cluster(address).connect()


def test_ray_is_imported_by_those_who_ask_for_it_only() -> None:
    code = "import sys, soel.cli.main, soel.session.create, soel.session.create; sys.exit('ray' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ConfigError, match=r"pip install 'soel\[ray\]'"):
        check_installed()


def test_an_address_alone_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fit", str(tmp_path), "--address", "head:6379"]) == 2
    assert "say --engine ray" in capsys.readouterr().err


def test_no_workers_are_too_few() -> None:
    with pytest.raises(ConfigError, match="workers=0"):
        ClusterOptions(n_workers=0)
