"""Does a method look ahead? The same questions in worlds that differ only in the future."""
