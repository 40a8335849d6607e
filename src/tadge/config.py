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

KINDS = {int: "a whole number", float: "a number", bool: "True or False", str: "a text"}


@dataclass(frozen=True)
class Option:
    """Describe one option of a config.

    Attributes:
        name: the field's name.
        kind: int, float, bool or str.
        default: the value it has unless told otherwise.
        help: one line for people.
        low: the smallest value allowed, or None.
        high: the largest value allowed, or None.
        choices: the texts allowed; empty where any will do.
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
            words = KINDS[self.kind]
            if self.low is not None and self.high is not None:
                words += f" from {self.low:,} to {self.high:,}"
            elif self.low is not None:
                words += f" of at least {self.low:,}"
            elif self.high is not None:
                words += f" of at most {self.high:,}"
        return words + (" or None" if self.optional else "")

    def check(self, value: Any) -> Any:
        """Return the value as its plain Python kind, or complain."""
        if value is None and self.optional:
            return None
        try:
            taken = self._as_kind(value)
        except (TypeError, ValueError):
            raise self._complaint("wrong kind of value", value) from None
        if self.choices and taken not in self.choices:
            raise self._complaint("unknown choice", value)
        if self.kind in (int, float):
            if math.isnan(taken):
                raise self._complaint("not a number", value)
            if self.low is not None and taken < self.low:
                raise self._complaint("value too small", value)
            if self.high is not None and taken > self.high:
                raise self._complaint("value too large", value)
        return taken

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
    """Check every option of a frozen config, and keep each value as its plain Python kind."""
    for each in options(config):
        object.__setattr__(config, each.name, each.check(getattr(config, each.name)))


@dataclass(frozen=True)
class WalkConfig:
    """Say how to walk; the defaults are the paper's for its smallest data set."""

    num_walks: int = option(10_000, "walks wanted", low=1)
    max_length: int = option(5, "most vertices in a walk; longer ones are cut", low=2, high=1_000_000)
    min_length: int = option(3, "fewest vertices in a walk; shorter ones are dropped", low=1)
    reach: str = option(
        "occurrence",
        "which events can be stepped over: those up to the vertex's next joining time, or all in its future",
        choices=("occurrence", "future"),
    )
    direction: str = option(
        "forward", "follow time, or go back from a start to what led to it", choices=("forward", "backward")
    )
    centrality: str = option(
        "degree",
        "what draws a walker: events a vertex has in all, events it had by then, or nothing",
        choices=("degree", "degree-so-far", "uniform"),
    )

    def __post_init__(self) -> None:
        check_options(self)
        if self.min_length > self.max_length:
            expected, found = f"at most max_length = {self.max_length}", str(self.min_length)
            cure = "lower min_length or raise max_length"
            raise ConfigError("no walk can be that long", expected=expected, found=found, cure=cure, where="min_length")


@dataclass(frozen=True)
class ModelConfig:
    """Say how large the network is, and in which variant; the defaults are the paper's for its smallest data set."""

    dim: int = option(128, "width of every vector", low=1, high=65_536)
    heads: int = option(4, "attention heads, each as wide as the model", low=1, high=1_024)
    blocks: int = option(3, "blocks of the encoder, and of the decoder", low=1, high=1_000)
    dropout: float = option(0.1, "share of inner values that training leaves out", low=0.0, high=0.99)
    queries: str = option(
        "next",
        "what the decoder asks with: the next vertex (the paper: it has seen the edge), or only the vertex itself",
        choices=("next", "self"),
    )
    structure: bool = option(True, "whether structure embeddings are learned and added")

    def __post_init__(self) -> None:
        check_options(self)
