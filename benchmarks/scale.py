"""One, two and four Ray workers on this machine, and a model of a cluster that is checked against them.

Two cores cannot show how a hundred machines scale. They can show what a worker costs, that the work divides, how much
is moved, and whether the model is right where it can be checked: two workers on two free cores should take about half
of one, four about as long as two. Cores are rarely free, so what two bare processes gain over one is measured as well.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as arrow
from pyarrow import parquet

from benchmarks.scale_model import Job, Machines, Rates, bytes_moved, seconds, step_traffic
from soel.ask.k_center import KCenter
from soel.ask.shards import Shard
from soel.ask.space import Origin
from soel.networks.layers import BatchNorm
from soel.scoring.cluster_scoring import scoring_on
from soel.scoring.ray.clusters import ClusterOptions
from soel.scoring.score_stream import Scorer, score_missing
from soel.scoring.scored_parts import open_scored_parts
from soel.session import Session, SessionOptions, create
from soel.session.cluster_drawing import DrawPart
from soel.session.sampling import open_whole
from soel.settings import DEFAULT
from soel.tables.sampling import draw_rows
from soel.types import Estimate, PoolView, Rows

WIDTH, N_FILES, FILE_ROWS, POOL_ROWS, N_DRAWS, BATCH, EPOCHS = 30, 8, 32_768, 131_072, 20, 2048, 6
TABLES = replace(DEFAULT.tables, epochs=EPOCHS, batch_size=BATCH, rows_per_epoch=POOL_ROWS)
PROFILE = replace(DEFAULT, name="scale", tables=TABLES)
WORKERS = (1, 2, 4)
BARE = """import os; os.environ["OMP_NUM_THREADS"] = "1"
import numpy; x = numpy.random.rand(400, 400).astype("float32")
for _ in range(3000): x @ x"""
FIXED = Estimate(0.02, 0.0, 0.1, "fixed")


def measure() -> dict[str, float]:
    """Seconds of each phase with 1, 2 and 4 workers, the model beside them, and the model far beyond."""
    os.environ.setdefault("RAY_worker_niceness", "0")  # else other work on this machine goes first
    with _session() as session:
        found, gain = {n: _phases(session, n) for n in WORKERS[:2]}, _bare_gain()
        found |= {n: _phases(session, n) for n in WORKERS[2:]}
        job = _job(session)
        rates = _rates(found, job, _compared_bytes(session))
    figures = {f"{phase}_seconds_{n}": took for n in WORKERS for phase, took in found[n].items()}
    figures["bare_two_over_one"] = gain
    for phase in ("drawing", "training", "query", "scoring"):
        figures[f"{phase}_two_over_one"] = found[1][phase] / found[2][phase]
    figures["scoring_gain_over_bare_gain"] = figures["scoring_two_over_one"] / gain
    figures |= _checked(found, rates, job, gain)
    _print_far(rates, replace(job, n_rows=10**9, pool_rows=10**7, n_steps=500))
    return figures


@contextmanager
def _session() -> Iterator[Session]:
    """A session on 262,144 rows of which half are its pool."""
    place = Path(tempfile.mkdtemp(prefix="soel-scale-"))
    rng = np.random.default_rng(0)
    (place / "rows").mkdir()
    for number in range(N_FILES):
        x = rng.standard_normal((FILE_ROWS, WIDTH), dtype=np.float32)
        columns = {f"c{column}": x[:, column] for column in range(WIDTH)}
        parquet.write_table(arrow.table(columns), place / "rows" / f"{number:02d}.parquet")
    try:
        session = create.create_session(
            place / "session", place / "rows", SessionOptions(profile=PROFILE, pool_rows=POOL_ROWS)
        )
        session.ask(2)
        session.close()
        yield session
    finally:
        shutil.rmtree(place)


def _phases(session: Session, n_workers: int) -> dict[str, float]:
    """Seconds of each phase; but for the start, processes are there already."""
    began = time.perf_counter()
    clustered = create.open_session(session.folder.path, cluster=ClusterOptions(n_workers=n_workers))
    engine: Any = clustered.engine
    compute, place = engine.cluster, session.folder.path.parent
    ref = session.state.warm_up
    assert ref is not None
    detector = engine.load(session.folder.path / ref.folder)
    compute.cluster.connect()
    start = time.perf_counter() - began
    stream = open_whole(clustered.folder, engine.encoder)
    numbers, rows = [part.number for part in stream.parts], draw_rows(stream.n_rows, POOL_ROWS, 0)

    def draw(wanted: Rows) -> None:
        compute.map_parts(DrawPart(stream, wanted, place / f"drawn-{time.monotonic_ns()}"), numbers, None)

    scorer = Scorer(
        "warm", engine.encoder, detector.blend.score, lambda s: s > 0, elsewhere=scoring_on(engine, detector)
    )

    def score() -> None:
        with open_scored_parts(place / f"scored-{time.monotonic_ns()}", stream, "warm") as parts:
            score_missing(parts, scorer)

    nothing = _second(lambda: draw(rows[:0]))  # no row is wanted, so no part is read
    figures = {"start": start, "map": nothing, "drawing": _second(lambda: draw(rows)), "scoring": _second(score)}
    figures["training"] = _training(engine, detector, clustered)
    figures["query"] = _query(engine, detector, clustered)
    compute.close()
    clustered.close()
    return figures


def _training(engine: Any, detector: Any, session: Session) -> float:
    """Seconds of one epoch: from the first one that was seen to end to the last."""
    labels = np.full(POOL_ROWS, -1, np.int8)
    labels[:10] = np.arange(10) < 5
    seen: list[tuple[int, float]] = []
    pool, model = session.pool, engine.loop.new_model(WIDTH)
    tasks = [engine.loop.task(detector, pool, labels, FIXED)] * model.n_members
    schedule = engine.loop.profile.schedule
    engine.cluster.fit(model, pool, tasks, schedule, True, lambda done, _: seen.append((done, time.perf_counter())))
    (first, began), (last, ended) = seen[0], seen[-1]
    return (ended - began) / (last - first)


def _query(engine: Any, detector: Any, session: Session) -> float:
    """Seconds of all draws."""
    scores, embeddings = engine.loop.look(detector, session.pool)
    view = PoolView(scores, embeddings, np.full(POOL_ROWS, -1, np.int8))
    return _second(lambda: engine.cluster.select(KCenter(), view, N_DRAWS, np.random.default_rng(0), 0, None))


def _second(work: Callable[[], object]) -> float:
    work()
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def _job(session: Session) -> Job:
    """What the runs here did: one epoch of training, all draws, all rows."""
    engine: Any = session.engine
    ref = session.state.warm_up
    assert ref is not None
    backbone = engine.load(session.folder.path / ref.folder).model.backbone
    norms = [module for module in backbone.modules() if isinstance(module, BatchNorm)]
    shape = {
        "n_members": backbone.n_members,
        "n_parameters": sum(parameter.numel() for parameter in backbone.parameters()),
        "n_norms": len(norms),
        "norm_width": norms[0].mean.numel(),
    }
    sums, sum_bytes = step_traffic(shape, BATCH)
    steps = -(-POOL_ROWS // BATCH)
    return Job(N_FILES * FILE_ROWS, POOL_ROWS, WIDTH, WIDTH * 4.0, N_DRAWS, steps, BATCH, sums, sum_bytes)


def _rates(found: Mapping[int, Mapping[str, float]], job: Job, query_bytes: float) -> Rates:
    """From one worker alone, and from what a second one adds to a step: waiting for sums."""
    one, two = found[1], found[2]
    compared = job.pool_rows * job.width * 4 / query_bytes
    return Rates(
        map_seconds=one["map"],
        draw_rows=job.n_rows / max(one["drawing"] - one["map"], 1e-9),
        score_rows=job.n_rows / max(one["scoring"] - one["map"], 1e-9),
        step_seconds=one["training"] / job.n_steps,
        step_rows=job.batch_rows,
        wait_seconds=max(0.0, two["training"] - one["training"] / 2) / job.n_steps / job.sums,
        query_bytes=query_bytes,
        ask_seconds=max(0.0, one["query"] / job.n_draws - compared),
    )


def _checked(found: Mapping[int, Mapping[str, float]], rates: Rates, job: Job, gain: float) -> dict[str, float]:
    """Model over measured for those runs that no rate was taken from; the worst of them, either way."""
    names = {"drawing": "drawing the pool", "scoring": "scoring", "training": "training", "query": "query"}
    figures = {}
    for n_workers in WORKERS[1:]:
        model = seconds(rates, job, Machines(n_workers, min(1.0, gain / n_workers)))
        for phase, name in names.items():
            if n_workers > 2 or phase != "training":
                figures[f"{phase}_model_over_measured_{n_workers}"] = model[name] / found[n_workers][phase]
    worst = min(min(ratio, 1 / ratio) for ratio in figures.values())
    return figures | {"model_worst_ratio": worst}


def _compared_bytes(session: Session) -> float:
    """Bytes of embeddings a second that one core compares with a point."""
    shard = Shard(np.asarray(session.folder.pool), 0)
    shard.settle(Origin(np.zeros(WIDTH, np.float32), False), np.ones(POOL_ROWS, bool))
    (point,) = shard.points_of(np.array([5]))
    return session.folder.pool.nbytes / _second(lambda: shard.farthest([point]))


def _bare_gain() -> float:
    """What two processes that share nothing do in the time of one: 2 on free cores, less where others are at work."""
    times = []
    for number in (1, 2):
        start = time.perf_counter()
        processes = [subprocess.Popen([sys.executable, "-c", BARE]) for _ in range(number)]
        for process in processes:
            process.wait()
        times.append(time.perf_counter() - start)
    return 2 * times[0] / times[1]


def _print_far(rates: Rates, job: Job) -> None:
    print(f"rates: {rates}")
    for machines in (Machines(1, 16), Machines(4, 16), Machines(100, 16)):
        took, moved = seconds(rates, job, machines), bytes_moved(job, machines)
        print(f"{machines.nodes} machines of {machines.cores} cores, {job.n_rows:.0e} rows, pool {job.pool_rows:.0e}:")
        for phase, value in took.items():
            print(f"  {phase:18s} {value:12.1f} s {moved[phase] / 1e9:10.2f} GB")


FLOORS = {"scoring_gain_over_bare_gain": 0.6, "model_worst_ratio": 0.4}
