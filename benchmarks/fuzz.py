"""Files as nobody should write them: does the reader ever crash, hang, or lose a row in silence?

    python benchmarks/fuzz.py [--files 10000] [--seed 0] [--keep FOLDER] [--accepted FILE]

Files are drawn from kinds of ids, forms of times, formats and packings, then spoilt: cells, bytes, encodings. Each
must be read, or refused in one sentence; what is read is compared with what Python's own csv and json make of it.
Every file follows from the seed and its number. 0 expected under "other", "hangs" and "differ".
"""

from __future__ import annotations

import argparse
import csv
import gzip
import hashlib
import io
import json
import math
import random
import re
import signal
import sys
import tempfile
import time
import warnings
import zipfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import zstandard

from tadge.errors import TadgeError
from tadge.graph import TemporalGraph
from tadge.io.options import ReadOptions
from tadge.io.readers import ReadReport, read_with_report

SECONDS = 60  # a file that takes longer hangs
LONGEST = 6_000  # characters of a message
START = 1_300_000_000
NAMES = [("src", "dst", "time"), ("from", "to", "timestamp"), ("sender", "receiver", "date"), ("user", "item", "when")]

# -- files ------------------------------------------------------------------------------------------------------------

IDS: dict[str, Callable[[random.Random], str]] = {
    "integers": lambda r: str(r.randrange(30)),
    "large": lambda r: str(2**53 + r.randrange(20)),
    "huge": lambda r: str(2**63 - 10 + r.randrange(20)),
    "names": lambda r: r.choice(["ann", "bob", "cat", "dan", "eve", "fay"]),
    "hex": lambda r: f"{r.randrange(40):032x}",
    "zeros": lambda r: f"{r.randrange(30):05d}",
    "accents": lambda r: r.choice(["é", "ü b", "日本", "e\u0301", "naïve", "Ωmega"]),
    "signs": lambda r: r.choice(["#tag", "@you", "a/b", "x y", "50%", "(c)", "it's", "a:b"]),
}


def _iso(form: str) -> Callable[[int], str]:
    return lambda second: datetime.fromtimestamp(second, UTC).strftime(form)


TIMES: dict[str, Callable[[int], str]] = {
    "s": str,
    "s.fraction": lambda second: f"{second}.25",
    "ms": lambda second: f"{second}000",
    "us": lambda second: f"{second}000000",
    "ns": lambda second: f"{second}000000000",
    "small": lambda second: str(second - START),
    "date": _iso("%Y-%m-%d"),
    "slashes": _iso("%Y/%m/%d"),
    "compact": _iso("%Y%m%d"),
    "datetime": _iso("%Y-%m-%d %H:%M:%S"),
    "T": _iso("%Y-%m-%dT%H:%M:%S"),
    "zulu": _iso("%Y-%m-%dT%H:%M:%SZ"),
    "zone": _iso("%Y-%m-%dT%H:%M:%S+02:00"),
    "minutes": _iso("%Y-%m-%d %H:%M"),
    "fraction": _iso("%Y-%m-%d %H:%M:%S.250"),
    "points": _iso("%d.%m.%Y %H:%M"),
    "day first": _iso("%d/%m/%Y"),
    "named": _iso("%d %b %Y"),
    "year": _iso("%Y"),
}
FORMATS = ("csv", "csv", "csv", "semicolons", "bars", "tabs", "snap", "jsonl", "parquet")
DELIMITERS = {"csv": ",", "semicolons": ";", "bars": "|", "tabs": "\t", "snap": " "}
PACKINGS = ("", "", "", "", "gz", "zst", "zip")
PIECES = [b",", b"\n", b"\r\n", b"\r", b'"', b"\x00", b"\xff", b"#", b"%", b" ", b"\t", b"-", b"e", b"9" * 20, b"nan"]
PIECES += [b"NULL", b"{", b"}", b"2015-01-02", b"\xef\xbb\xbf", b"\xc2\xa0", b"\xe2\x80\x8b", b"\x1b[31m", b"\\ud800"]
ODD_CELLS = ["", " ", "nan", "inf", "-1", "1e400", "0", "soon", "2015-02-30", "99999999999999999999", "1_000", "0x10"]
ODD_CELLS += [
    "+7",
    "007",
    "-0",
    "1,5",
    "x" * 5000,
    "\u200b",
    "NULL",
    '"',
    "'",
    "#a",
    "%b",
    "{}",
    "true",
    "24:00",
    "a\rb",
]


@dataclass(frozen=True)
class Made:
    """Hold one file: its name, its bytes, its format, the bytes before they were packed, and how it is to be read."""

    name: str
    content: bytes
    form: str
    plain: bytes
    options: dict[str, str]


def make_file(seed: int, number: int) -> Made:
    """Make the file of a number: rows, perhaps spoilt, in a format, perhaps spoilt again, perhaps packed."""
    draw = random.Random(f"{seed}/{number}")
    form = draw.choice(FORMATS)
    rows = _rows(draw, form)
    names = draw.choice(NAMES) if draw.random() < 0.7 or form in ("jsonl", "parquet") else None
    if draw.random() < 0.5:
        _spoil_cells(rows, draw)
    plain = _written(rows, names, form, draw)
    if draw.random() < 0.4:
        plain = _spoil_bytes(plain, draw)
    options = {"bad_rows": "report"} if draw.random() < 0.3 else {}
    if form != "parquet" and draw.random() < 0.08:
        plain, options = _encoded(plain, options, draw)
    packing = draw.choice(PACKINGS)
    content = _packed(plain, packing)
    if packing and draw.random() < 0.1:
        content = _spoil_bytes(content, draw)
    return Made(f"edges.{form}" + (f".{packing}" if packing else ""), content, form, plain, options)


def _rows(draw: random.Random, form: str) -> list[list[str]]:
    ids = IDS[draw.choice([name for name in IDS if form != "snap" or name not in ("accents", "signs")])]
    times = TIMES[draw.choice([name for name in TIMES if form != "snap" or " " not in TIMES[name](START)])]
    second, rows = START, []
    weighted = draw.random() < 0.3
    for _ in range(draw.choice([1, 2, 3, 8, 25, 60])):
        second += draw.choice([0, 1, 60, 86_400, 400_000])
        rows.append([ids(draw), ids(draw), times(second)] + ([str(draw.randrange(9) / 2)] if weighted else []))
    return rows


def _spoil_cells(rows: list[list[str]], draw: random.Random) -> None:
    """Change some cells and rows in place."""
    for _ in range(draw.randint(1, 3)):
        row = draw.choice(rows)
        at = draw.randrange(len(row)) if row else 0
        kind = draw.randrange(9)
        if kind < 4 and row:
            row[at] = draw.choice(ODD_CELLS)
        elif kind == 4 and row:
            row[at] = f" {row[at]} "
        elif kind == 5 and row:
            row.pop()
        elif kind == 6:
            row.append("more")
        elif kind == 7:
            rows.append(list(row))
        elif row:
            row[at] = draw.choice(TIMES[draw.choice(list(TIMES))](START))


def _written(rows: list[list[str]], names: tuple[str, ...] | None, form: str, draw: random.Random) -> bytes:
    if form == "jsonl":
        return "".join(json.dumps(_record(row, names or NAMES[0], draw)) + "\n" for row in rows).encode()
    if form == "parquet":
        return _parquet(rows, names or NAMES[0], draw)
    delimiter, end = DELIMITERS[form], draw.choice(["\n", "\n", "\r\n"])
    headed = names is not None
    table = [[*(names or ()), "weight"][: len(rows[0])], *rows] if headed else rows
    if form == "snap":
        text = end.join(delimiter.join(row) for row in table) + end
    else:
        out = io.StringIO(newline="")
        quoting = draw.choice([csv.QUOTE_MINIMAL, csv.QUOTE_MINIMAL, csv.QUOTE_ALL])
        csv.writer(out, delimiter=delimiter, lineterminator=end, quoting=quoting).writerows(table)
        text = out.getvalue()
    if draw.random() < 0.15:
        text = "# made by hand" + end + text
    return (("\ufeff" if draw.random() < 0.1 else "") + text).encode()


def _record(row: list[str], names: tuple[str, ...], draw: random.Random) -> dict[str, object]:
    record: dict[str, object] = dict(zip([*names, "weight"], row, strict=False))
    if draw.random() < 0.9:
        record = {name: _number(str(value)) for name, value in record.items()}
    return record


def _number(cell: str) -> object:
    try:
        return int(cell) if str(int(cell)) == cell else cell
    except ValueError:
        return cell


def _parquet(rows: list[list[str]], names: tuple[str, ...], draw: random.Random) -> bytes:
    width = min(map(len, rows)) if draw.random() < 0.9 else max(map(len, rows))
    table = {
        name: [row[at] if at < len(row) else None for row in rows]
        for at, name in enumerate([*names, "weight"][: min(4, width)])
    }
    frame = pl.DataFrame(table)
    kinds = [pl.Int64, pl.Float64, pl.Decimal(20, 2), pl.Int128, pl.Categorical, pl.Binary, pl.UInt32]
    for name in frame.columns:
        if draw.random() < 0.5:
            frame = frame.with_columns(frame[name].cast(draw.choice(kinds), strict=False))
    out = io.BytesIO()
    frame.write_parquet(out)
    return out.getvalue()


def _spoil_bytes(content: bytes, draw: random.Random) -> bytes:
    data = bytearray(content)
    for _ in range(draw.randint(1, 4)):
        if not data:
            break
        at, kind = draw.randrange(len(data)), draw.randrange(7)
        if kind == 0:
            data[at : at + 1] = b""
        elif kind == 1:
            data[at:at] = draw.choice(PIECES)
        elif kind == 2:
            data[at] = draw.randrange(256)
        elif kind == 3:
            data[at : at + draw.randint(1, 30)] = b""
        elif kind == 4:
            other = draw.randrange(len(data))
            data[at:at] = data[other : other + draw.randint(1, 40)]
        elif kind == 5:
            del data[at:]
        else:
            data[:0] = draw.choice(PIECES)
    return bytes(data)


def _encoded(plain: bytes, options: dict[str, str], draw: random.Random) -> tuple[bytes, dict[str, str]]:
    encoding = draw.choice(["latin-1", "cp1252", "utf-16", "utf-16-le", "utf-32", "utf-8-sig"])
    recoded = plain.decode("utf-8", "replace").encode(encoding, "replace")
    return recoded, options | ({"encoding": encoding} if draw.random() < 0.7 else {})


def _packed(plain: bytes, packing: str) -> bytes:
    if packing == "gz":
        return gzip.compress(plain, mtime=0)
    if packing == "zst":
        return zstandard.ZstdCompressor(write_checksum=True).compress(plain)
    if packing == "zip":
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(zipfile.ZipInfo("edges.csv"), plain, zipfile.ZIP_DEFLATED)
        return out.getvalue()
    return plain


# -- an independent reading -------------------------------------------------------------------------------------------

Row = tuple[str, str, float]


def rows_of(made: Made, report: ReadReport) -> list[Row] | None:
    """Read all events with Python's own csv, json and datetime, by the columns of the report; None where it cannot."""
    if made.form == "parquet" or report.rejected:
        return None
    try:
        text = made.plain.decode(made.options.get("encoding", "utf-8")).lstrip("\ufeff")
    except UnicodeError:
        return None
    ends = [report.columns[role] for role in ("src", "dst", "time")]
    if report.form.startswith("JSON"):
        records = [json.loads(line.lstrip("\ufeff")) for line in text.split("\n") if line.strip()]
        cells = [[record[name] for name in ends] for record in records]
    elif report.form.startswith("text with") and "day_time" not in report.columns:
        cells = _text_cells(text, report, ends)
    else:
        return None
    return [(_plain_id(u), _plain_id(v), days_of(str(t).strip(), report.time)) for u, v, t in cells]


def _plain_id(value: object) -> str:
    return str(int(value)) if isinstance(value, float) else str(value).strip(" \t")


def days_of(cell: str, form: str) -> float:
    """Read one time as days since 1970: what the report says it is; NaN where that is not simple."""
    for unit, per_day in (("s", 86_400), ("ms", 86_400e3), ("us", 86_400e6), ("ns", 86_400e9)):
        if form == f"Unix time in {unit}":
            return float(cell) / per_day
    if form.startswith(("dates like 20", "date-times like 20")) and "/" not in form and len(cell) > 8:
        moment = datetime.fromisoformat(cell.replace("/", "-").replace(" UTC", "Z"))
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() / 86_400
    return math.nan


def _text_cells(text: str, report: ReadReport, ends: list[str]) -> list[list[str]]:
    named = {"commas": ",", "semicolons": ";", "bars": "|", "tabs": "\t", "blanks": " "}
    delimiter = named[report.form.removeprefix("text with ").split(",")[0]]
    if "\r" in text.replace("\r\n", "") or "\x00" in text or text.count('"') % 2:
        raise ValueError("matters of dispute")
    lines = [line.lstrip("\ufeff") for line in text.split("\n")]
    lines = [line for line in lines if not line.startswith(("#", "%"))]
    if delimiter == " ":
        rows = [[cell for cell in re.split("[ \t\r]", line) if cell] for line in lines if line.strip(" \t\r")]
    else:
        rows = list(csv.reader(io.StringIO("\n".join(lines), newline=""), delimiter=delimiter))
        rows = [row for row in rows if row and (len(row) > 1 or row[0].strip(" \t"))]
    header: list[str] = []
    if ", no header" not in report.form:
        header, rows = [cell.strip() for cell in rows[0]], rows[1:]
    places = [header.index(name) if name in header else int(name.removeprefix("column ")) for name in ends]
    return [[row[place] for place in places] for row in rows]


def same_events(expected: list[Row], events: list[Row]) -> bool:
    """Tell whether two lists hold the same events, in any order; a time that is not known is as good as any."""
    known = not any(math.isnan(one) for *_, one in expected)

    def key(row: Row) -> tuple[str, str, int]:
        return row[0], row[1], round(row[2] * 86_400e3 / 2) if known else 0  # to 2 ms: float64 days hold some us

    if len(expected) != len(events):
        return False
    near = Counter(map(key, expected)) - Counter(map(key, events))
    if not near:
        return True
    ordered = zip(sorted(expected), sorted(events), strict=True)
    return known and all(a[:2] == b[:2] and abs(a[2] - b[2]) < 1e-7 for a, b in ordered)


def events_of(graph: TemporalGraph) -> list[Row]:
    """List the events with the user's ids, in order of time, then of id."""
    ids = graph.ids.tolist()
    columns = graph.src.tolist(), graph.dst.tolist(), graph.time.tolist()
    return sorted((str(ids[u]), str(ids[v]), t) for u, v, t in zip(*columns, strict=True))


# -- the trial --------------------------------------------------------------------------------------------------------


class HangError(BaseException):
    """A file that took too long."""


def _hang(*_: object) -> None:
    raise HangError


def outcome(made: Made, path: Path) -> tuple[str, str, list[Row]]:
    """Read one file; give what came of it, a sentence about it, and its events where there are some."""
    path.write_bytes(made.content)
    try:
        graph, report = read_with_report(path, ReadOptions.of(made.options))
    except TadgeError as error:
        sentence = str(error)
        fine = len(sentence) <= LONGEST and "\n" not in sentence.replace("\n  read_events(", "")
        return ("refused", sentence, []) if fine else ("other", f"not one sentence: {sentence[:200]!r}", [])
    except HangError:
        return "hang", "", []
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a panic is no Exception
        return "other", f"{type(error).__name__}: {str(error)[:200]}", []
    events = events_of(graph)
    return *_verdict(made, report, events), events


def _verdict(made: Made, report: ReadReport, events: list[Row]) -> tuple[str, str]:
    """Say whether what was read is what is there."""
    if not report.line().isprintable() or report.rows != report.events + report.rejected:
        return "other", f"a report that does not add up: {report.line()!r}"
    try:
        expected = rows_of(made, report)
    except (ValueError, KeyError, IndexError, csv.Error) as error:
        return "accepted", f"not checked: {type(error).__name__}"
    if report.events != len(events) or (expected is not None and not same_events(expected, events)):
        return "differ", f"{report.line()} but csv and json say {(expected or [])[:4]}"
    return "accepted", "not checked" if expected is None else "checked"


def run(files: int, seed: int, keep: Path | None, accepted: Path | None, start: int = 0) -> Counter[str]:
    """Try files; print what is not as it should be; keep those files, and digests of what was accepted, if asked."""
    counts: Counter[str] = Counter()
    digests: dict[int, str] = {}
    alarm = hasattr(signal, "SIGALRM")
    if alarm:
        signal.signal(signal.SIGALRM, _hang)
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number in range(start, start + files):
            made = make_file(seed, number)
            path = Path(folder) / made.name
            if alarm:
                signal.alarm(SECONDS)
            what, why, events = outcome(made, path)
            if alarm:
                signal.alarm(0)
            counts[what] += 1
            counts[f"{what}: {made.form}"] += 1
            if why == "checked":
                counts["checked"] += 1
            if what == "accepted":
                digests[number] = hashlib.sha256(repr(events).encode()).hexdigest()[:16]
            if what in ("other", "hang", "differ"):
                print(f"file {number} ({made.name}): {what}: {why}", file=sys.stderr)
                if keep is not None:
                    keep.mkdir(parents=True, exist_ok=True)
                    (keep / f"{number}-{made.name}").write_bytes(made.content)
    if accepted is not None:
        accepted.write_text(json.dumps(digests))
    return counts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path, help="folder for the files that were not as they should be")
    parser.add_argument("--accepted", type=Path, help="JSON file for digests of the events of accepted files")
    given = parser.parse_args()
    begun = time.perf_counter()
    counts = run(given.files, given.seed, given.keep, given.accepted)
    print(f"{given.files:,} files, seed {given.seed}, {time.perf_counter() - begun:.0f} s")
    print(f"{'format':12}{'accepted':>10}{'refused':>10}{'other':>8}{'hangs':>8}{'differ':>8}")
    kinds = ("accepted", "refused", "other", "hang", "differ")
    for form in sorted(set(FORMATS)):
        print(
            f"{form:12}"
            + "".join(f"{counts[f'{kind}: {form}']:{10 if at < 2 else 8},}" for at, kind in enumerate(kinds))
        )
    print(f"{'all':12}" + "".join(f"{counts[kind]:{10 if at < 2 else 8},}" for at, kind in enumerate(kinds)))
    print(f"{counts['checked']:,} of the accepted were compared with Python's csv and json, event by event")
    print("expected under other, hangs and differ: 0")
    sys.exit(any(counts[kind] for kind in kinds[2:]))


if __name__ == "__main__":
    main()
