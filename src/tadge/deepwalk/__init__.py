"""Skip-gram on the static graph: DeepWalk, node2vec, LINE; the initial vectors."""
