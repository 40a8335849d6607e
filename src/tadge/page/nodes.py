"""Section "map": nodes in the plane, near each other where their vectors are; with search, and words on pointing."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from tadge.arrays import Days, Ints, NodeNumbers, Vectors
from tadge.graph.graph import TemporalGraph
from tadge.graph.past import past_of
from tadge.page.content import Material
from tadge.page.parts import card, plural, section
from tadge.plots.markup import Markup, element, join
from tadge.report.answers import id_text, moment_text, percent_text

MOST_NODES = 2_000  # on the map: the most active ones
FEW_NODES = 12  # fewer are put by PCA alone
COMPONENTS = 30  # of PCA, before t-SNE
PERPLEXITY = 30.0
SIDE, EDGE = 720, 20  # of the drawing, and free room around it
LONGEST_LABEL = 120
AGES = 5  # classes of when a node was last seen


def map_section(material: Material) -> Markup:
    """Show the nodes in the plane."""
    title, model = "Map of the nodes", material.vectors
    if model is None:
        why = material.note("vectors") or "only forecasts were learned"
        return section("map", title, f"There is no map, as there are no vectors: {why}.")
    graph = model.graph_
    chosen = np.sort(np.argsort(-graph.degree, kind="stable")[:MOST_NODES])
    chosen = chosen[graph.degree[chosen] > 0]
    every = chosen.size == graph.num_nodes
    which = "All nodes" if every else f"The {chosen.size:,} most active of {plural(graph.num_nodes, 'node')}"
    lead = (
        f"{which}: two are near each other where TADGE's vectors are. Directions and distances far apart mean nothing."
    )
    places = in_the_plane(model.embed(NodeNumbers(chosen), progress=False))
    drawing = _drawing(graph, chosen, places)
    search = element(
        "div",
        element("input", type="search", id="find", placeholder="Find a node by its id", aria_label="find a node"),
        element("output", "Point at a node, or search.", id="told", aria_live="polite"),
        class_="find",
    )
    legend = _legend(graph)
    return section("map", title, lead, card("", search, drawing, legend, _data(material, graph, chosen)))


def in_the_plane(vectors: Vectors, seed: int = 0) -> Days:
    """Put vectors into the plane, (n, 2) from 0 to 1: by t-SNE from their main directions, or those alone where few."""
    from sklearn.decomposition import PCA
    from sklearn.manifold import TSNE

    count, width = vectors.shape
    if count < 3:
        return np.linspace(0.4, 0.6, count)[:, None] * np.ones(2)
    spread = np.asarray(vectors, np.float64)
    spread = (spread - spread.mean(axis=0)) / max(float(spread.std()), 1e-12)
    main = PCA(min(COMPONENTS, count, width), random_state=seed).fit_transform(spread)
    if count >= FEW_NODES and main.std() > 0:
        perplexity = min(PERPLEXITY, (count - 1) / 3)
        first = main[:, :2] / max(float(main[:, 0].std()), 1e-12) * 1e-4
        main = TSNE(2, perplexity=perplexity, init=first, random_state=seed, max_iter=500).fit_transform(main)
    flat = main[:, :2] if main.shape[1] > 1 else np.column_stack([main[:, 0], np.zeros(count)])
    low, high = flat.min(axis=0), flat.max(axis=0)
    return np.asarray((flat - low) / np.maximum(high - low, 1e-12))


def _drawing(graph: TemporalGraph, chosen: Ints, places: Days) -> Markup:
    kinds = _kinds(graph, chosen)
    radius = 2.5 + 1.1 * np.log10(np.maximum(graph.degree[chosen], 1))
    inner = SIDE - 2 * EDGE
    dots = [
        element("circle", cx=EDGE + inner * x, cy=EDGE + inner * y, r=r, class_=f"node {kind}", data_n=n)
        for n, ((x, y), r, kind) in enumerate(zip(places.tolist(), radius.tolist(), kinds, strict=True))
    ]
    box = f"0 0 {SIDE} {SIDE}"
    return element("svg", *dots, viewBox=box, class_="map", id="nodes", role="img", aria_label="map of the nodes")


def _kinds(graph: TemporalGraph, chosen: Ints) -> list[str]:
    """Give nodes their colours: by their side in a two-sided graph, else by when they were last seen."""
    if graph.bipartite:
        return ["side-source" if node < graph.num_sources else "side-target" for node in chosen.tolist()]
    last = past_of(graph).last_seen(chosen, np.inf)
    low, high = float(graph.time[0]), float(graph.time[-1])
    part = (last - low) / max(high - low, 1e-12)
    return [f"age-{min(int(AGES * value), AGES - 1)}" for value in part.tolist()]


def _legend(graph: TemporalGraph) -> Markup:
    if graph.bipartite:
        names = [("side-source", "sources"), ("side-target", "targets")]
    else:
        names = [
            (f"age-{place}", words)
            for place, words in ((0, "last seen long ago"), (AGES // 2, ""), (AGES - 1, "seen of late"))
        ]
    swatches = [
        join(element("i", class_=f"swatch {kind}"), element("span", words) if words else None) for kind, words in names
    ]
    return element("p", *swatches, element("span", "Larger: more events."), class_="legend")


def _data(material: Material, graph: TemporalGraph, chosen: Ints) -> Markup:
    """Give what is said about each node, as JSON that cannot end its element."""
    past, count = past_of(graph), graph.degree[chosen].tolist()
    last = past.last_seen(chosen, np.inf).tolist()
    likely: dict[Any, str] = {}
    if material.forecasts is not None and len(material.forecasts):
        for row in material.forecasts.unique("src", keep="first", maintain_order=True).iter_rows(named=True):
            target = id_text(row["target"])[:LONGEST_LABEL]
            likely[row["src"]] = f"likeliest next: {target}, {percent_text(row['probability'])}"
    told = [
        [
            id_text(graph.ids[node])[:LONGEST_LABEL],
            f"{plural(events, 'event')}, last seen {moment_text(seen, graph.clock)}",
            likely.get(graph.ids[node], "") if not graph.bipartite or node < graph.num_sources else "",
        ]
        for node, events, seen in zip(chosen.tolist(), count, last, strict=True)
    ]
    text = json.dumps(told, ensure_ascii=True, separators=(",", ":"))
    for sign in "<>&":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return element("script", Markup(text), type="application/json", id="node-data")
