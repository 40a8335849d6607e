"""The paper's network, in torch only, in the paper's order."""
