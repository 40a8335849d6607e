"""Run the command line as `python -m tadge`."""

from tadge.cli import main

main()
