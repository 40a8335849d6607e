"""Workbooks: the first sheet that has rows is read, where the package for it is installed."""

from __future__ import annotations

import importlib.util
import io
import zipfile

import pytest

import tadge
from tadge.io.readers import read_events

NAMESPACE = "http://schemas.openxmlformats.org"
TYPES = f"""<Types xmlns="{NAMESPACE}/package/2006/content-types">
<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>
<Default Extension="xml" ContentType="application/xml"/>
<Override PartName="/xl/workbook.xml"
 ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"/></Types>"""
KIND = f"{NAMESPACE}/officeDocument/2006/relationships"
ROOT = f"""<Relationships xmlns="{NAMESPACE}/package/2006/relationships">
<Relationship Id="r0" Type="{KIND}/officeDocument" Target="xl/workbook.xml"/></Relationships>"""


def workbook(**sheets):
    """Write a workbook as simple as can be: sheets of rows of strings and numbers; None for an empty row."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("[Content_Types].xml", TYPES)
        archive.writestr("_rels/.rels", ROOT)
        listed = "".join(f'<sheet name="{name}" sheetId="{k}" r:id="r{k}"/>' for k, name in enumerate(sheets, 1))
        spaces = f'xmlns="{NAMESPACE}/spreadsheetml/2006/main" xmlns:r="{KIND}"'
        main = f"<workbook {spaces}><sheets>{listed}</sheets></workbook>"
        archive.writestr("xl/workbook.xml", main)
        links = "".join(
            f'<Relationship Id="r{k}" Type="{KIND}/worksheet" Target="worksheets/sheet{k}.xml"/>'
            for k in range(1, len(sheets) + 1)
        )
        links = f'<Relationships xmlns="{NAMESPACE}/package/2006/relationships">{links}</Relationships>'
        archive.writestr("xl/_rels/workbook.xml.rels", links)
        for k, rows in enumerate(sheets.values(), 1):
            body = "".join(_row(number, cells) for number, cells in enumerate(rows, 1) if cells)
            sheet = f'<worksheet xmlns="{NAMESPACE}/spreadsheetml/2006/main"><sheetData>{body}</sheetData></worksheet>'
            archive.writestr(f"xl/worksheets/sheet{k}.xml", sheet)
    return out.getvalue()


def _row(number, cells):
    texts = [
        f'<c r="{"ABCDEF"[at]}{number}" t="str"><v>{cell}</v></c>'
        if isinstance(cell, str)
        else f'<c r="{"ABCDEF"[at]}{number}"><v>{cell}</v></c>'
        for at, cell in enumerate(cells)
    ]
    return f'<row r="{number}">{"".join(texts)}</row>'


ROWS = [[f"u{k % 5}", f"v{k % 3}", 1_300_000_000 + 1000 * k] for k in range(30)]
HEADER = ["src", "dst", "time"]


def test_without_the_package_the_cure_is_named(tmp_path, monkeypatch):
    path = tmp_path / "e.xlsx"
    path.write_bytes(workbook(data=[HEADER, *ROWS]))
    monkeypatch.setattr("tadge.io.workbooks.find_spec", lambda _: None)
    with pytest.raises(
        tadge.MissingExtraError, match=r"e.xlsx: .* pip install 'tadge\[excel\]', or save the sheet as CSV"
    ):
        read_events(path)


def test_a_workbook_that_says_it_is_huge(tmp_path):
    path = tmp_path / "e.xlsx"
    path.write_bytes(workbook(data=[HEADER, *ROWS]))
    with pytest.raises(tadge.InputError, match="as max_unpacked says"):
        read_events(path, max_unpacked=1e-6)


@pytest.mark.skipif(importlib.util.find_spec("fastexcel") is None, reason="fastexcel is not installed")
class TestWithThePackage:
    def read(self, tmp_path, capsys, **sheets):
        (tmp_path / "e.xlsx").write_bytes(workbook(**sheets))
        graph = read_events(tmp_path / "e.xlsx")
        return graph, capsys.readouterr().err

    def test_the_first_sheet_with_rows_is_read(self, tmp_path, capsys):
        (tmp_path / "e.csv").write_text("\n".join(",".join(map(str, row)) for row in [HEADER, *ROWS]) + "\n")
        expected = read_events(tmp_path / "e.csv", quiet=True).fingerprint
        graph, line = self.read(tmp_path, capsys, cover=[["My data"]], events=[None, HEADER, *ROWS])
        assert graph.fingerprint == expected
        assert "workbook, sheet 'events' of 2, header" in line
        graph, line = self.read(tmp_path, capsys, events=ROWS)
        assert graph.fingerprint == expected
        assert "no header" in line

    def test_rows_keep_their_numbers(self, tmp_path, capsys):
        with pytest.raises(tadge.InputError, match=r"sheet 'events', row 6: time .* found 'soon'"):
            self.read(tmp_path, capsys, events=[None, HEADER, *ROWS[:2], None, ["a", "b", "soon"], *ROWS[2:]])

    def test_no_rows_and_damage(self, tmp_path, capsys):
        with pytest.raises(tadge.InputError, match="no sheet has rows"):
            self.read(tmp_path, capsys, empty=[])
        whole = workbook(data=[HEADER, *ROWS])
        (tmp_path / "e.xlsx").write_bytes(whole.replace(b"</sheetData>", b"</sheetDatx>"))
        with pytest.raises(tadge.InputError, match="the workbook is damaged or locked"):
            read_events(tmp_path / "e.xlsx")
