"""The page of the board says what the records say, and is the one in the docs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from small import forum
from tadge.board import AnswerSheet, make_board, score_answers
from tadge.report.board import board_page

DOCS = Path(__file__).parents[2] / "docs"


def test_a_table_of_each_board(tmp_path):
    board = make_board(forum(), "forum", moments=20, horizons=(1.0, 7.0))
    board.write(tmp_path / "forum")
    sheets = {
        "sure": AnswerSheet(np.tile([0.0, 1.0], (len(board), 1)), np.tile(np.arange(5.0), (len(board), 1))),
        "median": AnswerSheet(quantiles=np.full((len(board), 1), 2.0)),
    }
    result = score_answers(board, sheets)
    result.to_json(tmp_path / "forum" / "record.json")
    (tmp_path / "words.md").write_text("# Words\n")
    page = board_page(tmp_path)
    assert page.startswith("# Words\n")
    assert "### forum\n" in page
    assert "| method | C-index | Brier 1 day | Brier 7 days | RMSE | MAE days | Median days | Pinball |" in page
    assert "| median | **0.500** | - | - | **" in page
    assert board.about.questions_sha256[:12] in page
    assert "links came; order: all questions" in page


def test_the_page_in_the_docs_is_made_from_the_records_there():
    page = DOCS / "board.md"
    if not page.exists():
        pytest.skip("the docs are not here")
    assert page.read_text(encoding="utf-8") == board_page(DOCS / "board")
