"""Options, each written once: name, default, help and limits live in the fields of frozen dataclasses.

The library, the command line and the documentation all read the same fields, through `options`.
"""

from __future__ import annotations

import dataclasses
import math
import operator
from dataclasses import dataclass, fields
from typing import Any

from tadge.errors import ConfigError

KINDS_OF_VALUES = {int: "an integer", float: "a number", bool: "True or False", str: "a string", tuple: "numbers"}


@dataclass(frozen=True)
class Option:
    """Describe one option of a config.

    Attributes:
        name: the field's name.
        kind: its type: int, float, bool, str, or tuple for as many numbers as the default has.
        default: the value it has where none is given.
        help: one line for people.
        low: the smallest value allowed, or None.
        high: the largest value allowed, or None.
        choices: the strings allowed; empty where any will do.
        optional: None is allowed too.
    """

    name: str
    kind: type
    default: Any
    help: str
    low: float | None = None
    high: float | None = None
    choices: tuple[str, ...] = ()
    optional: bool = False

    def expected(self) -> str:
        """Say in words which values are allowed."""
        if self.choices:
            words = " or ".join(filter(None, [", ".join(self.choices[:-1]), self.choices[-1]]))
        else:
            words = f"{len(self.default)} numbers" if self.kind is tuple else KINDS_OF_VALUES[self.kind]
            if self.low is not None and self.high is not None:
                words += f" from {self.low:,} to {self.high:,}"
            elif self.low is not None:
                words += f" of at least {self.low:,}"
            elif self.high is not None:
                words += f" of at most {self.high:,}"
        return words + (" or None" if self.optional else "")

    def check(self, value: Any) -> Any:
        """Return the value as a plain Python int, float, bool, str or tuple, or complain."""
        if value is None and self.optional:
            return None
        try:
            taken = self._as_kind(value)
        except (TypeError, ValueError):
            raise self._complaint("wrong kind of value", value) from None
        if self.choices and taken not in self.choices:
            raise self._complaint("unknown choice", value)
        if self.kind in (int, float, tuple):
            for number in taken if self.kind is tuple else (taken,):
                self._check_limits(number, value)
        return taken

    def _check_limits(self, number: float, value: Any) -> None:
        if math.isnan(number):
            raise self._complaint("not a number", value)
        if self.low is not None and number < self.low:
            raise self._complaint("value too small", value)
        if self.high is not None and number > self.high:
            raise self._complaint("value too large", value)

    def _as_kind(self, value: Any) -> Any:
        if self.kind is bool or isinstance(value, bool):
            if not (self.kind is bool and isinstance(value, bool)):
                raise TypeError
            return value
        if self.kind is str:
            if not isinstance(value, str):
                raise TypeError
            return str(value)
        if isinstance(value, str):
            raise TypeError
        if self.kind is tuple:
            if len(value) != len(self.default):
                raise ValueError
            return tuple(float(number) for number in value)
        return operator.index(value) if self.kind is int else float(value)

    def _complaint(self, what: str, value: Any) -> ConfigError:
        cure = f"the default is {self.default!r}"
        return ConfigError(what, expected=self.expected(), found=repr(value), cure=cure, where=self.name)


def option(
    default: Any,
    help: str,
    *,
    low: float | None = None,
    high: float | None = None,
    choices: tuple[str, ...] = (),
    kind: type | None = None,
) -> Any:
    """Write one option as a dataclass field; `kind` is needed only where the default is None."""
    limits = {"help": help, "low": low, "high": high, "choices": choices}
    metadata = limits | {"kind": kind or type(default), "optional": default is None}
    return dataclasses.field(default=default, metadata=metadata)


def options(config: Any) -> tuple[Option, ...]:
    """List the options of a config class, or of an instance, in the order they were written."""
    return tuple(Option(name=f.name, default=f.default, **f.metadata) for f in fields(config) if "help" in f.metadata)


def check_options(config: Any) -> None:
    """Check every option of a frozen config, and keep each value as a plain Python one."""
    for listed in options(config):
        object.__setattr__(config, listed.name, listed.check(getattr(config, listed.name)))


# -- arguments of calls that are flags of commands too ----------------------------------------------------------------

LATEST = Option("latest", int, 5, "latest occurrences that a node's vector is the mean of", low=1)
TOP = Option("k", int, 10, "how many nodes", low=1)
SECONDS = Option("seconds", float, None, "time to learn in", low=0.0, optional=True)
BUDGET = Option("budget", str, "10m", "time for everything, like 90s, 10m or 1h30m; forecasts come first, uncut")
AHEAD = Option("days", float, 7.0, "horizon of forecasts in days, or as far as the history allows", low=1e-6, high=1e5)
TARGETS = Option("k", int, 5, "targets of each node in the forecasts", low=1, high=1_000)
STEPS = Option("steps", int, 12, "moments from the first to the last", low=2, high=1_000)
LEVEL = Option(
    "level", float, 0.9, "fraction of such links that has come by the time a pair is due", low=0.01, high=0.999
)
LEAST = Option("least", float, 0.5, "pairs whose link was less likely to come at all are left out", low=0.0, high=1.0)
FALSE_DISCOVERIES = Option(
    "level", float, 0.05, "fraction of changes of pace that may be false among those listed", low=1e-6, high=0.5
)
MAX_LINKS = Option("max_links", int, 20_000, "most links asked about, drawn by the seed; 0: all", low=0)
REFRESH = Option("refresh", int, 1, "links: test events between two updates of what is known; 1: none is missed", low=1)
ORIGINS = Option("origins", int, 1, "test periods, one after the other, each learned for anew; 1: the last 15%", low=1)
AGAINST = ("random", "historical")  # kinds of negatives that true links are ranked against
BOARD_MOMENTS = Option("moments", int, 1_500, "moments to ask about, each with up to fourteen pairs", low=1)
BOARD_TEST = Option("test", float, 0.15, "fraction of the events, the last ones, to ask about", low=0.001, high=0.999)
SEQUENCE_EVENTS = Option("latest_events", int, 64, "most events of a sequence, the latest ones", low=1)
CUTS = Option("cuts", int, 100, "moments at which the future is cut off", low=1)
QUERIES = Option("queries", int, 64, "questions at each of them", low=1)
TOLERANCE = Option("tolerance", float, 0.0, "largest difference between two answers that passes", low=0.0)
TIME_LIMIT = Option("time_limit", float, 600.0, "seconds that one cut may take in one world", low=0.1)

# -- configs ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class WalkConfig:
    """Hold how to walk; the defaults are the paper's for its smallest data set."""

    num_walks: int = option(10_000, "number of walks", low=1)
    max_length: int = option(5, "most nodes in a walk; longer walks are cut", low=2, high=1_000_000)
    min_length: int = option(3, "fewest nodes in a walk; shorter walks are dropped", low=1)
    reach: str = option(
        "occurrence",
        "events that a step can take: those until the node joins next, or all in its future",
        choices=("occurrence", "future"),
    )
    direction: str = option(
        "forward", "follow time, or go back in time from the start to what led to it", choices=("forward", "backward")
    )
    centrality: str = option(
        "degree",
        "weight of a step's candidates: their total degree, their degree so far, or none",
        choices=("degree", "degree-so-far", "uniform"),
    )

    def __post_init__(self) -> None:
        check_options(self)
        if self.min_length > self.max_length:
            expected, found = f"at most max_length = {self.max_length}", str(self.min_length)
            cure = "lower min_length or raise max_length"
            raise ConfigError("no walk can be that long", expected=expected, found=found, cure=cure, where="min_length")


@dataclass(frozen=True)
class NetworkConfig:
    """Hold the size and the variant of TADGE's network; the sizes are the paper's for its smallest data set."""

    dim: int = option(128, "dimension of every vector", low=1, high=65_536)
    heads: int = option(4, "attention heads, each of dimension dim", low=1, high=1_024)
    blocks: int = option(3, "blocks of the encoder, and of the decoder", low=1, high=1_000)
    dropout: float = option(0.0, "dropout probability", low=0.0, high=0.99)
    queries: str = option(
        "self",
        "decoder queries: self (causal, for forecasts), or next (as in the paper: it sees the edge it predicts)",
        choices=("self", "next"),
    )
    structure: bool = option(True, "whether to learn structure embeddings and add them")
    timed: bool = option(True, "whether the t-LSTM gets the ToEs; without them it is a plain LSTM")
    residual: bool = option(True, "whether blocks have residual connections; the paper's have none")
    encoder: str = option(
        "time-aware",
        "time-aware: t-LSTM and Transformer; gat: graph attention within walks instead, the paper's baseline",
        choices=("time-aware", "gat"),
    )
    skip: bool = option(
        False, "whether the vectors of a node and of its neighbours in the walk also go around all blocks"
    )
    candidate: str = option(
        "sigmoid",
        "activation of the t-LSTM's candidate memory: sigmoid as in the paper, or tanh as in most LSTMs",
        choices=("sigmoid", "tanh"),
    )
    lstm_toe: str = option(
        "squashed", "unit of the ToEs inside the t-LSTM: squashed, or days", choices=("squashed", "days")
    )

    def __post_init__(self) -> None:
        check_options(self)
        if self.encoder == "gat" and self.queries != "next":
            expected, cure = "next where the encoder is gat", "rows of a gat see the whole walk: set queries to next"
            raise ConfigError(
                "no such variant", expected=expected, found=repr(self.queries), cure=cure, where="queries"
            )


@dataclass(frozen=True)
class TrainConfig:
    """Hold how TADGE's network is trained."""

    epochs: int = option(20, "most epochs", low=1, high=1_000_000)
    batch_size: int = option(200, "walks per gradient step, in whole windows", low=2, high=10_000_000)
    lr: float = option(1e-3, "learning rate after the warm-up", low=1e-8, high=1.0)
    window: int = option(10, "walks, in order of their start, whose structures are compared with each other", low=2)
    window_step: int = option(9, "walks from one window to the next; less than a window, so that they overlap", low=1)
    init: str = option(
        "deepwalk", "initial vectors: deepwalk, node2vec, line, random, or a file of vectors (.parquet, .npz, .txt)"
    )
    precision: str = option(
        "auto",
        "dtype of the network; auto: bfloat16 where the processor multiplies it itself",
        choices=("auto", "float32", "bfloat16"),
    )
    negatives: int = option(100, "negatives per gradient step: nodes drawn at random; -1: all nodes", low=-1)
    weights: tuple[float, float, float, float] = option(
        (1.0, 1.0, 1.0, 10.0),
        "weights of the losses: self-identification, intervals, edges, ToE",
        low=0.0,
        high=1e6,
    )
    edges: str = option(
        "rows",
        "candidates of the edge loss: all rows of a batch, its nodes, each as the mean of its rows, or both",
        choices=("rows", "nodes", "both"),
    )
    warmup: float = option(0.05, "fraction of all steps in which the learning rate rises", low=0.0, high=1.0)
    schedule: str = option(
        "cosine", "learning rate after the warm-up: falling along a cosine, or constant", choices=("cosine", "constant")
    )
    clip: float = option(1.0, "max gradient norm; 0: no clipping", low=0.0, high=1e12)
    held_out: float = option(0.05, "fraction of the walks held out for early stopping; 0: none", low=0.0, high=0.5)
    patience: int = option(5, "epochs without a smaller loss on the held-out walks before training stops", low=1)
    resample: bool = option(False, "whether to sample new walks in every epoch")
    unknown: float = option(0.02, "fraction of nodes shown in training as if they were new", low=0.0, high=0.9)
    new_nodes: str = option(
        "unknown",
        "vector of nodes never seen in training: that of unknown nodes, or a random one of its own each",
        choices=("unknown", "own"),
    )

    def __post_init__(self) -> None:
        check_options(self)
        check_windows(self.window, self.window_step)
        if self.batch_size < self.window:
            expected, found = f"at least a window of {self.window} walks", str(self.batch_size)
            raise ConfigError(
                "no window fits",
                expected=expected,
                found=found,
                cure="raise batch_size or lower window",
                where="batch_size",
            )


@dataclass(frozen=True)
class ForecastConfig:
    """Hold how a Forecaster learns: small networks rank targets and give curves, boosted trees predict ToE."""

    steps: int = option(600, "most gradient steps of each network", low=1, high=10_000_000)
    batch_events: int = option(128, "events per gradient step", low=1, high=1_000_000)
    random_negatives: int = option(32, "random targets each true target is ranked against", low=1, high=100_000)
    former_negatives: int = option(16, "former targets of the source it is ranked against too", low=0, high=100_000)
    forecast_lr: float = option(2e-3, "learning rate of the networks, after the warm-up", low=1e-8, high=1.0)
    weight_decay: float = option(0.01, "weight decay of the networks", low=0.0, high=10.0)
    passes: int = option(10, "most passes over all events, where there are few", low=1, high=1_000_000)
    hidden: int = option(128, "width of their two hidden layers", low=1, high=65_536)
    burn_in: float = option(0.1, "fraction of the events, the first ones, that are history only", low=0.0, high=0.9)
    recency: float = option(0.5, "later events count more: by a factor of e within this fraction", low=1e-3, high=1e6)
    max_pairs: int = option(65_536, "most ToEs that the trees learn from", low=1)
    trees: int = option(300, "number of boosted trees", low=1, high=100_000)
    tree_lr: float = option(0.03, "learning rate of the trees", low=1e-6, high=1.0)
    leaves: int | None = option(
        None,
        "most leaves of a tree; by default 31, or fewer where that is better on the latest fifth of few ToEs",
        low=2,
        high=100_000,
        kind=int,
    )
    leaf_samples: int = option(100, "fewest ToEs in a leaf", low=1)
    leaf_penalty: float = option(10.0, "L2 penalty on the leaves", low=0.0, high=1e12)
    tree_columns: float = option(0.3, "fraction of the columns that a split looks at", low=1e-3, high=1.0)
    rescale: bool = option(True, "whether trees also learn from the same history at other speeds")
    without: str = option("", "names of columns to leave out, with commas between them")
    event_types: str = option(
        "auto",
        "whether to look at types of events, where there are some; auto: where that helps on the latest fifth",
        choices=("auto", "always", "never"),
    )

    def __post_init__(self) -> None:
        check_options(self)


def check_windows(window: int, step: int) -> None:
    """Make sure that windows overlap: 1 <= step < window."""
    if not 1 <= step < window:
        expected, found = f"from 1 to {window - 1}, so that windows overlap", str(step)
        cure = "lower window_step or raise window"
        raise ConfigError("windows do not overlap", expected=expected, found=found, cure=cure, where="window_step")


def fewest_walks(window: int) -> int:
    """Give the number of walks from which on windows save work (Lemma 2): window^2 - 3 window + 3 < walks."""
    return max(window * window - 3 * window + 4, window)
