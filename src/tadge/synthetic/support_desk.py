"""Make a support desk by a known law, so that who, when, how likely and never can be set beside the truth.

The law. Customer c writes tickets as a Poisson process of its own rate; rates are gamma distributed around a mean.
Whatever happened before, a ticket goes to the customer's favourite agent with probability 0.7, else to one of all
agents, each as likely (the favourite too). So tickets of c to agent a are a Poisson process of the rate

    r(c, a) = rate(c) share(c, a),    share = 0.3 / agents, for the favourite 0.7 more,

and the wait for the next of them is exponential. All customers are there when the record begins. Where customers
leave, each does so for good after an exponential lifetime with the mean 1 / m, silently. Given that c last wrote g days
ago (or that the record began then),

    P(c is still there) = (rate + m) / (rate + m exp((rate + m) g)),
    P(a ticket to a within d days) = P(c is still there) r / (r + m) (1 - exp(-(r + m) d)),

and what is missing to 1 as d grows is the probability that there is none ever again. Times are rounded down to minutes.
Axes: C customers, A agents, E events, Q questions.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from tadge.arrays import Days, Flags, Ints, NodeNumbers, Nodes
from tadge.config import Option, check_options, option
from tadge.errors import InputError
from tadge.graph import TemporalGraph
from tadge.graph.ids import Ids, as_lookup, find_ids, nearest_ids
from tadge.graph.inputs import Moments, NodeIds, moments_of
from tadge.graph.past import past_of
from tadge.seeding import check_seed
from tadge.units import PER_DAY, date_text, days_of_date, to_days

FIRST_DAY = "2020-01-01"
LOYALTY = 0.7  # fraction of a customer's tickets that go to its favourite, before the rest is spread over all
SHAPE = 2.0  # of the gamma distribution of rates
_QUANTILE = Option("quantile", float, 0.5, "probability that the wait is over", low=0.0, high=1.0)


@dataclass(frozen=True)
class DeskConfig:
    """Set what a support desk is like; by default a customer of median rate waits 15.8 days for its favourite."""

    customers: int = option(400, "number of customers", low=1, high=10_000_000)
    agents: int = option(10, "number of agents", low=1, high=1_000_000)
    days: float = option(365.0, "how long the record lasts", low=1e-3, high=1e5)
    rate: float = option(0.0716, "mean number of tickets of a customer and day", low=1e-9, high=1e4)
    leaving: bool = option(False, "whether customers leave for good")
    lifetime: float = option(365.0, "mean days until a customer leaves, where they do", low=1e-3, high=1e9)

    def __post_init__(self) -> None:
        check_options(self)


@dataclass(frozen=True, eq=False, repr=False)
class Desk:
    """Hold the tickets of a support desk, and answer by the law that made them.

    Questions name customers and agents by their ids, one or as many as there are answers, and a moment `at`: everything
    up to it is known, nothing after it. It is that of the last ticket where none is given. Without leaving it does not
    matter, as Poisson processes have no memory.

    Attributes:
        graph: the tickets, two-sided: customers link to agents, on the Unix clock. Customers without any are not in it.
        customers: (C,) ids, "customer 1" up.
        agents: (A,) ids, "agent 1" up.
        rate: (C,) float64, tickets of each customer and day while it is there.
        favourite: (C,) int32, the place of each customer's favourite in `agents`.
        left: (C,) float64 days on the graph's clock, when each customer left or will leave; +inf where never.
        span: first and last moment of the record, in days.
        config: the options.
        seed: the seed it was made from.
    """

    graph: TemporalGraph
    customers: Ids
    agents: Ids
    rate: Days
    favourite: Nodes
    left: Days
    span: tuple[float, float]
    config: DeskConfig
    seed: int

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, np.ndarray):
                value.flags.writeable = False

    def probability_of_agent(self, customer: NodeIds, agent: NodeIds) -> Days:
        """Return the probability that the customer's next ticket, if there is one, goes to this agent, (Q,)."""
        return self._shares(*self._pairs(customer, agent))

    def probability_alive(self, customer: NodeIds, *, at: Moments = None) -> Days:
        """Return the probability that a customer has not left, given its tickets up to a moment, (Q,)."""
        return self._alive(self._places(customer, self.customers, "customer"), at)

    def probability_within(self, customer: NodeIds, agent: NodeIds, days: Any, *, at: Moments = None) -> Days:
        """Return the probability that the customer writes to the agent within so many days after a moment, (Q,).

        Args:
            customer: ids.
            agent: ids.
            days: one number, or (Q,); with `inf` the rest to 1 is the probability that it never does.
            at: the moment, or (Q,).
        """
        who, whom = self._pairs(customer, agent)
        window = np.asarray(days, np.float64)
        if not np.all(window >= 0) or (window.ndim and window.shape != who.shape):
            expected = f"one number of at least 0, or {who.size:,}"
            raise InputError("not a number of days", expected=expected, found=repr(days)[:80], where="days")
        pace, ends = self._pace(who, whom)
        return np.asarray(self._alive(who, at) * pace / ends * -np.expm1(-ends * window))

    def median_wait(self, customer: NodeIds, agent: NodeIds, *, at: Moments = None) -> Days:
        """Return the median wait, in days from a moment, for the customer's next ticket to the agent, (Q,).

        It is +inf where it is more likely that there is none ever again.
        """
        return self.wait_quantile(customer, agent, 0.5, at=at)

    def wait_quantile(self, customer: NodeIds, agent: NodeIds, quantile: float = 0.5, *, at: Moments = None) -> Days:
        """Return the days from a moment within which the ticket comes with this probability, (Q,); +inf where never."""
        wanted = _QUANTILE.check(quantile)
        who, whom = self._pairs(customer, agent)
        pace, ends = self._pace(who, whom)
        ever = np.maximum(self._alive(who, at) * pace / ends, np.finfo(np.float64).tiny)
        with np.errstate(divide="ignore"):
            return np.asarray(-np.log1p(-np.minimum(wanted / ever, 1.0)) / ends)

    def __repr__(self) -> str:
        sizes = f"{self.customers.size:,} customers, {self.agents.size:,} agents"
        return f"Desk({self.graph!r}, {sizes}, {'leaving, ' if self.config.leaving else ''}seed {self.seed})"

    # -- the law ------------------------------------------------------------------------------------------------------

    @property
    def _leaving_rate(self) -> float:
        return 1 / self.config.lifetime if self.config.leaving else 0.0

    def _shares(self, who: Ints, whom: Ints) -> Days:
        return np.asarray(LOYALTY * (self.favourite[who] == whom) + (1 - LOYALTY) / self.agents.size)

    def _pace(self, who: Ints, whom: Ints) -> tuple[Days, Days]:
        """Give the rate of tickets of pairs, and that at which a wait ends, by a ticket or by leaving, each (Q,)."""
        pace = self.rate[who] * self._shares(who, whom)
        return pace, pace + self._leaving_rate

    def _alive(self, who: Ints, at: Moments) -> Days:
        now = moments_of(self.graph, at, who.size)
        if now.max(initial=-np.inf) > self.span[1]:
            expected, found = (date_text(day, self.graph.clock) for day in (self.span[1], float(now.max())))
            raise InputError("after the end of the record", expected=f"{expected} or before", found=found, where="at")
        node = find_ids(self.graph.ids, None, self.customers[who])
        last, seen = np.full(who.size, self.span[0]), node >= 0
        last[seen] = np.maximum(past_of(self.graph).last_outgoing(node[seen], now[seen]), self.span[0])
        silent = np.maximum(now - last, 0.0)
        rate, leaving = self.rate[who], self._leaving_rate
        with np.errstate(over="ignore"):
            return np.asarray((rate + leaving) / (rate + leaving * np.exp((rate + leaving) * silent)))

    # -- questions ----------------------------------------------------------------------------------------------------

    def _pairs(self, customer: NodeIds, agent: NodeIds) -> tuple[Ints, Ints]:
        who, whom = self._places(customer, self.customers, "customer"), self._places(agent, self.agents, "agent")
        if who.size != whom.size and 1 not in (who.size, whom.size):
            found = f"{who.size:,}, {whom.size:,}"
            raise InputError("customers and agents differ in length", expected="as many", found=found)
        who, whom = np.broadcast_arrays(who, whom)
        return who, whom

    def _places(self, ids: NodeIds, known: Ids, name: str) -> Ints:
        """Find ids among the customers or the agents, (n,) places."""
        wanted = as_lookup(self.graph.ids[ids] if isinstance(ids, NodeNumbers) else ids, known, name)
        place = find_ids(known, np.argsort(known), wanted)
        if (place < 0).any():
            unknown = wanted[place < 0][0]
            cure = nearest_ids(known, unknown)
            expected = f"one of {known.size:,} ids"
            raise InputError(f"unknown {name}", expected=expected, found=repr(unknown), cure=cure, where=name)
        return place


def desk(
    customers: int = DeskConfig.customers,
    agents: int = DeskConfig.agents,
    *,
    days: float = DeskConfig.days,
    rate: float = DeskConfig.rate,
    leaving: bool = DeskConfig.leaving,
    lifetime: float = DeskConfig.lifetime,
    seed: int = 0,
) -> Desk:
    """Make a support desk whose law is known; see `tadge.synthetic.support_desk` for the law.

    Args:
        customers: how many customers.
        agents: how many agents.
        days: how long the record lasts.
        rate: mean number of tickets of a customer and day; each customer has a rate of its own.
        leaving: whether customers leave for good.
        lifetime: mean days until they do, from the beginning of the record.
        seed: the same seed gives the same desk, bit by bit.
    """
    config = DeskConfig(customers, agents, days, rate, leaving, lifetime)
    rng = np.random.default_rng(check_seed(seed))
    rates = rng.gamma(SHAPE, config.rate / SHAPE, config.customers)
    favourite = rng.integers(config.agents, size=config.customers, dtype=np.int32)
    life = rng.exponential(config.lifetime, config.customers) if config.leaving else np.full(config.customers, np.inf)
    present = np.minimum(life, config.days)
    who = np.repeat(np.arange(config.customers), rng.poisson(rates * present))
    loyal: Flags = rng.random(who.size) < LOYALTY
    whom = np.where(loyal, favourite[who], rng.integers(config.agents, size=who.size))
    first = days_of_date(FIRST_DAY)
    minute = np.floor((first + rng.random(who.size) * present[who]) * PER_DAY["min"])
    customer_ids, agent_ids = _ids("customer", config.customers), _ids("agent", config.agents)
    return Desk(
        graph=TemporalGraph.from_arrays(
            customer_ids[who], agent_ids[whom], to_days(minute, "min"), unit="days", clock="unix", bipartite=True
        ),
        customers=customer_ids,
        agents=agent_ids,
        rate=rates,
        favourite=favourite,
        left=first + life,
        span=(first, first + config.days),
        config=config,
        seed=seed,
    )


def _ids(name: str, count: int) -> Ids:
    return np.array([f"{name} {number}" for number in range(1, count + 1)], dtype=object)
