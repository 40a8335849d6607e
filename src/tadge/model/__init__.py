"""The network of TADGE in torch: tensors in, tensors out; it knows no graph and no walks.

Axes: B walks in a batch, L steps, D width, H heads, R rows: the places of all walks of a batch, packed without padding.
"""
