"""Initial vectors of the nodes: learned from the static graph, random, or from a file of the user's.

The static graph has one link for every two nodes with an event between them, whatever its direction, time and weight;
self-links are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt

from tadge.arrays import Ints, Nodes
from tadge.config import NetworkConfig, options
from tadge.deepwalk import static
from tadge.deepwalk.skipgram import LANES, LINE_BYTES, Packed, Table, alias_table, train_links, train_walks
from tadge.errors import ConfigError
from tadge.graph import TemporalGraph
from tadge.io.vectors import FORMS, match_vectors, read_vectors
from tadge.seeding import check_seed, stream

Report = Callable[[int, int], None]

METHODS = ("deepwalk", "node2vec", "line", "random")
WALKS, LENGTH, WINDOW = 10, 40, 5  # walks from every node, nodes in a walk, most steps between the ends of a pair
P, Q = 1.0, 0.5  # node2vec: a walk goes back as readily as to a common neighbour, and twice as readily further out
DRAWS = 200  # LINE: draws per link and order
NOISE = 0.75  # negatives are drawn in proportion to this power of how often a node is seen
BLOCK = 1_024  # walks between two reports
CHUNK = 100_000  # draws between two reports
_DIM = next(each for each in options(NetworkConfig) if each.name == "dim")


def initial_vectors(
    graph: TemporalGraph, method: str, dim: int, seed: int, report: Report | None = None
) -> npt.NDArray[np.float32]:
    """Give every node of a graph its initial vector, (N, dim); the same seed gives the same vectors.

    Args:
        graph: only what it holds is looked at: pass the training part.
        method: "deepwalk": skip-gram with negative sampling on uniform walks over the static graph; "node2vec": the
            same on walks with p = 1 and q = 0.5; "line": LINE of first order beside LINE of second order, each half
            as wide; "random": normal numbers of variance 1 / dim; else the path of a file, see `read_vectors`, with a
            vector for each id that has an event. What no method reaches stays at its small random start.
        dim: width of the vectors.
        seed: a whole number from 0 up.
        report: called now and then with the work done and all there is.
    """
    dim, seed = _DIM.check(dim), check_seed(seed)
    tell = report or (lambda done, total: None)
    if method in ("deepwalk", "node2vec"):
        return _by_walks(graph, method, dim, seed, tell)
    if method == "line":
        return _by_links(graph, dim, seed, tell)
    if method == "random":
        rows = np.empty((graph.num_nodes, dim), np.float32)
        static.normal_rows(stream(seed, "initialise/random"), dim**-0.5, rows)
    else:
        path = _file(method)
        ids, vectors = read_vectors(path)
        start = start_table(graph.num_nodes, dim, seed, "file")
        rows = match_vectors(graph, ids, vectors, cut_table(start, dim), str(path))
    tell(1, 1)
    return rows


def static_links(graph: TemporalGraph) -> Packed:
    """List the links of the static graph, (M,): lower node << 32 | upper node, distinct and ascending."""
    low, high = (end(graph.src, graph.dst).astype(np.uint64) for end in (np.minimum, np.maximum))
    links: Packed = ((low << np.uint64(32)) | high)[graph.src != graph.dst]
    links.sort()
    first = np.ones(links.size, np.bool_)
    first[1:] = links[1:] != links[:-1]
    return links[first]


def _file(method: str) -> Path:
    """Take what is no method as the name of a file; complain where it does not look like one."""
    path = Path(method)
    if path.suffix.lower() not in FORMS:
        expected = f"{', '.join(METHODS)}, or a file ({', '.join(FORMS)})"
        cure = "give the file such a name" if path.is_file() else "check the spelling"
        what = "unknown kind of initial vectors"
        raise ConfigError(what, expected=expected, found=repr(str(method)), cure=cure, where="init")
    return path


# -- walks ------------------------------------------------------------------------------------------------------------


def _by_walks(graph: TemporalGraph, method: str, dim: int, seed: int, report: Report) -> Table:
    """Learn from walks, block by block: they are made, learned and forgotten."""
    start, neighbours = static.neighbour_lists(static_links(graph), graph.num_nodes)
    table = start_table(graph.num_nodes, dim, seed, method)
    total = WALKS * int(np.count_nonzero(np.diff(start)))
    report(0, max(total, 1))
    if total:
        visits = np.zeros(graph.num_nodes, np.int64)
        for _, walks in walk_blocks(start, neighbours, method, seed, 1):
            static.count_visits(walks, visits)
        noise = alias_table(visits**NOISE)
        context = empty_table(graph.num_nodes, dim)
        for number, walks in walk_blocks(start, neighbours, method, seed, WALKS):
            key = stream(seed, f"initialise/{method}/negatives")
            train_walks(table, context, walks, noise, key, number, total, WINDOW)
            report(number + len(walks), total)
    else:
        report(1, 1)
    return cut_table(table, dim)


def walk_blocks(start: Ints, neighbours: Nodes, method: str, seed: int, rounds: int) -> Iterator[tuple[int, Nodes]]:
    """Walk from every node that has a neighbour, once in each round, in an order of its own.

    Yields:
        The number of a block's first walk, and the block, (B, L).
    """
    nodes = np.flatnonzero(np.diff(start)).astype(np.int32)
    key = stream(seed, f"initialise/{method}/walks")
    for turn in range(rounds):
        order = nodes.copy()
        static.shuffle(order, stream(seed, f"initialise/{method}/order {turn}"))
        for at in range(0, nodes.size, BLOCK):
            begin, number = order[at : at + BLOCK], turn * nodes.size + at
            walks = np.empty((begin.size, LENGTH), np.int32)
            if method == "deepwalk":
                static.uniform_walks(start, neighbours, begin, key, number, walks)
            else:
                static.biased_walks(start, neighbours, begin, key, number, P, Q, walks)
            yield number, walks


# -- links ------------------------------------------------------------------------------------------------------------


def _by_links(graph: TemporalGraph, dim: int, seed: int, report: Report) -> Table:
    """Learn LINE of both orders, and put the vectors side by side."""
    links = static_links(graph)
    start, _ = static.neighbour_lists(links, graph.num_nodes)
    widths = {"first": dim // 2, "second": dim - dim // 2}
    total, done = DRAWS * links.size, 0
    all_draws = total * sum(width > 0 for width in widths.values())
    report(0, max(all_draws, 1))
    noise = alias_table(np.diff(start) ** NOISE) if total else np.empty(0, np.uint64)
    halves = []
    for order, width in widths.items():
        table = start_table(graph.num_nodes, width, seed, f"line {order}")
        context = table if order == "first" else empty_table(graph.num_nodes, width)
        key = stream(seed, f"initialise/line {order}/links")
        for at in range(0, total if width else 0, CHUNK):
            count = min(CHUNK, total - at)
            train_links(table, context, links, noise, key, at, count, total)
            done += count
            report(done, all_draws)
        halves.append(table[:, :width])
    if not total:
        report(1, 1)
    return np.concatenate(halves, axis=1)


# -- tables -----------------------------------------------------------------------------------------------------------


def empty_table(num_nodes: int, dim: int) -> Table:
    """Make a table of zeros, (N, D): rows begin with a cache line, D is the next multiple of LANES."""
    width = -(-dim // LANES) * LANES
    raw = np.zeros(num_nodes * width + LANES, np.float32)
    skip = -raw.ctypes.data % LINE_BYTES // raw.itemsize
    return raw[skip : skip + num_nodes * width].reshape(num_nodes, width)


def start_table(num_nodes: int, dim: int, seed: int, name: str) -> Table:
    """Make a table whose rows are small and random, as word2vec begins."""
    table = empty_table(num_nodes, dim)
    static.uniform_rows(stream(seed, f"initialise/{name}/start"), 0.5 / max(dim, 1), dim, table)
    return table


def cut_table(table: Table, dim: int) -> Table:
    """Cut a table to its width, (N, dim)."""
    return np.ascontiguousarray(table[:, :dim])
