"""Files of vectors under the user's own ids: Parquet, npz, CSV, and the text form of word2vec.

Parquet has the columns `id` and `vector`, npz the arrays `ids` and `vectors`, CSV and TSV the columns `id`, `v0`, `v1`
and so on; a text has "N dim" in its first row and an id with its numbers, parted by blanks, in every other. What is
written is read back bit for bit.
"""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt
import polars as pl

from tadge.arrays import Vectors
from tadge.errors import ConfigError, InputError
from tadge.graph import TemporalGraph
from tadge.graph.ids import Ids, as_id_column
from tadge.io.streams import first_bytes
from tadge.io.table import damaged_parquet
from tadge.storage.atomic import atomic_file

TEXTS = (".txt", ".vec", ".w2v")
SEPARATORS = {".csv": ",", ".tsv": "\t"}
VECTOR_FORMS = (".parquet", ".npz", *SEPARATORS, *TEXTS)
ROWS_AT_A_TIME = 8_192  # of a text that are written at a time
BLANK = r"[\s\x1c-\x1f]"  # all that anybody may take for a blank
LARGEST = float(np.finfo(np.float32).max)
UNREADABLE = (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError)
BROKEN_NPZ = (OSError, ValueError, EOFError, RuntimeError, MemoryError, zipfile.BadZipFile, zlib.error)
AGAIN = "write or fetch it again"


def vector_form(path: Path) -> str:
    """Return the form that a file's name asks for, or complain."""
    form = path.suffix.lower()
    if form not in VECTOR_FORMS:
        cure = "give the file such a name"
        where = str(path)
        raise ConfigError(
            "unknown kind of file", expected=", ".join(VECTOR_FORMS), found=path.name, cure=cure, where=where
        )
    return form


# -- writing ----------------------------------------------------------------------------------------------------------


def write_vectors(path: str | Path, ids: Any, vectors: Any, about: Mapping[str, str] | None = None) -> Path:
    """Write vectors, (N, D), under ids, (N,), in the form that the file's name asks for, whole or not at all.

    Args:
        path: ends in .parquet, .npz, .csv, .tsv, or .txt, .vec or .w2v for the text form of word2vec.
        ids: integers or strings; in the text form of word2vec without blanks.
        vectors: finite numbers; they are kept as float32.
        about: words to keep beside them, such as the moment they are as of: metadata of a Parquet file, arrays of an
            npz file; other forms have no place for them.
    """
    path = Path(path)
    form = vector_form(path)
    names = _names(ids, "ids")
    rows = _numbers(np.asarray(vectors), "vectors", lambda row: f"vectors, row {row + 1}")
    _check_sizes(names.len(), rows, "vectors")
    if form in TEXTS:
        _check_blanks(names, path)
    elif form == ".npz" and names.dtype == pl.String and names.str.ends_with("\0").any():
        raise InputError("an id ends in a null character", cure="write .parquet instead", where=str(path))
    with atomic_file(path) as file:
        if form == ".parquet":
            pl.DataFrame({"id": names, "vector": pl.Series(rows)}).write_parquet(file, metadata=dict(about or {}))
        elif form == ".npz":
            strings = names.dtype == pl.String
            arrays: dict[str, Any] = {
                "ids": np.array(names.to_list(), dtype=str) if strings else names.to_numpy(),
                "vectors": rows,
            }
            np.savez(file, **{**{name: np.array(word) for name, word in (about or {}).items()}, **arrays})
        elif form in SEPARATORS:
            _wide(names, rows).write_csv(file, separator=SEPARATORS[form])
        else:
            _write_text(file, names, rows)
    return path


def _check_blanks(names: pl.Series, path: Path) -> None:
    """Complain about ids that a row could not be parted from."""
    if names.dtype != pl.String:
        return
    wrong = names.str.contains(BLANK) | (names == "")
    if wrong.any():
        found = repr(names[wrong.arg_max() or 0])
        cure = "write .parquet or .npz instead"
        raise InputError("an id with a blank", expected="ids without", found=found, cure=cure, where=str(path))


def _wide(names: pl.Series, rows: Vectors) -> pl.DataFrame:
    """Put every number of a vector into a column of its own."""
    frame = pl.DataFrame(rows, schema=[f"v{place}" for place in range(rows.shape[1])], orient="row")
    return frame.insert_column(0, names.alias("id"))


def _write_text(file: BinaryIO, names: pl.Series, rows: Vectors) -> None:
    num, dim = rows.shape
    file.write(f"{num} {dim}\n".encode())
    for at in range(0, num, ROWS_AT_A_TIME):
        frame = pl.DataFrame(rows[at : at + ROWS_AT_A_TIME], schema=[str(d) for d in range(dim)], orient="row")
        frame.insert_column(0, names[at : at + ROWS_AT_A_TIME].alias("id"))
        frame.write_csv(file, include_header=False, separator=" ", quote_style="never")


# -- reading ----------------------------------------------------------------------------------------------------------


def read_vectors(path: str | Path) -> tuple[Ids, Vectors]:
    """Read a file of vectors; nothing in it is executed.

    Args:
        path: as in `write_vectors`.

    Returns:
        ids: (N,) int64, or strings.
        vectors: (N, D) float32, finite.
    """
    path = Path(path)
    form = vector_form(path)
    if not first_bytes(path, "a file of vectors"):
        raise InputError("the file is empty", expected="vectors", cure=AGAIN, where=str(path))
    readers = {".parquet": _read_parquet, ".npz": _read_npz, ".csv": _read_wide, ".tsv": _read_wide}
    names, vectors = readers.get(form, _read_text)(path)
    column = _names(names, f"{path}, ids")
    first = 1 if form in (".parquet", ".npz") else 2  # the row that the first vector stands on
    rows = _numbers(vectors, str(path), lambda row: f"{path}, row {row + first}")
    _check_sizes(column.len(), rows, str(path))
    ids: Ids = column.to_numpy()
    return (ids.copy() if ids.dtype == np.int64 else ids.astype(object)), rows


def _names(ids: Any, where: str) -> pl.Series:
    column = as_id_column(ids, where)
    return column if column.dtype in (pl.Int64, pl.String) else column.cast(pl.String)


def _numbers(array: npt.NDArray[Any], where: str, row_of: Callable[[int], str]) -> Vectors:
    """Check vectors, (N, D), and bring them to float32."""
    if array.ndim != 2 or array.dtype.kind not in "iuf":
        expected, found = "rows of numbers, all as long", f"{array.ndim} dimensions of {array.dtype}"
        raise InputError("not a table of vectors", expected=expected, found=found, where=where)
    wrong = ~(np.abs(array) <= LARGEST)  # NaN is wrong too
    if wrong.any():
        row, place = np.unravel_index(int(np.argmax(wrong)), wrong.shape)
        found = str(array[row, place])
        raise InputError("not a finite number", expected="finite float32", found=found, where=row_of(int(row)))
    return np.require(array, np.float32, ["C", "W", "O"])


def _check_sizes(num_ids: int, rows: Vectors, where: str) -> None:
    if num_ids != len(rows):
        found = f"{num_ids:,} ids and {len(rows):,} vectors"
        raise InputError("ids and vectors differ in number", expected="one id per vector", found=found, where=where)
    if rows.shape[1] == 0:
        raise InputError("the vectors are empty", expected="at least one number in each", where=where)


def _read_parquet(path: Path) -> tuple[Any, npt.NDArray[Any]]:
    where = str(path)
    try:
        lazy = pl.scan_parquet(path, glob=False)
        names = lazy.collect_schema().names()
        if not {"id", "vector"} <= set(names):
            expected, found = "the columns id and vector", ", ".join(names)
            raise InputError("a column is missing", expected=expected, found=found, where=where)
        frame = lazy.select("id", "vector").collect()
    except UNREADABLE as error:
        raise damaged_parquet(error, where) from None
    return frame["id"], _from_lists(frame["vector"], where)


def _from_lists(column: pl.Series, where: str) -> npt.NDArray[Any]:
    """Turn a column of arrays or lists of numbers into an array, (N, D)."""
    inner = getattr(column.dtype, "inner", None)
    if inner is None or not inner.is_numeric():
        expected, found = "lists of numbers", str(column.dtype)
        raise InputError("vector is not a column of vectors", expected=expected, found=found, where=where)
    lists = column.arr.to_list() if isinstance(column.dtype, pl.Array) else column
    size = lists.list.len().fill_null(-1)
    dim = max(int(size[0]), 0) if size.len() else getattr(column.dtype, "shape", [1])[0]
    flat = lists.explode(empty_as_null=False)
    if flat.null_count() or (size != dim).any():
        holes = lists.list.eval(pl.element().is_null().any()).list.first().fill_null(False)
        row = ((size != dim) | holes).arg_max() or 0
        found = "nothing" if size[row] < 0 else "an empty place" if holes[row] else f"{size[row]} numbers"
        expected = f"{dim} numbers, as in the first row" if row else "numbers"
        raise InputError("not a vector", expected=expected, found=found, where=f"{where}, row {row + 1}")
    return flat.to_numpy().reshape(column.len(), dim)


def _read_npz(path: Path) -> tuple[Any, npt.NDArray[Any]]:
    where = str(path)
    try:
        with path.open("rb") as file:
            archive = np.load(file, allow_pickle=False)
            names = getattr(archive, "files", ["a single array"])
            if not {"ids", "vectors"} <= set(names):
                expected, found = "the arrays ids and vectors", ", ".join(names) or "none"
                raise InputError("an array is missing", expected=expected, found=found, where=where)
            ids, vectors = archive["ids"], archive["vectors"]
    except InputError:
        raise
    except BROKEN_NPZ as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        cure = "write it again with numpy.savez(file, ids=..., vectors=...); ids as integers or strings"
        raise InputError(f"not an npz file of plain arrays ({reason})", cure=cure, where=where) from None
    return ids, vectors


def _read_wide(path: Path) -> tuple[Any, npt.NDArray[Any]]:
    where = str(path)
    options: dict[str, Any] = {"separator": SEPARATORS[path.suffix.lower()], "infer_schema": False, "glob": False}
    try:
        frame = pl.read_csv(path, **options)
    except UNREADABLE as error:
        reason = str(error).splitlines()[0][:200]
        raise InputError(f"cannot be read ({reason})", expected="id,v0,v1,...", cure=AGAIN, where=where) from None
    if frame.columns[:1] != ["id"] or frame.width < 2:
        found = ", ".join(frame.columns[:5])
        raise InputError("no header of vectors", expected="id,v0,v1,...", found=found, where=f"{path}, row 1")
    numbers = frame.drop("id").cast(pl.Float32, strict=False)
    holes = numbers.select(pl.any_horizontal(pl.all().is_null())).to_series()
    if holes.any():
        row = holes.arg_max() or 0
        raise InputError("not a vector", expected="a number in every cell", where=f"{path}, row {row + 2}")
    return _integers_or_strings(frame["id"].fill_null("")), numbers.to_numpy()


# -- the text form of word2vec ----------------------------------------------------------------------------------------


def _read_text(path: Path) -> tuple[Any, npt.NDArray[Any]]:
    with path.open("rb") as file:
        header, sample = file.readline().split(), file.readline()
    where = f"{path}, row 1"
    if len(header) != 2 or not all(cell.isdigit() for cell in header):
        found = repr(b" ".join(header)[:40].decode(errors="replace"))
        cure = "put the number of vectors and their width there"
        raise InputError("no header of word2vec", expected="two integers", found=found, cure=cure, where=where)
    num, dim = (int(cell) for cell in header)
    names, vectors = _parse(path, num, dim, sample) or _parse_by_row(path, dim)
    if names.len() != num:
        expected, found = f"{num:,} rows after it, as the header says", f"{names.len():,}"
        raise InputError("the file is not whole", expected=expected, found=found, cure=AGAIN, where=where)
    return _integers_or_strings(names), vectors


def _integers_or_strings(names: pl.Series) -> pl.Series:
    """Take ids from a text as integers where all of them are written as such."""
    integers = names.cast(pl.Int64, strict=False)
    return integers if (integers.cast(pl.String) == names).fill_null(False).all() else names


def _parse(path: Path, num: int, dim: int, sample: bytes) -> tuple[pl.Series, npt.NDArray[Any]] | None:
    """Parse all rows at once; None where anything is not as it should be."""
    if len(sample.split()) != dim + 1:
        return None
    schema: dict[str, Any] = {"id": pl.String} | {str(d): pl.Float32 for d in range(dim)}
    if sample.rstrip(b"\r\n").endswith(b" "):  # word2vec itself ends its rows so
        schema["rest"] = pl.String
    options: dict[str, Any] = {"has_header": False, "skip_lines": 1, "separator": " ", "quote_char": None}
    try:
        frame = pl.scan_csv(path, **options, schema=schema, infer_schema=False, glob=False).collect()
    except UNREADABLE:
        return None
    rest = frame.drop_in_place("rest") if "rest" in schema else pl.Series(dtype=pl.String)
    if frame.height != num or any(frame.null_count().row(0)) or rest.count():
        return None
    return frame["id"], frame.drop("id").to_numpy(order="c")


def _parse_by_row(path: Path, dim: int) -> tuple[pl.Series, npt.NDArray[Any]]:
    """Parse row by row whatever blanks part the cells, and complain about the first row that cannot be parsed."""
    names: list[str] = []
    vectors: list[Vectors] = []
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            cells = line.split()
            if number == 1 or not cells:
                continue
            where = f"{path}, row {number}"
            if len(cells) != dim + 1:
                expected, found = f"an id and {dim} numbers, as the header says", f"{len(cells)} cells"
                raise InputError("a row is not whole", expected=expected, found=found, where=where)
            try:
                names.append(cells[0].decode())
            except UnicodeDecodeError:
                raise InputError("an id is not UTF-8", found=repr(cells[0][:40]), where=where) from None
            vectors.append(np.array([_number(cell, where) for cell in cells[1:]], np.float64))
    return pl.Series(names, dtype=pl.String), np.array(vectors).reshape(len(names), dim)


def _number(cell: bytes, where: str) -> float:
    try:
        number = float(cell)
        if b"_" not in cell and abs(number) <= LARGEST:
            return number
    except ValueError:
        pass
    found = repr(cell[:40].decode(errors="replace"))
    raise InputError("not a finite number", expected="finite float32", found=found, where=where)


# -- vectors of a graph's nodes ---------------------------------------------------------------------------------------


def match_vectors(graph: TemporalGraph, ids: Ids, vectors: Vectors, start: Vectors, where: str) -> Vectors:
    """Give every node of a graph, (N,), the vector under its id, and those without an event or vector their start.

    Ids are compared as strings: 17 is "17". An id that stands on both sides of a bipartite graph gets its vector on
    both, unless the file lists exactly the graph's ids, in the graph's order. Unknown ids are passed over.

    Args:
        graph: the graph.
        ids: (R,) ids of the file.
        vectors: (R, D) vectors of the file.
        start: (N, D) small random rows; changed in place.
        where: the file, for complaints.
    """
    dim = start.shape[1]
    if vectors.shape[1] != dim:
        expected, found = f"vectors of {dim} numbers", str(vectors.shape[1])
        raise InputError("wrong width", expected=expected, found=found, cure=f"set dim={found}", where=where)
    node_names, file_names = _as_strings(graph.ids), _as_strings(ids)
    if node_names.equals(file_names):
        return vectors
    twice = file_names.is_duplicated()
    if twice.any():
        found = repr(file_names[twice.arg_max() or 0])
        raise InputError("an id stands twice", expected="one vector per id", found=found, where=where)
    rows = pl.DataFrame({"id": file_names, "row": pl.int_range(file_names.len(), dtype=pl.Int64, eager=True)})
    row = (
        node_names.to_frame("id").join(rows, on="id", how="left", maintain_order="left")["row"].fill_null(-1).to_numpy()
    )
    seen = graph.degree > 0
    missing = np.flatnonzero(seen & (row < 0))
    if missing.size:
        expected = f"a vector for each of the graph's {np.count_nonzero(seen):,} ids"
        found = f"{missing.size:,} missing, the first is {node_names[int(missing[0])]!r}"
        cure = "add them, or set init='deepwalk' or another method"
        raise InputError("ids do not fit", expected=expected, found=found, cure=cure, where=where)
    start[row >= 0] = vectors[row[row >= 0]]
    return start


def _as_strings(ids: Ids) -> pl.Series:
    return pl.Series("id", ids, dtype=pl.String if ids.dtype == object else pl.Int64).cast(pl.String)
