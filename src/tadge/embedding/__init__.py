"""TADGE, the estimator: batches, training loop, checkpoints, inference as of a moment."""
