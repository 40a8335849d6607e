"""Files in, files out, known data sets and known-answer graphs."""
