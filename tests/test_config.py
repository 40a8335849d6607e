from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from tadge.config import Option, WalkConfig, check_options, option, options
from tadge.errors import ConfigError


def test_every_option_says_what_it_is():
    listed = options(WalkConfig)
    assert [one.name for one in listed] == [field.name for field in dataclasses.fields(WalkConfig)]
    for one in listed:
        assert one.help
        assert one.check(one.default) == one.default
    assert listed == options(WalkConfig())
    assert listed[0].expected() == "an integer of at least 1"
    assert listed[3].expected() == "occurrence or future"
    assert listed[5].expected() == "degree, degree-so-far or uniform"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"max_length": 1},
            r"max_length: value too small; expected an integer from 2 to 1,000,000; found 1; the default is 5",
        ),
        (
            {"min_length": 6},
            r"min_length: no walk can be that long; expected at most max_length = 5; found 6; lower min_length",
        ),
        ({"num_walks": 0}, "num_walks: value too small"),
        ({"num_walks": 2.0}, r"num_walks: wrong kind of value; expected an integer of at least 1; found 2\.0"),
        ({"num_walks": True}, "num_walks: wrong kind of value"),
        ({"num_walks": "7"}, "num_walks: wrong kind of value"),
        (
            {"reach": "past"},
            "reach: unknown choice; expected occurrence or future; found 'past'; the default is 'occurrence'",
        ),
        ({"reach": None}, "reach: wrong kind of value"),
        ({"direction": "up"}, "direction: unknown choice"),
        ({"centrality": 3}, "centrality: wrong kind of value"),
    ],
)
def test_bad_values_are_one_sentence(changes, message):
    with pytest.raises(ConfigError, match=message):
        WalkConfig(**changes)


def test_values_are_kept_as_plain_kinds():
    config = WalkConfig(num_walks=np.int64(7), max_length=np.uint8(9))
    assert type(config.num_walks) is int
    assert type(config.max_length) is int
    assert config == WalkConfig(num_walks=7, max_length=9)
    with pytest.raises(dataclasses.FrozenInstanceError):
        config.num_walks = 3


def test_other_configs_can_be_written_the_same_way():
    @dataclasses.dataclass(frozen=True)
    class Config:
        rate: float = option(0.1, "how fast", low=0.0, high=1.0)
        loud: bool = option(False, "say more")
        limit: int | None = option(None, "at most", low=1, kind=int)
        note: str = option("", "anything")

        def __post_init__(self):
            check_options(self)

    assert Config(rate=1).rate == 1.0
    assert Config(limit=np.int32(3)).limit == 3
    assert Config().limit is None
    for changes, message in (
        ({"rate": float("nan")}, "rate: not a number"),
        ({"rate": 2}, "rate: value too large; expected a number from 0.0 to 1.0; found 2"),
        ({"loud": 1}, "loud: wrong kind of value; expected True or False"),
        ({"limit": 0}, "limit: value too small; expected an integer of at least 1 or None"),
        ({"rate": "fast"}, "rate: wrong kind"),
        ({"note": 5}, "note: wrong kind of value; expected a string"),
    ):
        with pytest.raises(ConfigError, match=message):
            Config(**changes)
    assert Option("x", int, 1, "", high=5).expected() == "an integer of at most 5"
