from __future__ import annotations

from small import network, training, walking
from tadge.baselines.of_parts import OfWalks, PartMethod
from tadge.evaluation.paper_methods import paper_methods


def test_methods_stand_in_the_order_of_the_tables_and_differ_as_the_paper_says():
    made = paper_methods(walking(), network(), training(), 5)
    tables = ["DeepWalk", "CTDNE", "GraphSAGE", "GAT", "GAT-strc", "TADGE-tTran", "TADGE"]
    assert list(made) == [*tables, "random vectors", "random vectors + neighbours", "degree + age"]
    for name, method in made.items():
        assert isinstance(method, PartMethod)
        assert method.name == name
        assert (method.estimator if isinstance(method, OfWalks) else method).seed == 5
    variants = {name: method.estimator for name, method in made.items() if isinstance(method, OfWalks)}
    assert {name: model.network_config for name, model in variants.items()} == {
        "GAT": network(encoder="gat", queries="next", structure=False),
        "GAT-strc": network(encoder="gat", queries="next"),
        "TADGE-tTran": network(structure=False),
        "TADGE": network(),
    }
    for model in variants.values():
        assert (model.walk_config, model.train_config) == (walking(), training())
    assert {made[name].dim for name in tables[:3]} == {network().dim}
