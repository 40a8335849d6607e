"""A board for "when": fixed questions about pairs as plain files, answers by anybody, scores that can be told apart.

>>> from tadge import board, synthetic
>>> questions = board.make_board(synthetic.forum(2_000, seed=7).graph, "forum", moments=50)
>>> sorted(questions.question_frame().columns)
['dst', 'horizon_days', 'question', 'src', 'unix_days']
"""

from tadge.board.answers import AnswerSheet, answers_of, read_answers
from tadge.board.questions import Board, make_board
from tadge.board.scoring import score_answers

__all__ = ["AnswerSheet", "Board", "answers_of", "make_board", "read_answers", "score_answers"]
