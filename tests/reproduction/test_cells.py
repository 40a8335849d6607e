from __future__ import annotations

import pytest

from tadge.errors import InputError
from tadge.reproduction.cells import METHODS, SUBJECTS, Cell, all_cells, cells_of, changed, same_cell
from tadge.reproduction.printed import CLASSES, EDGES, TOE
from tadge.reproduction.sizes import TRANSACTION


def test_every_table_and_figure_has_runs_with_names_of_their_own():
    for subject in SUBJECTS:
        cells = cells_of(subject, TRANSACTION, 3)
        assert cells
        assert len({cell.name for cell in cells}) == len(cells)
    everything = all_cells(SUBJECTS, TRANSACTION, 3)
    assert len({cell.name for cell in everything}) == len(everything)


def test_tables_3_to_5_and_fig_4_share_their_runs():
    shared = all_cells(["table3"], TRANSACTION, 2)
    assert shared == all_cells(["table3", "table4", "table5", "fig4"], TRANSACTION, 2)


def test_fig_5_has_the_papers_grid():
    shapes = {tuple(value for _, value in cell.changes) for cell in cells_of("fig5", TRANSACTION, 3)}
    assert shapes == {(blocks, heads) for blocks in (2, 4, 6, 8) for heads in (2, 4, 8)}


def test_a_cell_is_read_back_as_it_was():
    cell = changed(TRANSACTION, blocks=2, heads=8)
    assert Cell.from_dict(cell.to_dict()) == cell
    assert same_cell(cell.to_dict(), cell)
    assert not same_cell(cell.to_dict(), changed(TRANSACTION, blocks=4, heads=8))


def test_every_printed_method_is_run():
    for table in (TOE, EDGES, CLASSES):
        for methods in table.values():
            assert set(methods) <= set(METHODS)


def test_an_unknown_figure_is_one_sentence():
    with pytest.raises(InputError, match="unknown table or figure; expected one of table1"):
        cells_of("fig3", TRANSACTION, 1)
