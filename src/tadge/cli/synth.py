"""The command that makes graphs whose law is known."""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from tadge.cli.frame import AsJson, command, print_json
from tadge.cli.manners import Force, check_unused
from tadge.errors import ConfigError

MOST_EVENTS_FOR_LINKS = 1_000_000  # the best link score replays the record once per community
FLAGS = {"forum": ("events", "communities"), "desk": ("customers", "agents", "leaving")}  # that other kinds lack


class _Made(NamedTuple):
    graph: Any
    labels: dict[str, Any]  # columns: id, label
    label_words: str  # what the labels are
    figures: dict[str, Any]
    lines: list[str]  # the figures for people


@command(main=("out", "kind", "events", "customers", "days", "seed", "labels", "force"))
def synth(
    out: Annotated[
        Path | None, typer.Option(help="File of events: .csv, .tsv, .jsonl or .parquet; CSV on stdout by default.")
    ] = None,
    kind: Annotated[
        str,
        typer.Option(
            help="forum: threads of replies; desk: customers write tickets to agents.",
            autocompletion=lambda: list(FLAGS),
        ),
    ] = "forum",
    events: Annotated[
        int | None, typer.Option(help="Number of events of a forum, from 1e3 to 1e7 say; 10000 by default.")
    ] = None,
    communities: Annotated[
        int | None, typer.Option(help="Communities of a forum, each with a pace of its own; 8 by default.")
    ] = None,
    customers: Annotated[int | None, typer.Option(help="Customers of a desk; 400 by default.")] = None,
    agents: Annotated[int | None, typer.Option(help="Agents of a desk; 10 by default.")] = None,
    leaving: Annotated[
        bool, typer.Option("--leaving", help="Customers of the desk leave for good, after a year on average.")
    ] = False,
    days: Annotated[
        float | None, typer.Option(help="Days that the events span, about; by default 730, for a desk 365.")
    ] = None,
    seed: Annotated[int, typer.Option(help="The same seed gives the same graph.")] = 0,
    labels: Annotated[
        Path | None,
        typer.Option(help="File of id, label: the community of each node; for a desk each customer's favourite."),
    ] = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Make a forum or a support desk whose law is known, and say the best possible scores on it.

    In the forum threads start at different times and evolve at different speeds; users return; replies follow a known
    law of delays. At the desk every customer writes at a rate of its own, mostly to its favourite agent. So a model's
    answers can be set beside the best that any model could give: tadge.synthetic.desk makes the same desk in Python,
    with the probability of every pair within any time.

    Example: tadge synth --events 20000 --out forum.csv --labels labels.csv
    """
    import polars as pl

    from tadge.io.export import form_of, to_polars, write_events, write_frame

    for path in (out, labels):
        if path is not None:
            form_of(path)
            if not force:
                check_unused(path)
    given = {"events": events, "communities": communities, "customers": customers, "agents": agents, "days": days}
    options = {name: value for name, value in given.items() if value is not None} | (
        {"leaving": True} if leaving else {}
    )
    _check_kind(kind, options)
    made = _forum(options, seed) if kind == "forum" else _desk(options, seed)
    if out is not None:
        write_events(made.graph, out)
    elif not as_json:
        to_polars(made.graph).write_csv(sys.stdout)
    if labels is not None:
        write_frame(pl.DataFrame(made.labels), labels)
    if as_json:
        paths = {"written": str(out) if out else None, "labels": str(labels) if labels else None}
        sizes = {"events": made.graph.num_events, "nodes": made.graph.num_nodes}
        print_json({**paths, **sizes, "seed": seed, **made.figures})
        return
    lines = [f"{out or 'stdout'}: {made.graph.num_events:,} events of {made.graph.num_nodes:,} nodes, seed {seed}"]
    if labels is not None:
        lines.append(f"{labels}: {made.label_words}")
    print("\n".join(lines + made.lines), file=sys.stdout if out else sys.stderr)


def _check_kind(kind: str, options: dict[str, Any]) -> None:
    """Refuse an unknown kind, and options of another one."""
    if kind not in FLAGS:
        raise ConfigError("unknown kind of graph", expected=" or ".join(FLAGS), found=repr(kind), where="kind")
    for other, names in FLAGS.items():
        for name in names:
            if other != kind and name in options:
                cure = f"leave it out, or say kind='{other}'"
                raise ConfigError(f"a {kind} has no such option", found=str(options[name]), cure=cure, where=name)


def _forum(options: dict[str, Any], seed: int) -> _Made:
    from tadge import synthetic

    forum = synthetic.forum(**options, seed=seed)
    toe = synthetic.best_toe_rmse(forum)
    links = synthetic.best_link_mrr(forum) if forum.graph.num_events <= MOST_EVENTS_FOR_LINKS else None
    lines = [
        f"ToE error, RMSE in squashed days: at best {toe.floor:.4f} (the thread's pace known), {toe.history:.4f} from",
        f"the thread's past, {toe.community:.4f} from the community's mean, {toe.constant:.4f} from one constant",
        "Links: tadge.synthetic.best_link_mrr tells the best possible score; it takes minutes at this size"
        if links is None
        else f"Links, MRR against 100 random others: at best {links:.4f}",
    ]
    labels = {"id": forum.graph.ids, "label": forum.labels}
    figures = {"toe_rmse": dataclasses.asdict(toe), "best_link_mrr": links}
    return _Made(forum.graph, labels, "the community of each node", figures, lines)


def _desk(options: dict[str, Any], seed: int) -> _Made:
    import numpy as np

    from tadge import synthetic

    desk = synthetic.desk(**options, seed=seed)
    favourite = desk.agents[desk.favourite]
    typical = np.argsort(desk.rate)[desk.rate.size // 2]
    pair = desk.customers[typical], favourite[typical]
    probability = float(desk.probability_of_agent(*pair)[0])
    wait = float(np.log(2) / (desk.rate[typical] * probability))
    gone = int(np.count_nonzero(desk.left <= desk.span[1]))
    lines = [
        f"Who: a customer's next ticket goes to its favourite agent with probability {probability:.4f}",
        f"When: {pair[0]}, of median rate, writes to its favourite again within {wait:.1f} days with probability 0.5",
    ]
    if desk.config.leaving:
        lines[1] += ", as long as it stays"
        lines.append(f"Never: {gone:,} of {desk.customers.size:,} customers had left by the end")
    seen = np.isin(desk.customers, desk.graph.ids)
    labels = {"id": desk.customers[seen], "label": favourite[seen]}
    figures = {"favourite_probability": probability, "median_wait_days": wait, "customers_left": gone}
    return _Made(desk.graph, labels, "the favourite agent of each customer", figures, lines)
