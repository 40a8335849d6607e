"""Training: initial vectors, batches, the loop, checkpoints."""
