"""The synthetic forum: its law holds, and the oracle's scores are what the law says."""

from __future__ import annotations

import doctest
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tadge import synthetic
from tadge.errors import ConfigError, InputError, TadgeError
from tadge.units import squash


@pytest.fixture(scope="module")
def known():
    return synthetic.forum(50_000, seed=3)


@pytest.fixture(scope="module")
def small():
    return synthetic.forum(6_000, communities=4, seed=5)


def normal_cdf(z):
    return np.array([0.5 * math.erfc(-x / math.sqrt(2)) for x in z])


def last_join(graph):
    """Return the event of the target's latest ToV before each event, by definition; -1 without one."""
    latest, born = {}, []
    for i, (u, v) in enumerate(zip(graph.src.tolist(), graph.dst.tolist(), strict=True)):
        born.append(latest.get(v, -1))
        latest.setdefault(v, i)
        latest[u] = i
    return np.array(born)


# -- the record -------------------------------------------------------------------------------------------------------


def check_record(made, events):
    graph = made.graph
    assert graph.num_events == events == made.thread.size
    assert np.all(np.diff(graph.time) > 0)
    assert np.all(graph.src != graph.dst)
    ends = np.column_stack([graph.src, graph.dst]).ravel()
    _, first = np.unique(ends, return_index=True)
    assert np.all(np.diff(first) > 0) and first.size == graph.num_nodes  # numbered in order of joining
    assert np.array_equal(np.isnan(graph.toe), np.isnan(made.delay))
    start = np.isnan(made.delay)
    np.testing.assert_allclose(graph.toe[~start], made.delay[~start], rtol=0, atol=1e-9)
    assert np.array_equal(made.thread[start], np.arange(made.thread_pace.size))
    assert made.labels.size == made.activity.size == graph.num_nodes
    assert made.labels.min() >= 0 and made.labels.max() < made.law.size.size


def check_waiting(made):
    """A writer acts no more until all replies that its act calls for have come, and gets no more than those."""
    waiting = dict.fromkeys(range(made.graph.num_nodes), 0)
    starts = np.isnan(made.delay)
    for i, (u, v) in enumerate(zip(made.graph.src.tolist(), made.graph.dst.tolist(), strict=True)):
        assert waiting[u] == 0
        if starts[i]:
            waiting[v] = int(made.first_readers[made.thread[i]])
        else:
            waiting[v] -= 1
            assert waiting[v] >= 0
        waiting[u] = int(made.readers[i])
    writers, counts = np.unique(made.unanswered[:, 0], return_counts=True)
    assert dict(zip(writers.tolist(), counts.tolist(), strict=True)) == {v: n for v, n in waiting.items() if n}


def test_the_graphs_own_toe_is_the_delay_that_was_drawn(known):
    check_record(known, 50_000)
    check_waiting(known)


@settings(max_examples=25, deadline=None)
@given(
    events=st.integers(10, 400),
    communities=st.integers(1, 10),
    days=st.floats(0.01, 3_000),
    tau=st.floats(0, 3),
    sigma=st.floats(0.001, 3),
    branching=st.floats(0, 0.99),
    inside=st.floats(0, 1),
    seed=st.integers(0, 2**63 - 1),
)
def test_any_parameters_give_a_sound_record(events, communities, days, tau, sigma, branching, inside, seed):
    options = {"communities": communities, "days": days, "tau": tau, "sigma": sigma, "branching": branching}
    made = synthetic.forum(events, inside=inside, seed=seed, **options)
    check_record(made, events)
    check_waiting(made)
    replies = np.flatnonzero(~np.isnan(made.delay))
    if not replies.size:
        with pytest.raises(InputError, match="no reply"):
            synthetic.best_toe_rmse(made)
        return
    rmse = synthetic.best_toe_rmse(made)
    assert all(math.isfinite(value) and 0 <= value <= 1 for value in (rmse.floor, rmse.oracle, rmse.history))
    assert rmse.community <= rmse.constant + 1e-12
    scores = synthetic.link_intensity(made, replies, made.graph.dst[replies, None])
    assert np.all(np.isfinite(scores)) and np.all(scores > 0)


def test_a_seed_is_a_graph():
    one, two, other = (synthetic.forum(2_000, seed=seed) for seed in (11, 11, 12))
    for name in ("src", "dst", "time", "toe"):
        assert np.array_equal(getattr(one.graph, name), getattr(two.graph, name), equal_nan=True)
    for name in ("labels", "activity", "thread", "delay", "readers", "thread_pace", "unanswered"):
        assert np.array_equal(getattr(one, name), getattr(two, name), equal_nan=True)
    assert not np.array_equal(one.graph.time, other.graph.time)
    assert not one.delay.flags.writeable


def test_the_clock(known):
    assert known.graph.clock == "unix"
    first = (np.datetime64("2020-01-01") - np.datetime64("1970-01-01")) / np.timedelta64(1, "D")
    assert first < known.graph.time[0] < first + 10
    assert 0.8 * 730 < known.graph.time[-1] - first < 1.2 * 730
    half = synthetic.forum(50_000, days=100.0, seed=3)
    assert 0.8 * 100 < half.graph.time[-1] - first < 1.2 * 100
    assert "50,000 events" in repr(known)


# -- it looks like a forum --------------------------------------------------------------------------------------------


def test_degrees_are_heavy_tailed_and_users_return(known):
    degree = np.sort(known.graph.degree)[::-1]
    assert degree[: degree.size // 100].sum() > 0.1 * degree.sum()
    assert degree[0] > 15 * degree.mean() and np.median(degree) < 0.7 * degree.mean()
    acts = np.bincount(known.graph.src, minlength=known.graph.num_nodes)
    assert np.count_nonzero(acts > 1) > 0.5 * acts.size
    assert np.count_nonzero(acts > 50) > 20
    sizes = np.sort(np.bincount(known.thread))[::-1]
    assert sizes[0] > 10 * sizes.mean()


def test_communities_hold_most_events_and_differ_in_size_and_pace(known):
    graph = known.graph
    assert np.mean(known.labels[graph.src] == known.labels[graph.dst]) > 0.7
    size = np.bincount(known.labels)
    assert size.size == 8 and size.max() > 2 * size.min()
    community = known.thread_community[known.thread]
    median = [np.nanmedian(known.delay[community == c]) for c in range(8)]
    assert max(median) > 50 * min(median)
    np.testing.assert_allclose(np.log(median), known.law.pace, atol=0.5)


def test_branching_and_starts_are_as_asked(known):
    calls = np.concatenate([known.readers, known.first_readers])
    assert abs(calls.mean() - 0.85) < 6 * calls.std() / math.sqrt(calls.size)
    assert calls.max() > 20
    assert 0.05 < np.isnan(known.delay).mean() < 0.12


# -- the law of ToE ---------------------------------------------------------------------------------------------------


def test_delays_follow_the_law(known):
    """The share of the law below the delay, among delays that fit on the record, is uniform (Kolmogorov-Smirnov)."""
    reply = ~np.isnan(known.delay)
    room = known.graph.time[-1] - (known.graph.time - known.graph.toe)[reply]
    below = normal_cdf((np.log(known.delay) - known.pace)[reply] / known.sigma)
    possible = normal_cdf((np.log(room) - known.pace[reply]) / known.sigma)
    share = np.sort(below / possible)
    n = share.size
    distance = max(np.max(np.arange(1, n + 1) / n - share), np.max(share - np.arange(n) / n))
    assert distance * math.sqrt(n) < 2.5  # exceeded by chance in 1 of 130,000 seeds


def test_paces_of_threads_follow_the_law(known):
    z = np.sort((known.thread_pace - known.law.pace[known.thread_community]) / known.law.tau)
    n = z.size
    assert np.max(np.abs(normal_cdf(z) - (np.arange(n) + 0.5) / n)) * math.sqrt(n) < 2.5


def test_who_replies_says_nothing_about_when(known):
    """As of t' neither the reader's past nor its being new tells the delay; replies cut off by the end left out."""
    graph = known.graph
    born = last_join(graph)
    chosen = np.flatnonzero((born >= 0) & (graph.time - graph.toe < graph.time[-1] - 150))
    z = ((np.log(known.delay) - known.pace) / known.sigma)[chosen]
    joined = np.full(graph.num_nodes, graph.num_events)
    np.minimum.at(joined, np.concatenate([graph.src, graph.dst]), np.tile(np.arange(graph.num_events), 2))
    is_new = joined[graph.src[chosen]] > born[chosen]
    since = np.full(chosen.size, np.nan)  # of the reader's latest ToV, as of t'
    for k in np.flatnonzero(~is_new):
        tov, then = graph.tov(int(graph.src[chosen[k]])), graph.time[born[chosen[k]]]
        since[k] = then - tov[np.searchsorted(tov, then, side="right") - 1]
    slow = since > np.nanmedian(since)
    popular = known.activity[graph.src[chosen]] > 100
    for part in (is_new, ~is_new, slow, ~is_new & ~slow, popular, ~popular):
        assert part.sum() > 2_000
        assert abs(z[part].mean()) < 4.5 / math.sqrt(part.sum())
        assert abs((z[part] ** 2).mean() - 1) < 4.5 * math.sqrt(2 / part.sum())


def test_best_toe_is_the_conditional_mean(small):
    grid = np.linspace(-9, 9, 4_001)
    density = np.exp(-(grid**2) / 2)
    density /= density.sum()
    guess = synthetic.best_toe(small)
    assert np.array_equal(np.isnan(guess), np.isnan(small.graph.toe))
    variance = np.full(guess.size, np.nan)
    for i in np.flatnonzero(~np.isnan(guess))[::97]:
        value = squash(np.exp(small.pace[i] + small.sigma * grid))
        assert guess[i] == pytest.approx(value @ density, abs=1e-9)
        variance[i] = (value - value @ density) ** 2 @ density
    chosen = np.flatnonzero(~np.isnan(variance))
    floor = synthetic.best_toe_rmse(small, chosen).floor
    assert floor == pytest.approx(math.sqrt(variance[chosen].mean()), abs=1e-9)


def test_the_history_predictor_is_bayes_rule(small):
    """The same by conditioning a joint normal law on the delays seen, thread by thread."""
    graph, law = small.graph, small.law
    born = last_join(graph)
    chosen = np.flatnonzero(born >= 0)[5::89]
    grid = np.linspace(-9, 9, 4_001)
    density = np.exp(-(grid**2) / 2) / np.exp(-(grid**2) / 2).sum()
    error = []
    for i in chosen:
        seen = np.flatnonzero((small.thread[: born[i] + 1] == small.thread[i]) & ~np.isnan(small.delay[: born[i] + 1]))
        prior = law.pace[small.thread_community[small.thread[i]]]
        cov = law.tau**2 * np.ones((seen.size + 1, seen.size + 1)) + law.sigma**2 * np.eye(seen.size + 1)
        gain = np.linalg.solve(cov[1:, 1:], cov[1:, 0])
        mean = prior + gain @ (np.log(small.delay[seen]) - prior)
        spread = math.sqrt(cov[0, 0] - gain @ cov[1:, 0])
        error.append(squash(small.delay[i]) - squash(np.exp(mean + spread * grid)) @ density)
    expected = math.sqrt(np.mean(np.square(error)))
    assert synthetic.best_toe_rmse(small, chosen).history == pytest.approx(expected, abs=1e-8)


def test_the_floor_is_reached_and_the_less_one_knows_the_worse(known):
    rmse = synthetic.best_toe_rmse(known)
    assert rmse.events == np.count_nonzero(~np.isnan(known.delay))
    truth, guess = squash(known.graph.toe), synthetic.best_toe(known)
    square = (truth - guess)[~np.isnan(truth)] ** 2
    assert abs(rmse.oracle**2 - rmse.floor**2) < 5 * square.std() / math.sqrt(square.size)
    assert rmse.floor * 1.08 < rmse.history
    assert rmse.history * 1.08 < rmse.community
    assert rmse.community * 1.2 < rmse.constant
    late = np.arange(50_000) >= 42_500
    assert synthetic.best_toe_rmse(known, late).oracle < synthetic.best_toe_rmse(known, late).history


# -- the law of links -------------------------------------------------------------------------------------------------


def recency_mrr(made, negatives, rng):
    """Rank by the latest act, on the last 15% of the record."""
    latest = np.full(made.graph.num_nodes, -1)
    reciprocal = []
    seen = 0
    for i, (u, v) in enumerate(zip(made.graph.src.tolist(), made.graph.dst.tolist(), strict=True)):
        if i >= 0.85 * made.graph.num_events and latest[v] >= 0:
            others = rng.integers(0, seen, negatives)
            others = latest[others[others != v]]
            rank = 1 + np.sum(others > latest[v]) + np.sum(others == latest[v]) / 2
            reciprocal.append(1 / rank)
        latest[u] = i
        if latest[v] < 0:
            latest[v] = i
        seen = max(seen, u + 1, v + 1)
    return np.mean(reciprocal)


def test_the_best_link_score_is_far_above_chance_and_recency(small):
    best = synthetic.best_link_mrr(small, seed=1)
    assert best == synthetic.best_link_mrr(small, seed=1) != synthetic.best_link_mrr(small, seed=2)
    chance = np.mean(1 / np.arange(1, 102))
    recency = recency_mrr(small, 100, np.random.default_rng(0))
    assert recency > 3 * chance
    assert best > 1.2 * recency and best > 0.7
    assert synthetic.best_link_mrr(small, negatives=1_000) < best
    late = np.arange(small.graph.num_events) >= 0.85 * small.graph.num_events  # the default: up to 1,000 of these
    assert best == pytest.approx(synthetic.best_link_mrr(small, late), abs=0.05)


def ask_everyone(made, queries):
    """Return the chance of every node to be the target of each query, (Q, N)."""
    everyone = np.broadcast_to(np.arange(made.graph.num_nodes), (queries.size, made.graph.num_nodes))
    scores = synthetic.link_intensity(made, queries, everyone)
    return scores / scores.sum(axis=1, keepdims=True)


def test_only_writers_that_wait_have_a_chance(small):
    graph = small.graph
    queries = np.flatnonzero(~np.isnan(small.delay))[::40]
    chance = ask_everyone(small, queries)
    assert np.all(chance[np.arange(queries.size), graph.dst[queries]] > 0)
    assert np.all(chance[np.arange(queries.size), graph.src[queries]] == 0)
    for q, i in enumerate(queries):
        waiting = {*small.unanswered[:, 0].tolist(), *graph.dst[i:].tolist()}
        assert set(np.flatnonzero(chance[q]).tolist()) <= waiting
    shuffled = np.random.default_rng(0).permutation(queries.size)
    assert np.array_equal(ask_everyone(small, queries[shuffled]), chance[shuffled])


def test_link_chances_come_true():
    """Taken as chances, the intensities expect of the true target what it gets, on average over what they tell apart.

    Looked at: the chance itself, also weighted by the source's activity, how long ago the target acted, and whether
    its act went to the source (which then replies back).
    """
    surprises = []
    for seed in (1, 2, 3):
        made = synthetic.forum(6_000, communities=4, seed=seed)
        graph = made.graph
        queries = np.random.default_rng(seed).permutation(np.flatnonzero(~np.isnan(made.delay)))[:2_000]
        chance = ask_everyone(made, queries)
        latest, partner = np.full((2, queries.size, graph.num_nodes), -1)  # event of the latest ToV, target of that act
        born, gone = np.full(graph.num_nodes, -1), np.full(graph.num_nodes, -1)
        row = {int(i): q for q, i in enumerate(queries)}
        for i, (u, v) in enumerate(zip(graph.src.tolist(), graph.dst.tolist(), strict=True)):
            if i in row:
                latest[row[i]], partner[row[i]] = born, gone
            born[u], gone[u] = i, v
            born[v] = i if born[v] < 0 else born[v]
        source = graph.src[queries, None]
        age = np.log(graph.time[queries, None] - np.where(latest >= 0, graph.time[latest], graph.time[0] - 1))
        looks = np.stack([chance, age, partner == source, made.activity[source] * chance / 1_000])
        true = looks[:, np.arange(queries.size), graph.dst[queries]]
        surprises.append(true - (looks * chance).sum(axis=2))
    surprise = np.concatenate(surprises, axis=1)
    assert np.all(np.abs(surprise.mean(axis=1)) < 4.5 * surprise.std(axis=1) / math.sqrt(surprise.shape[1]))


def test_a_newcomer_is_as_likely_as_the_hazard_says(small):
    """For a source never seen, by hand: replies to come x log-normal hazard x chance of the community."""
    graph, law = small.graph, small.law
    _, first = np.unique(np.column_stack([graph.src, graph.dst]).ravel(), return_index=True)
    newcomers = (first // 2)[first % 2 == 0]
    newcomers = newcomers[~np.isnan(small.delay[newcomers])][::2]
    chance = ask_everyone(small, newcomers)
    starts = np.flatnonzero(np.isnan(small.delay))
    checked = 0
    for q, i in enumerate(newcomers):
        targets, expected = [], []
        for s in starts[starts < i]:
            v, th = graph.dst[s], small.thread[s]
            replies = int(np.count_nonzero(graph.dst[s + 1 : i] == v))
            if replies == small.first_readers[th] or np.any(graph.src[s:i] == v):
                continue
            age = graph.time[i] - graph.time[s]
            z = (math.log(age) - small.thread_pace[th]) / law.sigma
            hazard = math.exp(-z * z / 2) / (0.5 * math.erfc(z / math.sqrt(2))) / age
            home = small.thread_community[th] == small.labels[graph.src[i]]
            community = 0.85 * home + 0.15 * law.size[small.labels[graph.src[i]]]
            targets.append(v)
            expected.append((small.first_readers[th] - replies) * hazard * community)
        if len(targets) > 1:
            np.testing.assert_allclose(chance[q, targets] / chance[q, targets[0]], np.array(expected) / expected[0])
            checked += 1
    assert checked > 50


def test_the_example_of_the_package_runs():
    results = doctest.testmod(synthetic)
    assert results.attempted and not results.failed


# -- complaints -------------------------------------------------------------------------------------------------------


BAD = {
    "events": (9, 10**9, 50.0, True),
    "communities": (0, 101),
    "days": (0, math.nan, "730"),
    "tau": (-0.1,),
    "sigma": (0.0,),
    "branching": (1.0,),
    "inside": (1.1,),
    "seed": (-1, None),
}


@pytest.mark.parametrize(("option", "value"), [(option, value) for option in BAD for value in BAD[option]])
def test_bad_options_are_named(option, value):
    with pytest.raises(ConfigError, match=f"^{option}: .*; expected (a|an|at) .*; found "):
        synthetic.forum(**{"events": 100, option: value})


def test_bad_questions_are_refused(small):
    start = int(np.flatnonzero(np.isnan(small.delay))[-1])
    reply = int(np.flatnonzero(~np.isnan(small.delay))[-1])
    questions = [
        lambda: synthetic.best_toe_rmse(small, [start]),
        lambda: synthetic.best_toe_rmse(small, [6_000]),
        lambda: synthetic.best_toe_rmse(small, [0.5]),
        lambda: synthetic.best_toe_rmse(small, np.ones(7, bool)),
        lambda: synthetic.link_intensity(small, [reply, start], [[0], [1]]),
        lambda: synthetic.link_intensity(small, [reply], [0]),
        lambda: synthetic.link_intensity(small, [reply], [[small.graph.num_nodes]]),
        lambda: synthetic.best_link_mrr(small, negatives=0),
    ]
    for question in questions:
        with pytest.raises(TadgeError) as complaint:
            question()
        assert "\n" not in str(complaint.value) and "expected" in str(complaint.value)
