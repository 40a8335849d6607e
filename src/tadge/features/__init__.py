"""Named columns of what both ends of a pair had done by a moment."""
