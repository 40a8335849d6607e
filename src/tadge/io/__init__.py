"""Files in, files out, and tables of other libraries."""
