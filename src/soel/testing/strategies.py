"""The laws of a strategy. A part is what makes one: a class, or any callable without arguments."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from soel.ask.base import Need, Strategy
from soel.errors import ConfigError, DataError
from soel.testing.laws import Law, check_all, equal, example_view, expecting, laws_of, leaving_alone, require
from soel.types import UNLABELLED, PoolView, Selection

MakeStrategy = Callable[[], Strategy]


def check_strategy(make: MakeStrategy) -> None:
    """Hold a strategy against every law."""
    check_all(STRATEGY_LAWS, make)


def check_rows_are_distinct_and_unlabelled(make: MakeStrategy) -> None:
    """As many rows as were asked for, none twice, none that has a label."""
    for n_rows, n_labelled, n_queries in ((2, 0, 1), (2, 1, 1), (7, 3, 4), (40, 0, 5), (40, 12, 20), (40, 39, 1)):
        for seed in range(3):
            view = example_view(n_rows, seed, n_labelled)
            rows = _select(make, view, n_queries, seed).rows
            case = f"{n_queries} of {n_rows} rows, {n_labelled} of them labelled: got {rows.tolist()}"
            require(len(rows) == n_queries, f"A selection must have as many rows as were asked for. {case}")
            require(len(set(rows.tolist())) == n_queries, f"A selection must not have a row twice. {case}")
            require((rows >= 0).all() and (rows < n_rows).all(), f"Rows are positions in the pool. {case}")
            require((view.labels[rows] == UNLABELLED).all(), f"A labelled row must not be asked again. {case}")


def check_seeding_is_idempotent(make: MakeStrategy) -> None:
    """Equal seeds give equal rows and odds, from the same strategy and from a new one; the global seed is no matter."""
    view, strategy, state = example_view(n_labelled=3), make(), np.random.get_state()
    first = strategy.select(view, 8, np.random.default_rng(3))
    try:
        for seed, other in enumerate((strategy, make())):
            np.random.seed(seed)
            again = other.select(view, 8, np.random.default_rng(3))
            require(
                equal(first, again),
                f"The same seed must give the same selection: {first.rows.tolist()}, then {again.rows.tolist()}.",
            )
    finally:
        np.random.set_state(state)


def check_selection_is_prefix_closed(make: MakeStrategy) -> None:
    """A reserve follows the queries and does not change them; it is as long as the pool allows."""
    for n_labelled in (0, 5):
        view = example_view(n_labelled=n_labelled)
        alone, longer = _select(make, view, 6), _select(make, view, 6, n_reserve=10)
        require(len(longer.rows) == 16, f"6 queries and a reserve of 10 are 16 rows, got {len(longer.rows)}.")
        require(
            np.array_equal(longer.rows[:6], alone.rows) and np.allclose(longer.odds[:6], alone.odds, rtol=1e-9),
            f"A reserve must not change the queries: {alone.rows.tolist()} without, {longer.rows[:6].tolist()} with.",
        )
        everything = _select(make, view, 6, n_reserve=1000).rows
        require(
            sorted(everything.tolist()) == view.unlabelled.tolist(),
            f"A reserve beyond the pool holds all {len(view.unlabelled)} rows without a label, got {len(everything)}.",
        )


def check_odds_are_probabilities(make: MakeStrategy) -> None:
    """One number above 0 and up to 1 for each row."""
    for n_labelled in (0, 5):
        selection = _select(make, example_view(n_labelled=n_labelled), 10)
        require(
            selection.odds.shape == selection.rows.shape,
            f"There must be one probability a row, got {selection.odds.shape} for {selection.rows.shape}.",
        )
        require(
            ((selection.odds > 0) & (selection.odds <= 1)).all(),
            f"Odds must lie above 0 and at most at 1, got {selection.odds.tolist()}.",
        )


def check_view_is_not_changed(make: MakeStrategy) -> None:
    """The view belongs to the caller."""
    view = example_view(n_labelled=4)
    with leaving_alone("The strategy", scores=view.scores, embeddings=view.embeddings, labels=view.labels):
        _select(make, view, 5)


def check_equal_rows_are_no_trouble(make: MakeStrategy) -> None:
    """A pool of copies of one row is asked about, each copy once."""
    for n_labelled in (0, 2):
        view = example_view(12, n_labelled=n_labelled)
        flat = replace(view, scores=np.zeros(12), embeddings=np.ones((12, 3), np.float32))
        selection = _select(make, flat, 12 - n_labelled)
        require(
            sorted(selection.rows.tolist()) == flat.unlabelled.tolist(),
            f"All {12 - n_labelled} equal rows were asked for, got {selection.rows.tolist()}.",
        )
        require(np.isfinite(selection.odds).all(), f"Odds must be finite, got {selection.odds.tolist()}.")


def check_impossible_numbers_are_refused(make: MakeStrategy) -> None:
    """No query at all, or more than there are rows without a label, is a DataError."""
    view = example_view(n_labelled=10)
    for n_queries in (0, -1, 51):
        with expecting(f"Asking for {n_queries} of 50 rows without a label", DataError):
            _select(make, view, n_queries)


def check_contamination_is_needed_only_where_declared(make: MakeStrategy) -> None:
    """A strategy that needs the contamination refuses a view without it; for others it changes nothing."""
    view = example_view(n_labelled=3)
    blind = replace(view, contamination=None)
    if Need.CONTAMINATION in make().needs:
        with expecting("A view without the share of anomalies", ConfigError):
            _select(make, blind, 3)
    else:
        require(
            equal(_select(make, view, 3), _select(make, blind, 3)),
            "The strategy looks at the view's contamination and does not say so: name it in `needs`.",
        )


def check_only_what_is_declared_is_looked_at(make: MakeStrategy) -> None:
    """Scores and embeddings that `needs` does not name are not computed: the selection is the same without them."""
    view, needs = example_view(n_labelled=3), make().needs
    empty = view
    if Need.SCORES not in needs:
        empty = replace(empty, scores=np.zeros(0))
    if not needs & {Need.EMBEDDINGS, Need.GRADIENTS}:
        empty = replace(empty, embeddings=np.zeros((0, 0)))
    try:
        found = _select(make, empty, 5)
    except (IndexError, ValueError) as error:
        raise AssertionError(f"The strategy looks at what it does not name in `needs`: {error}") from error
    require(
        equal(found, _select(make, view, 5)),
        "The selection is another one without what the strategy does not name in `needs`.",
    )


def check_memory_grows_with_the_rows(make: MakeStrategy) -> None:
    """Twice the rows take about twice the memory, and never all pairs."""
    peaks = []
    for n_rows in (6000, 12000):
        view = example_view(n_rows)
        tracemalloc.start()
        try:
            _select(make, view, 5)
            peaks.append(tracemalloc.get_traced_memory()[1])
        finally:
            tracemalloc.stop()
    require(
        peaks[1] < 2.5 * peaks[0] and peaks[1] < 12000 * 12000 / 2,
        f"Memory must grow with the rows: {peaks[0] / 1e6:.0f} MB for 6,000, {peaks[1] / 1e6:.0f} MB for 12,000.",
    )


STRATEGY_LAWS: tuple[Law[MakeStrategy], ...] = laws_of(__name__, but=check_strategy)


def _select(make: MakeStrategy, view: PoolView, n_queries: int, seed: int = 0, n_reserve: int = 0) -> Selection:
    return make().select(view, n_queries, np.random.default_rng(seed), n_reserve)
