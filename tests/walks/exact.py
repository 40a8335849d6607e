"""Eq. 1 in plain loops and exact arithmetic: what the walks are checked against."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

REACHES = ("occurrence", "future")
DIRECTIONS = ("forward", "backward")
CENTRALITIES = ("degree", "degree-so-far", "uniform")


def links(graph):
    """Every event as (event, who acts, on whom, when): an undirected one twice, unless it is a self-link."""
    found = []
    for k, (u, v, t) in enumerate(zip(graph.src.tolist(), graph.dst.tolist(), graph.time.tolist(), strict=True)):
        found.append((k, u, v, t))
        if not graph.directed and u != v:
            found.append((k, v, u, t))
    return found


def candidates(graph, node, t, reach="occurrence", centrality="degree", direction="forward"):
    """The candidates of a step as {(event, node, time): probability}, each probability a Fraction."""
    tov = graph.tov(node).tolist()
    following = [one for one in tov if one > t]
    last = following[0] if reach == "occurrence" and following else math.inf
    found = []
    for k, actor, target, when in links(graph):
        if direction == "forward" and target == node and t < when <= last:
            found.append((k, actor, when))
        if direction == "backward" and actor == node and when == t:
            earlier = [one for one in graph.tov(target).tolist() if one < t]
            found += [(k, target, one) for one in (earlier[-1:] if reach == "occurrence" else earlier)]
    if len(found) == 1:
        return {found[0]: Fraction(1)}
    delta = [abs(Fraction(when) - Fraction(t)) for _, _, when in found]
    weight = [
        centrality_of(graph, k, u, centrality) * (1 - d / sum(delta)) for (k, u, _), d in zip(found, delta, strict=True)
    ]
    return {one: w / sum(weight) for one, w in zip(found, weight, strict=True)}


def centrality_of(graph, event, node, centrality):
    if centrality == "uniform":
        return 1
    until = math.inf if centrality == "degree" else graph.time[event]
    pairs = zip(graph.src.tolist(), graph.dst.tolist(), graph.time.tolist(), strict=True)
    return sum(node in (u, v) and when <= until for u, v, when in pairs)


def exact_shares(weight, time, t):
    """Probabilities of many candidates in whole numbers, each correctly rounded; times are multiples of 2^-44."""
    unit = 2.0**44
    delta = [abs(int(when * unit) - int(t * unit)) for when in time.tolist()]
    assert all(when * unit == int(when * unit) for when in (*time[:100].tolist(), t))
    total = sum(delta)
    shares = [w * (total - d) for w, d in zip(weight.tolist(), delta, strict=True)]
    norm = sum(shares)
    return np.array([share / norm for share in shares])


def relative_error(found, expected):
    return float(np.max(np.abs(found - expected) / expected)) if len(expected) else 0.0


def chi_square_p(counts, probability):
    """Upper tail of Pearson's chi-square; candidates expected fewer than 5 times are thrown together."""
    counts, expected = np.asarray(counts, float), np.asarray(probability, float) * np.sum(counts)
    rare = expected < 5
    if rare.any():
        counts = np.append(counts[~rare], counts[rare].sum())
        expected = np.append(expected[~rare], expected[rare].sum())
    if counts.size < 2:
        return 1.0
    return upper_gamma((counts.size - 1) / 2, float(np.sum((counts - expected) ** 2 / expected)) / 2)


def upper_gamma(a, x):
    """Regularised upper incomplete gamma function: a series below a + 1, a continued fraction above."""
    if x <= 0:
        return 1.0
    front = math.exp(-x + a * math.log(x) - math.lgamma(a))
    if x < a + 1:
        term = total = 1 / a
        n = a
        while abs(term) > 1e-16 * total:
            n += 1
            term *= x / n
            total += term
        return max(0.0, 1 - front * total)
    b = x + 1 - a
    c, d = 1e300, 1 / b
    h = d
    for i in range(1, 10_000):
        b += 2
        step = -i * (i - a)
        d = 1 / (step * d + b)
        c = b + step / c
        h *= d * c
        if abs(d * c - 1) < 1e-15:
            break
    return front * h


def uniform_p(values):
    """Kolmogorov's test that p-values are uniform in [0, 1]."""
    values = np.sort(values)
    n = values.size
    steps = np.arange(1, n + 1)
    gap = max((steps / n - values).max(), (values - (steps - 1) / n).max())
    x = gap * (math.sqrt(n) + 0.12 + 0.11 / math.sqrt(n))
    return min(1.0, 2 * sum((-1) ** (k - 1) * math.exp(-2 * k * k * x * x) for k in range(1, 50)))
