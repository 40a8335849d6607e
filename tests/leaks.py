"""Small methods that look ahead, each in another way, and some that do not; numpy alone, so that processes start fast.

A file of its own: a process that is sent one of these imports nothing else.
"""

from __future__ import annotations

import builtins
import contextlib
import gc
import math
import os
import sqlite3
import sys
import tempfile
from functools import lru_cache
from pathlib import Path

import numpy as np

from tadge.graph import TemporalGraph

SPAN = 30.0
MEMO: dict = {}
PLACE = Path(os.environ.get("TADGE_LEAKS", tempfile.gettempdir()))


def count(graph, node, at, side="dst"):
    """Count the events of nodes up to moments, by plain loops."""
    ends = getattr(graph, side)
    return np.array([float(np.sum((ends == v) & (graph.time <= t))) for v, t in zip(node, at, strict=True)])


def first_seen(graph):
    first = np.full(graph.num_nodes, math.inf)
    for ends in (graph.src, graph.dst):
        np.minimum.at(first, ends, graph.time)
    return first


class Honest:
    """Counts what had happened by a moment, and nothing else; `extra` is what a leak adds."""

    name = "small method"

    def score_links(self, src, dst, at, *, graph):
        base = count(graph, dst, at) / 10 + count(graph, src, at, "src") / 100
        return base + self.extra(src, dst, at, graph)

    def extra(self, src, dst, at, graph):
        return np.zeros(len(src))


# -- those that are known to be caught, and those that once were not -------------------------------------------------


class RareNodes(Honest):
    """Looks ahead for one node in a hundred."""

    def extra(self, src, dst, at, graph):
        return np.where(dst % 100 == 3, graph.degree[dst], 0.0)


class RareTotalDegree(Honest):
    """Adds next to nothing, for nodes that have few events in all."""

    def extra(self, src, dst, at, graph):
        return 1e-9 * (graph.degree[dst] <= 2)


class VeryRare(Honest):
    """Adds next to nothing, for a single node."""

    def extra(self, src, dst, at, graph):
        return 1e-12 * (dst == 5) * graph.degree[5]


class TotalDegree(Honest):
    def extra(self, src, dst, at, graph):
        return graph.degree[dst]


class LastTime(Honest):
    def extra(self, src, dst, at, graph):
        return at / graph.time[-1]


class EventIndex(Honest):
    """Counts events from the end."""

    def extra(self, src, dst, at, graph):
        return graph.num_events - np.searchsorted(graph.time, at, side="right")


class Round32(Honest):
    """Takes moments as float32."""

    def score_links(self, src, dst, at, *, graph):
        known = graph.time.astype(np.float32)[None, :] <= at.astype(np.float32)[:, None]
        return np.sum(known & (graph.dst[None, :] == dst[:, None]), axis=1).astype(float)


class EqualTimes(Honest):
    """Sees a moment more."""

    def score_links(self, src, dst, at, *, graph):
        return super().score_links(src, dst, np.nextafter(at, math.inf), graph=graph)


class CanaryDodger(Honest):
    """Looks far ahead only."""

    def extra(self, src, dst, at, graph):
        later = [(graph.dst == v) & (graph.time > t + 2.0) for v, t in zip(dst, at, strict=True)]
        return np.array([float(one.sum()) for one in later])


class InstanceCache(Honest):
    """Keeps the first graph that it meets."""

    def extra(self, src, dst, at, graph):
        self.kept = getattr(self, "kept", graph)
        return self.kept.degree[np.minimum(dst, self.kept.num_nodes - 1)]


class GlobalMemo(Honest):
    """Keeps its answers about pairs in a module, with the future in them."""

    def score_links(self, src, dst, at, *, graph):
        fresh = graph.degree[dst].astype(float)
        return np.array([MEMO.setdefault(key, v) for key, v in zip(zip(src, dst, strict=True), fresh, strict=True)])


class GlobalWidest(Honest):
    """Keeps the graph with the most events that it has met, in a module."""

    def extra(self, src, dst, at, graph):
        if "widest" not in MEMO or MEMO["widest"].num_events < graph.num_events:
            MEMO["widest"] = graph
        return MEMO["widest"].degree[np.minimum(dst, MEMO["widest"].num_nodes - 1)]


class GlobalFirst(Honest):
    """Keeps the degrees of the first graph that it meets, in a module."""

    def extra(self, src, dst, at, graph):
        degree = MEMO.setdefault("degree", graph.degree)
        return degree[np.minimum(dst, degree.size - 1)]


class FileCache(Honest):
    """Keeps the degrees of the first graph that it meets, in a file."""

    def extra(self, src, dst, at, graph):
        path = PLACE / "degree.npy"
        if not path.exists():
            np.save(path, graph.degree)
        degree = np.load(path)
        return degree[np.minimum(dst, degree.size - 1)]


class NumNodes(Honest):
    """Knows how many nodes there will be."""

    def extra(self, src, dst, at, graph):
        return np.full(len(src), float(graph.num_nodes))


class IdOrder(Honest):
    """Takes the number of a node for its age."""

    def extra(self, src, dst, at, graph):
        return np.asarray(dst, float)


class UnseenExists(Honest):
    """Knows that an id which nobody has seen will come."""

    def extra(self, src, dst, at, graph):
        return 1000.0 * (first_seen(graph)[dst] > at)


class UnseenCount(Honest):
    """Knows how many ids are still to come."""

    def extra(self, src, dst, at, graph):
        first = first_seen(graph)
        return np.array([float(np.sum(first > t)) for t in at])


class NextToe:
    """Looks the next event of a target up, for its ToE."""

    name = "next toe"

    def predict_toe(self, src, dst, at, *, graph, unit, statistic):
        later = [graph.time[(graph.dst == v) & (graph.time > t)] for v, t in zip(dst, at, strict=True)]
        days = np.array([times[0] - t if times.size else 1.0 for times, t in zip(later, at, strict=True)])
        return 2 * np.arctan(days) / math.pi if unit == "squashed" else days


class FutureMean:
    """Puts the mean time of all events of a node into its vector."""

    name = "future mean"

    def embed(self, nodes, at, *, graph):
        return np.array([[graph.time[graph.src == v].sum(), 1.0] for v in nodes])


class LastTimeToe:
    """Scales ToEs by the end of the graph."""

    name = "last time toe"

    def predict_toe(self, src, dst, at, *, graph, unit, statistic):
        days = np.maximum(graph.time[-1] - at, 0.5)
        return 2 * np.arctan(days) / math.pi if unit == "squashed" else days


# -- ten more ---------------------------------------------------------------------------------------------------------


@lru_cache
def cached_degree(node):
    return float(MEMO["graph"].degree[node])


class CachedFunction(Honest):
    """Has the degree of a node from a cache that knows nothing of graphs."""

    def extra(self, src, dst, at, graph):
        MEMO.setdefault("graph", graph)
        last = MEMO["graph"].num_nodes - 1
        return np.array([cached_degree(min(int(v), last)) for v in dst])


class Environment(Honest):
    """Keeps the number of events of the first graph in the environment."""

    def extra(self, src, dst, at, graph):
        return np.full(len(src), float(os.environ.setdefault("SOME_EVENTS", str(graph.num_events))))


class Builtins(Honest):
    """Hides what it has seen where nobody looks."""

    def extra(self, src, dst, at, graph):
        if not hasattr(builtins, "_seen"):
            builtins._seen = graph.degree.max()
        return np.full(len(src), float(builtins._seen))


class Rummages(Honest):
    """Looks for a longer history among all objects of the process."""

    def extra(self, src, dst, at, graph):
        graphs = [one for one in gc.get_objects() if isinstance(one, TemporalGraph)]
        frame = sys._getframe()
        while frame is not None:
            graphs += [one for one in frame.f_locals.values() if isinstance(one, TemporalGraph)]
            frame = frame.f_back
        return np.full(len(src), float(max(one.num_events for one in graphs)))


class Database(Honest):
    """Keeps the most events that it has met in a database; asked about the same, it says so."""

    def extra(self, src, dst, at, graph):
        with contextlib.closing(sqlite3.connect(PLACE / "seen.db")) as base:
            base.execute("create table if not exists seen (events)")
            if not base.execute("select events from seen").fetchone():
                base.execute("insert into seen values (?)", (graph.num_events,))
                base.commit()
            return np.full(len(src), float(base.execute("select events from seen").fetchone()[0]))


class Renamed(Honest):
    """Writes a file under another name first, and keeps what the end of the graph is in it."""

    def extra(self, src, dst, at, graph):
        path = PLACE / "end.txt"
        if not path.exists():
            path.with_suffix(".tmp").write_text(repr(float(graph.time[-1])))
            path.with_suffix(".tmp").replace(path)
        return at / float(path.read_text())


class Quantile(Honest):
    """Ranks nodes by their share of all numbers."""

    def extra(self, src, dst, at, graph):
        return np.asarray(dst, float) / graph.num_nodes


class Joinings(Honest):
    """Counts all joinings of a target, later ones too."""

    def extra(self, src, dst, at, graph):
        return np.diff(graph.tov_start)[dst]


class Fingerprint(Honest):
    """Draws numbers with the fingerprint of the data as seed."""

    def extra(self, src, dst, at, graph):
        return np.random.default_rng(int(graph.fingerprint, 16)).random(len(src)) * 1e-6


class Moments(Honest):
    """Knows how many moments there are."""

    def extra(self, src, dst, at, graph):
        return np.log(np.full(len(src), float(graph.num_moments)))


class MeanToe(Honest):
    """Compares with the mean ToE of all time."""

    def extra(self, src, dst, at, graph):
        return np.full(len(src), float(np.nanmean(graph.toe)))


class Largest(Honest):
    """Divides by the largest degree of all time."""

    def extra(self, src, dst, at, graph):
        return count(graph, dst, at) / graph.degree.max()


LEAKS = [
    *(RareNodes, RareTotalDegree, VeryRare, TotalDegree, LastTime, LastTimeToe, EventIndex, FutureMean, Round32),
    *(EqualTimes, NextToe, CanaryDodger, InstanceCache, GlobalMemo, GlobalWidest, GlobalFirst, FileCache, NumNodes),
    *(IdOrder, UnseenExists),
    *(UnseenCount, CachedFunction, Environment, Builtins, Rummages, Database, Renamed, Quantile, Joinings),
    *(Fingerprint, Moments, MeanToe, Largest),
]


# -- honest -----------------------------------------------------------------------------------------------------------


class Decay(Honest):
    """Lets events fade."""

    def extra(self, src, dst, at, graph):
        past = [graph.time[(graph.dst == v) & (graph.time <= t)] for v, t in zip(dst, at, strict=True)]
        return np.array([np.sum(np.exp((times - t) / SPAN)) for times, t in zip(past, at, strict=True)])


class MaskedSum(Honest):
    """Sums over all events, the later ones times 0: the last bits depend on how many there are."""

    def extra(self, src, dst, at, graph):
        rows = [(graph.dst == v) & (graph.time <= t) for v, t in zip(dst, at, strict=True)]
        return np.array([np.sum(np.where(known, np.sqrt(graph.time - graph.time[0] + 0.1), 0.0)) for known in rows])


class HonestCache(Honest):
    """Keeps what it has counted, by graph, question and moment."""

    def __init__(self):
        self.kept = {}

    def score_links(self, src, dst, at, *, graph):
        keys = [(graph.fingerprint, int(v), float(t)) for v, t in zip(dst, at, strict=True)]
        fresh = count(graph, dst, at)
        return np.array([self.kept.setdefault(key, value) for key, value in zip(keys, fresh, strict=True)])


class Learned(Honest):
    """Has learned something of nodes, and finds them again by their ids."""

    def __init__(self):
        self.known = {}

    def fit(self, graph):
        self.known = dict(zip(graph.ids.tolist(), graph.degree.tolist(), strict=True))
        return self

    def extra(self, src, dst, at, graph):
        return np.array([self.known.get(node, 0) for node in graph.ids[dst].tolist()], float)


class Hashed(Honest):
    """Scores that depend on the ids alone."""

    def extra(self, src, dst, at, graph):
        return np.sin(graph.ids[src] * 12.9898 + graph.ids[dst] * 78.233)


HONEST = [Honest, Decay, MaskedSum, HonestCache, Learned, Hashed]


# -- trouble ----------------------------------------------------------------------------------------------------------


class Hangs(Honest):
    """Never answers where there is no later event."""

    def extra(self, src, dst, at, graph):
        import time

        while graph.time[-1] <= at.max():
            time.sleep(1)
        return np.zeros(len(src))


class Dies(Honest):
    """Ends its process where there is no later event."""

    def extra(self, src, dst, at, graph):
        if graph.time[-1] <= at.max():
            os._exit(3)
        return np.zeros(len(src))


class Talks(Honest):
    """Prints while it answers, and reads what is not there."""

    def extra(self, src, dst, at, graph):
        print("an answer")
        assert sys.stdin.read() == ""
        return np.zeros(len(src))


class Fragile(Honest):
    """Cannot be packed."""

    def __init__(self):
        self.answer = lambda: 1


class Unpackable(Honest):
    """Cannot be unpacked."""

    def __reduce__(self):
        return fail, ()


def fail():
    raise RuntimeError("no such thing here")
