"""Initial vectors of the nodes: learned from the static graph, random, or read from a file.

The static graph has one link for every two nodes with an event between them, whatever its direction, time and weight;
self-links are left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import numpy as np

from tadge.arrays import Ints, Nodes, Report, Vectors
from tadge.config import NetworkConfig, options
from tadge.deepwalk import static
from tadge.deepwalk.skipgram import Packed, alias_table, train_links, train_walks
from tadge.errors import ConfigError
from tadge.graph import TemporalGraph
from tadge.graph.views import only_seen, seen_nodes
from tadge.io.vectors import VECTOR_FORMS, match_vectors, read_vectors
from tadge.seeding import check_seed, stream

METHODS = ("deepwalk", "node2vec", "line", "random")
WALKS_PER_NODE, LENGTH, WINDOW = 10, 40, 5  # LENGTH: nodes in a walk; WINDOW: most steps between the ends of a pair
P, Q = 1.0, 0.5  # node2vec: a walk goes back as readily as to a common neighbour, and twice as readily further out
DRAWS_PER_LINK = 200  # LINE: draws per link and order
NOISE = 0.75  # negatives are drawn in proportion to this power of how often a node is seen
WALKS_PER_BLOCK, DRAWS_PER_BLOCK = 1_024, 100_000  # walks, and draws of LINE, between two reports
_DIM = next(field for field in options(NetworkConfig) if field.name == "dim")


@dataclass(frozen=True)
class SkipGramPlan:
    """Hold how far skip-gram walks over the static graph, and how far it looks around.

    Attributes:
        per_node: walks from every node.
        length: nodes in a walk.
        window: most steps between the ends of a pair.
    """

    per_node: int = WALKS_PER_NODE
    length: int = LENGTH
    window: int = WINDOW


INITIAL = SkipGramPlan()  # enough to begin with
DEEPWALK = SkipGramPlan(80, 40, 10)  # DeepWalk's own paper


def initial_vectors(
    graph: TemporalGraph,
    method: str,
    dim: int,
    seed: int,
    report: Report | None = None,
    plan: SkipGramPlan = INITIAL,
) -> Vectors:
    """Give every node of a graph its initial vector, (N, dim); the same seed gives the same vectors.

    Args:
        graph: pass the training part alone.
        method: "deepwalk": skip-gram with negative sampling on uniform walks over the static graph; "node2vec": the
            same on walks with p = 1 and q = 0.5; "line": LINE of first order beside LINE of second order, each half
            as wide; "random": from a normal distribution of variance 1 / dim; else the path of a file, see
            `read_vectors`, with a vector for each id that has an event. Nodes without a link keep their random start.
            Nodes without an event, which a view of the past has only because they come later, change no other vector.
        dim: width of the vectors.
        seed: an integer from 0 up.
        report: called now and then with the work done and the total.
        plan: how deepwalk and node2vec walk.
    """
    dim, seed = _DIM.check(dim), check_seed(seed)
    tell = report or (lambda done, total: None)
    if method not in METHODS:
        path = _file(method)
        ids, vectors = read_vectors(path)
        rows = match_vectors(graph, ids, vectors, start_table(graph.num_nodes, dim, seed, "file"), str(path))
        tell(1, 1)
        return rows
    small, nodes = only_seen(graph), seen_nodes(graph)
    rows = np.empty((graph.num_nodes, dim), np.float32)
    rows[nodes] = _learned(small, method, dim, seed, tell, plan)
    others = np.delete(np.arange(graph.num_nodes), nodes)
    rows[others] = _random_rows(graph.num_nodes, method, dim, seed)[nodes.size :]
    return rows


def _learned(graph: TemporalGraph, method: str, dim: int, seed: int, tell: Report, plan: SkipGramPlan) -> Vectors:
    if method == "random":
        tell(1, 1)
        return _random_rows(graph.num_nodes, method, dim, seed)
    if method == "line":
        return _by_links(graph, dim, seed, tell)
    return _by_walks(graph, method, dim, seed, tell, plan)


def _random_rows(num_nodes: int, method: str, dim: int, seed: int) -> Vectors:
    """Give the rows that a method begins with, (N, dim)."""
    if method == "line":
        halves = (("first", dim // 2), ("second", dim - dim // 2))
        return np.concatenate([start_table(num_nodes, width, seed, f"line {order}") for order, width in halves], axis=1)
    if method != "random":
        return start_table(num_nodes, dim, seed, method)
    rows = np.empty((num_nodes, dim), np.float32)
    static.normal_rows(stream(seed, "initialise/random"), dim**-0.5, rows)
    return rows


def static_links(graph: TemporalGraph) -> Packed:
    """List the links of the static graph, (M,): lower node << 32 | upper node, distinct and ascending."""
    low, high = (end(graph.src, graph.dst).astype(np.uint64) for end in (np.minimum, np.maximum))
    return np.unique(((low << np.uint64(32)) | high)[graph.src != graph.dst])


def _file(method: str) -> Path:
    """Take what is no method as the name of a file; refuse what does not look like one."""
    path = Path(method)
    if path.suffix.lower() not in VECTOR_FORMS:
        expected = f"{', '.join(METHODS)}, or a file ({', '.join(VECTOR_FORMS)})"
        cure = "give the file such a name" if path.is_file() else "check the spelling"
        what = "unknown kind of initial vectors"
        raise ConfigError(what, expected=expected, found=repr(str(method)), cure=cure, where="init")
    return path


# -- walks ------------------------------------------------------------------------------------------------------------


def _by_walks(graph: TemporalGraph, method: str, dim: int, seed: int, report: Report, plan: SkipGramPlan) -> Vectors:
    """Learn from walks, block by block; only the first round, which says how often nodes are visited, is kept."""
    start, neighbours = static.neighbour_lists(static_links(graph), graph.num_nodes)
    table = start_table(graph.num_nodes, dim, seed, method)
    total = plan.per_node * int(np.count_nonzero(np.diff(start)))
    report(0, max(total, 1))
    if total:
        first_round = list(walk_blocks(start, neighbours, method, seed, range(1), plan.length))
        visits = np.zeros(graph.num_nodes, np.int64)
        for _, walks in first_round:
            np.add.at(visits, walks, 1)
        noise = alias_table(visits**NOISE)
        context = np.zeros_like(table)
        key = stream(seed, f"initialise/{method}/negatives")
        later_rounds = walk_blocks(start, neighbours, method, seed, range(1, plan.per_node), plan.length)
        for number, walks in chain(first_round, later_rounds):
            train_walks(table, context, walks, noise, key, number, total, plan.window)
            report(number + len(walks), total)
    else:
        report(1, 1)
    return table


def walk_blocks(
    start: Ints, neighbours: Nodes, method: str, seed: int, rounds: range, length: int = LENGTH
) -> Iterator[tuple[int, Nodes]]:
    """Walk from every node that has a neighbour, once in each round, each round in another order.

    Yields:
        The number of a block's first walk, and the block, (B, L).
    """
    nodes = np.flatnonzero(np.diff(start)).astype(np.int32)
    key = stream(seed, f"initialise/{method}/walks")
    for turn in rounds:
        order = nodes.copy()
        static.shuffle(order, stream(seed, f"initialise/{method}/order {turn}"))
        for at in range(0, nodes.size, WALKS_PER_BLOCK):
            begin, number = order[at : at + WALKS_PER_BLOCK], turn * nodes.size + at
            walks = np.empty((begin.size, length), np.int32)
            if method == "deepwalk":
                static.uniform_walks(start, neighbours, begin, key, number, walks)
            else:
                static.biased_walks(start, neighbours, begin, key, number, P, Q, walks)
            yield number, walks


# -- links ------------------------------------------------------------------------------------------------------------


def _by_links(graph: TemporalGraph, dim: int, seed: int, report: Report) -> Vectors:
    """Learn LINE of both orders, and put the vectors side by side."""
    links = static_links(graph)
    start, _ = static.neighbour_lists(links, graph.num_nodes)
    widths = {"first": dim // 2, "second": dim - dim // 2}
    total, done = DRAWS_PER_LINK * links.size, 0
    all_draws = total * sum(width > 0 for width in widths.values())
    report(0, max(all_draws, 1))
    noise = alias_table(np.diff(start) ** NOISE) if total else np.empty(0, np.uint64)
    halves = []
    for order, width in widths.items():
        table = start_table(graph.num_nodes, width, seed, f"line {order}")
        context = table if order == "first" else np.zeros_like(table)
        key = stream(seed, f"initialise/line {order}/links")
        for at in range(0, total if width else 0, DRAWS_PER_BLOCK):
            count = min(DRAWS_PER_BLOCK, total - at)
            train_links(table, context, links, noise, key, at, count, total)
            done += count
            report(done, all_draws)
        halves.append(table)
    if not total:
        report(1, 1)
    return np.concatenate(halves, axis=1)


# -- tables -----------------------------------------------------------------------------------------------------------


def start_table(num_nodes: int, dim: int, seed: int, name: str) -> Vectors:
    """Make a table, (N, dim), whose rows are small and random, as word2vec begins."""
    table = np.empty((num_nodes, dim), np.float32)
    static.uniform_rows(stream(seed, f"initialise/{name}/start"), 0.5 / max(dim, 1), table)
    return table
