"""What the labels say of each row by simple rules, for the network to weigh."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from soel.detectors.pretrained.reference import FAR, TINY, Described, Reference

N_EVIDENCE, N_META = 15, 8
DEPTHS = (3, 5, 8)  # of the forest at which rows are said to be together
N_BINS = 10
PRIOR = 0.1  # the share of anomalies that is assumed where no label speaks, with the weight of one label


def evidence(reference: Reference, pool: Described, rows: Described, labels: Tensor) -> Tensor:
    """(B, n, N_EVIDENCE) for described rows, from the pool's labels (B, N) of 1, 0 and -1."""
    is_anomaly, is_normal = (labels == 1).float(), (labels == 0).float()
    parts = [
        _to_nearest(pool.distances[space], rows.distances[space], has_label)
        for space in (0, 1)
        for has_label in (is_anomaly > 0, is_normal > 0)
    ]
    parts += [parts[1] - parts[0], parts[3] - parts[2]]
    parts += _together(pool.nodes, rows.nodes, is_anomaly, is_normal)
    parts += _by_bins(pool, rows, is_anomaly, is_normal)
    parts += [
        _along(pool.z, rows.z, is_anomaly, is_normal, reference.precisions[0]),
        _along(pool.g, rows.g, is_anomaly, is_normal, None),
        _kernel(pool.distances[0], rows.distances[0], is_anomaly, is_normal),
        _kernel(pool.distances[1], rows.distances[1], is_anomaly, is_normal),
    ]
    return torch.stack(parts, -1).clamp(-6, 6)


def meta(reference: Reference, labels: Tensor) -> Tensor:
    """(B, N_META) about the whole: how large the pool is, how many labels of each kind there are."""
    n_tasks, n_pool, width = reference.z.shape
    n_anomalies, n_normals = (labels == 1).sum(1).float(), (labels == 0).sum(1).float()
    n_labelled = n_anomalies + n_normals
    ones = labels.new_ones(n_tasks, dtype=torch.float)
    parts = [
        ones * (math.log(width) / 3),
        ones * (math.log(n_pool) / 3 - 1),
        (1 + n_anomalies).log() / 2,
        (1 + n_normals).log() / 2,
        n_anomalies / n_labelled.clamp_min(1),
        (n_anomalies > 0).float(),
        (n_normals > 0).float(),
        reference.scale.add(TINY).log(),
    ]
    return torch.stack(parts, -1)


def _to_nearest(own: Tensor, distances: Tensor, has_label: Tensor) -> Tensor:
    """Log distance (B, n) to the nearest row with that label, standardised over the pool; 0 where there is none."""
    nearest = [
        d.masked_fill(~has_label[:, None], FAR).amin(-1).clamp_max(1e3).add(TINY).log() for d in (own, distances)
    ]
    free = (~has_label).float()
    n_free = free.sum(1, keepdim=True).clamp_min(1)
    middle = (nearest[0] * free).sum(1, keepdim=True) / n_free
    spread = (((nearest[0] - middle).square() * free).sum(1, keepdim=True) / n_free).sqrt()
    return torch.where(has_label.any(1, keepdim=True), (nearest[1] - middle) / (spread + 1e-3), 0.0)


def _together(pool: Tensor, rows: Tensor, is_anomaly: Tensor, is_normal: Tensor) -> list[Tensor]:
    """Mean log odds (B, n) of the labels that share a node with a row, at some depths of the forest."""
    n_trees, n_nodes = pool.shape[1], int(2 ** (DEPTHS[-1] + 1))
    odds = []
    for depth in DEPTHS:
        counts = []
        for has_label in (is_anomaly, is_normal):
            tally = torch.zeros(len(pool), n_trees, n_nodes, device=pool.device)
            tally.scatter_add_(2, pool[..., depth], has_label[:, None].expand(-1, n_trees, -1))
            counts.append(tally)
        table = ((counts[0] + PRIOR) / (counts[1] + 1 - PRIOR)).log() - math.log(PRIOR / (1 - PRIOR))
        odds.append(table.gather(2, rows[..., depth]).mean(1))
    return odds


def _by_bins(pool: Described, rows: Described, is_anomaly: Tensor, is_normal: Tensor) -> list[Tensor]:
    """Naive Bayes over tenths of each column: mean and largest log ratio (B, n) of anomalies to the pool."""
    own, theirs = (((d.cells[..., 2] + 1) * 0.5 * N_BINS).long().clamp(0, N_BINS - 1) for d in (pool, rows))
    one_hot = (own[..., None] == torch.arange(N_BINS, device=own.device)).float()  # (B, N, d, bins)
    weights = torch.stack([is_anomaly, is_normal, torch.full_like(is_normal, 1 / own.shape[1])], 1)  # (B, 3, N)
    counts = torch.einsum("bkn,bndh->bkdh", weights, one_hot)
    smooth = counts.clone()
    smooth[..., 1:] += 0.5 * counts[..., :-1]
    smooth[..., :-1] += 0.5 * counts[..., 1:]
    anomalies, normals, everyone = smooth.unbind(1)
    n_anomalies, n_normals = anomalies.sum(-1, keepdim=True), normals.sum(-1, keepdim=True)
    everyone = everyone / everyone.sum(-1, keepdim=True) + 1e-3
    ratio = (anomalies + 4 * everyone) / (n_anomalies + 4) / ((normals + 8 * everyone) / (n_normals + 8))
    ratio = ratio.log()  # (B, d, bins)
    ratios = ratio[:, None].expand(-1, theirs.shape[1], -1, -1).gather(3, theirs[..., None])[..., 0]  # (B, n, d)
    return [2 * ratios.mean(-1), ratios.amax(-1) + ratios.amin(-1)]


def _along(own: Tensor, rows: Tensor, is_anomaly: Tensor, is_normal: Tensor, precision: Tensor | None) -> Tensor:
    """Place (B, n) along the direction from the rest to the labelled anomalies, in deviations over the pool."""
    n_anomalies, n_normals = is_anomaly.sum(1), is_normal.sum(1)
    to = (is_anomaly[:, None] @ own)[:, 0] / n_anomalies.clamp_min(1)[:, None]
    away = (is_normal[:, None] @ own)[:, 0] / (n_normals + 5)[:, None]
    direction = to - away if precision is None else ((to - away)[:, None] @ precision)[:, 0]
    places = [(x @ direction[..., None])[..., 0] for x in (own, rows)]
    middle, spread = places[0].mean(1, keepdim=True), places[0].std(1, keepdim=True)
    return torch.where(n_anomalies[:, None] > 0, (places[1] - middle) / (spread + 1e-3), 0.0)


def _kernel(own: Tensor, distances: Tensor, is_anomaly: Tensor, is_normal: Tensor) -> Tensor:
    """Log odds (B, n) of labels weighed by nearness, in units of the typical distance to a labelled row."""
    is_labelled = (is_anomaly + is_normal) > 0
    nearest = own.masked_fill(~is_labelled[:, None], FAR).amin(-1)
    reach = nearest.median(1).values.clamp(TINY, 1e3)[:, None, None]
    weights = torch.exp(-0.5 * (distances / reach).square())
    for_it, against = ((weights * label[:, None]).sum(-1) for label in (is_anomaly, is_normal))
    return ((for_it + 0.1 * PRIOR) / (against + 0.1)).log() - math.log(PRIOR)
