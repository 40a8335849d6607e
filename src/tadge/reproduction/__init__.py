"""Section 5 of the paper, run again: its protocol, its baselines, every table and figure beside the printed ones."""

from tadge.reproduction.cells import SUBJECTS, Cell, cells_of
from tadge.reproduction.judge import judge_parts
from tadge.reproduction.run import Reproduction, check_records, reproduce

__all__ = ["SUBJECTS", "Cell", "Reproduction", "cells_of", "check_records", "judge_parts", "reproduce"]
