"""Questions, metrics and protocols by which methods are judged."""
