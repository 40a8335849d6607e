"""Folders of tensors and JSON are whole at every instant, and what is not whole is refused in one sentence."""

import contextlib
import errno
import io
import json
import os
import random
import re
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
import safetensors.torch
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tadge.errors import InputError, TadgeError
from tadge.storage import folder as module
from tadge.storage.folder import LOCK, has_folder, one_writer, read_arrays, read_folder, remove_kind, write_folder

OLD = ({"graph": {"src": torch.arange(5)}, "net": {"w": torch.ones(3, 4), "b": torch.zeros(4)}}, {"step": 1})
NEW = ({"graph": {"src": torch.arange(5)}, "net": {"w": torch.full((3, 4), 2.0), "b": torch.ones(4)}}, {"step": 2})


def names(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir() if entry.name != LOCK)


def same(one, other) -> bool:
    """Compare two states, bit for bit."""

    def raw(tensor):
        flat = tensor.clone(memory_format=torch.contiguous_format).reshape(-1)
        return tensor.dtype, tensor.shape, flat.view(torch.uint8).tolist() if flat.numel() else []

    a, b = (({p: {n: raw(t) for n, t in ts.items()} for p, ts in parts.items()}, meta) for parts, meta in (one, other))
    return a == b


def write(folder: Path, state, kind: str = "model") -> None:
    write_folder(folder, kind, *state)


@pytest.fixture
def quick(monkeypatch):
    """Do without waiting for the disk."""
    monkeypatch.setattr(os, "fsync", lambda handle: None)


DTYPES = [
    *(torch.bool, torch.uint8, torch.int8, torch.uint16, torch.int16, torch.uint32, torch.int32, torch.uint64),
    *(torch.int64, torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.complex64),
    *(torch.float8_e4m3fn, torch.float8_e5m2),
]


# -- there and back ---------------------------------------------------------------------------------------------------


@st.composite
def tensors(draw):
    dtype = draw(st.sampled_from(DTYPES))
    shape = draw(st.lists(st.integers(0, 4), max_size=3))
    size = int(np.prod(shape, dtype=int)) * dtype.itemsize
    one = st.integers(0, 1 if dtype == torch.bool else 255)
    data = bytearray(draw(st.lists(one, min_size=size, max_size=size)))
    tensor = (torch.frombuffer(data, dtype=dtype) if size else torch.empty(0, dtype=dtype)).reshape(shape)
    view = draw(st.sampled_from([lambda t: t, lambda t: t[::2], lambda t: t[1:], lambda t: t.transpose(0, -1)]))
    return view(tensor) if shape else tensor


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=30)
@given(
    parts=st.dictionaries(st.from_regex(module.NAME, fullmatch=True), st.dictionaries(texts, tensors(), max_size=4)),
    meta=st.dictionaries(st.text(max_size=5), values, max_size=4),
)
def test_there_and_back(tmp_path_factory, parts, meta):
    folder = tmp_path_factory.mktemp("f")
    write_folder(folder, "model", parts, meta)
    assert same(read_folder(folder, "model"), (parts, meta))
    assert len(names(folder)) == 1 + len(parts)
    for path in folder.glob("*.safetensors"):  # as the library itself reads them
        assert same(({"": safetensors.torch.load_file(path)}, 0), ({"": parts[path.name.split("-")[1]]}, 0))


def test_tensors_of_all_sorts(tmp_path):
    table = torch.nn.Parameter(torch.randn(4, 6))
    z = torch.tensor([1 + 2j, 3 - 1j], dtype=torch.complex64).conj()
    kept = {"i": z.imag, "p": table, "row": table[1:3, ::2], "tied": table, "z": z}
    write_folder(tmp_path, "model", {"a": kept}, {})
    read = read_folder(str(tmp_path), "model")[0]["a"]
    assert list(read) == list(kept)
    assert all(torch.equal(read[name], kept[name]) for name in kept)
    assert not any(tensor.requires_grad for tensor in read.values())
    read["p"].zero_()  # memory of its own
    again = read_folder(tmp_path, "model")[0]["a"]["p"]
    with next(tmp_path.glob("model-a-*")).open("r+b") as file:
        file.write(bytes(1000))
    assert torch.equal(again, table)


def test_same_tensors_same_bytes(tmp_path):
    for folder, order in (("a", 1), ("b", -1)):
        parts = {part: dict(list(tensors.items())[::order]) for part, tensors in list(OLD[0].items())[::order]}
        write_folder(tmp_path / folder, "model", parts, OLD[1])
    first, second = (
        {name: (tmp_path / folder / name).read_bytes() for name in names(tmp_path / folder)} for folder in "ab"
    )
    assert first == second


def test_unchanged_parts_are_not_written_again(tmp_path):
    seen = []
    for state in (OLD, NEW):
        write(tmp_path, state)
        status = {name: (tmp_path / name).stat() for name in names(tmp_path)}
        seen.append({(name, status[name].st_ino, status[name].st_mtime_ns) for name in status})
        assert len(seen[-1]) == 3
    assert [name.split("-")[1] for name, *_ in seen[0] & seen[1]] == ["graph"]


@pytest.mark.parametrize("damage", [lambda data: b"", lambda data: data + b"x", lambda data: data[:-1] + b"x"])
def test_a_damaged_part_is_written_again(tmp_path, damage):
    write(tmp_path, OLD)
    path = next(tmp_path.glob("model-graph-*"))
    path.write_bytes(damage(path.read_bytes()))
    os.utime(path, (1, 1))
    with pytest.raises(InputError):
        read_folder(tmp_path, "model")
    write(tmp_path, OLD)
    assert same(read_folder(tmp_path, "model"), OLD)


def test_kinds_and_other_files_live_side_by_side(tmp_path):
    folder = tmp_path / "x" / "y"
    assert not has_folder(folder, "model")
    remove_kind(folder, "model")
    write(folder, OLD)
    (folder / "notes.txt").write_text("mine")
    (folder / "model-notes.safetensors").write_text("mine")
    write(folder, NEW, "checkpoint")
    assert same(read_folder(folder, "checkpoint"), NEW)
    remove_kind(folder, "checkpoint")
    assert has_folder(folder, "model") and not has_folder(folder, "checkpoint")
    assert same(read_folder(folder, "model"), OLD)
    remove_kind(folder, "model")
    assert names(folder) == ["model-notes.safetensors", "notes.txt"]


# -- what cannot be kept ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [float("nan"), [float("inf")], {1}, np.int64(1), {("a",): 1}, b""])
def test_meta_that_is_not_json(tmp_path, value):
    with pytest.raises(TadgeError, match="meta: cannot be kept as JSON"):
        write_folder(tmp_path / "f", "model", {}, {"a": value})
    assert names(tmp_path) == []


@pytest.mark.parametrize("name", ["", "A", "a-b", "../a", "a.b", "1", "a" * 21, "ä"])
def test_names_that_are_not_names(tmp_path, name):
    for kind, parts in ((name, {}), ("model", {name: {}})):
        with pytest.raises(TadgeError, match="not a name"):
            write_folder(tmp_path / "f", kind, parts, {})
    assert names(tmp_path) == []


SPARSE, WIDE, NOWHERE = torch.eye(2).to_sparse(), torch.zeros(1, dtype=torch.complex128), torch.ones(1, device="meta")


@pytest.mark.parametrize(
    "bad", [{"a": SPARSE}, {"a": WIDE}, {"a": NOWHERE}, {"__metadata__": WIDE.real}, {"\ud800": WIDE.real}]
)
def test_tensors_that_cannot_be_kept(tmp_path, bad):
    write(tmp_path, OLD)
    before = names(tmp_path)
    with pytest.raises(TadgeError, match="z: this tensor cannot be kept"):
        write_folder(tmp_path, "model", {"a": {"x": torch.ones(9)}, "z": bad}, {})
    assert names(tmp_path) == before
    assert same(read_folder(tmp_path, "model"), OLD)


# -- bad folders ------------------------------------------------------------------------------------------------------


def part(folder: Path) -> Path:
    return next(folder.glob("model-net-*"))


def edit(change):
    """Spoil the file of one part: its bytes to others."""
    return lambda folder: part(folder).write_bytes(change(part(folder).read_bytes()))


def text(change):
    """Spoil the manifest: its bytes to others."""
    return lambda folder: (folder / "model.json").write_bytes(change((folder / "model.json").read_bytes()))


def forge(file=(), **changes):
    """Change the manifest, or its line of one part, as somebody with bad intentions would: with a right digest."""

    def change(data: bytes) -> bytes:
        content = json.loads(data)
        del content["digest"]
        content["files"]["net"] |= dict(file)
        return module._signed(json.dumps(content | changes, indent=1).encode().removesuffix(b"\n}"))

    return text(change)


def forge_tensors(folder: Path) -> None:
    path = folder / "model-net"
    path.write_bytes(b"\xff" * 100)
    digest = module._file_digest(path)
    path = path.rename(folder / f"model-net-{digest[:16]}.safetensors")
    forge({"file": path.name, "bytes": 100, "blake2b": digest})(folder)


DAMAGED = r"model.json: the list of the model's files is damaged; bring back a whole copy of the folder$"
NO_JSON = r"model.json: not the list of a model's files; expected JSON; bring back a whole copy of the folder$"
NEWER = r"the model was written by a newer tadge; expected version 1 of the format; found version 2; upgrade tadge$"
BAD = {
    "missing": (lambda f: f.rename(f.with_name("x")), r"f: there is no such folder; expected a tadge model folder$"),
    "file": (lambda f: f.rename(f.with_name("x")) and f.write_text(""), r"f: this is not a folder; expected a tadge"),
    "empty": (lambda f: remove_kind(f, "model"), r"f: not a tadge model folder; expected model.json in it$"),
    "other": (lambda f: (remove_kind(f, "model"), write(f, OLD, "checkpoint")), r"found only checkpoint.json$"),
    "nothing": (text(lambda data: b""), NO_JSON),
    "text": (text(lambda data: b"hello"), NO_JSON),
    "bytes": (text(lambda data: bytes(range(256))), NO_JSON),
    "deep": (text(lambda data: b"[" * 100_000), NO_JSON),
    "list": (
        text(lambda data: b"[]"),
        r"json: not of a tadge model folder; expected format 'tadge'; found other JSON$",
    ),
    "no format": (text(lambda data: b'{"a": 1}'), r"expected format 'tadge'; found 'no format'$"),
    "foreign": (text(lambda data: b'{"format": "onnx"}'), r"expected format 'tadge'; found 'onnx'$"),
    "newer": (forge(version=2, kind="new"), NEWER),
    "version 0": (forge(version=0), DAMAGED),
    "odd version": (forge(version="1"), DAMAGED),
    "other kind": (forge(kind="checkpoint"), r"json: another kind of folder; expected model; found checkpoint$"),
    "no kind": (forge(kind=None), DAMAGED),
    "edited": (text(lambda data: data.replace(b'"step": 1', b'"step": 7')), DAMAGED),
    "no files": (forge(files=None), DAMAGED),
    "odd files": (forge(files={"net": "net"}), DAMAGED),
    "odd meta": (forge(meta=[]), DAMAGED),
    "out of it": (forge({"file": "../model-net.safetensors"}), DAMAGED),
    "absolute": (forge({"file": "/etc/passwd"}), DAMAGED),
    "another name": (forge({"file": "model.json"}), DAMAGED),
    "odd digest": (forge({"blake2b": "../../x"}), DAMAGED),
    "odd size": (forge({"bytes": "12"}), DAMAGED),
    "part missing": (lambda f: part(f).unlink(), r"model-net-\w+.safetensors: a file of the model is missing; bring"),
    "part a folder": (lambda f: [path.unlink() or path.mkdir() for path in [part(f)]], r"is missing; bring back"),
    "cut": (edit(lambda data: data[:100]), r"the file is cut short; expected \d+ bytes; found 100; bring back"),
    "longer": (edit(lambda data: data + b"x"), r"the file is too long; expected \d+ bytes; found \d+; bring back"),
    "flipped": (edit(lambda data: data[:-1] + b"x"), r"the file is damaged: its checksum is wrong; bring back"),
    "not tensors": (forge_tensors, r"not tensors; expected safetensors; found .*; bring back"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_folders(tmp_path, case):
    spoil, sentence = BAD[case]
    write(tmp_path / "f", OLD)
    spoil(tmp_path / "f")
    with pytest.raises(InputError, match=sentence) as caught:
        read_folder(tmp_path / "f", "model")
    assert str(caught.value).startswith(str(tmp_path / "f")) and "\n" not in str(caught.value)


def test_every_cut_and_any_flip_is_noticed(tmp_path):
    write(tmp_path, OLD)
    chance = random.Random(0)
    for path in [tmp_path / name for name in names(tmp_path)]:
        whole = path.read_bytes()
        flips = [bytearray(whole) for _ in range(200)]
        for flip in flips:
            flip[chance.randrange(len(whole))] ^= chance.randrange(1, 256)
        for spoilt in flips + [whole[:length] for length in range(len(whole))]:
            path.write_bytes(spoilt)
            with pytest.raises(InputError):
                read_folder(tmp_path, "model")
        path.write_bytes(whole)
    assert same(read_folder(tmp_path, "model"), OLD)


# -- work that is cut off ---------------------------------------------------------------------------------------------


@contextlib.contextmanager
def cut_off(at: int, error: BaseException, for_good: bool):
    """Let the system's `at`-th call fail, and where `for_good` all that follow: then nothing can be tidied up."""
    count = [0]

    def wrap(real):
        def call(*args, **options):
            count[0] += 1
            if count[0] == at or (for_good and count[0] > at):
                raise error
            return real(*args, **options)

        return call

    with pytest.MonkeyPatch.context() as patch:
        for owner, name in [(os, name) for name in "mkdir open fsync replace unlink rmdir listdir".split()] + [
            (io, "open")
        ]:
            patch.setattr(owner, name, wrap(getattr(owner, name)))
        yield count


@pytest.mark.parametrize(("work", "after"), [(lambda f: write(f, NEW), NEW), (lambda f: remove_kind(f, "model"), None)])
@pytest.mark.parametrize("for_good", [False, True])
@pytest.mark.parametrize("error", [KeyboardInterrupt(), OSError(errno.ENOSPC, "No space left on device")], ids=repr)
def test_work_that_is_cut_off_at_any_step(tmp_path, quick, error, for_good, work, after):
    left = [0, 0]
    for at in range(1, 100):
        remove_kind(tmp_path, "model")
        write(tmp_path, OLD)
        with cut_off(at, error, for_good) as count, contextlib.suppress(KeyboardInterrupt, InputError):
            work(tmp_path)
        state = read_folder(tmp_path, "model") if has_folder(tmp_path, "model") else None
        done = state is after if state is None or after is None else same(state, after)
        assert done or same(state, OLD)
        assert done or for_good or len(names(tmp_path)) == 3  # where it could tidy up, it did
        left[done] += 1
        if at % 2:
            remove_kind(tmp_path, "model")
            assert names(tmp_path) == []
        write(tmp_path, NEW)
        assert same(read_folder(tmp_path, "model"), NEW)
        assert len(names(tmp_path)) == 3  # nothing is left of the work that was cut off
        if count[0] < at:
            break
    assert count[0] < at and min(left) > 1


def test_all_is_on_the_disk_before_the_manifest_names_it(tmp_path, monkeypatch):
    steps, fsync, replace = [], os.fsync, os.replace

    def note(path):
        steps.append(re.sub(r"-[0-9a-f]{16}|\.[0-9a-f]{12}\.tmp", "", str(path).removeprefix(str(tmp_path))))

    monkeypatch.setattr(os, "fsync", lambda at: (note(Path(f"/proc/self/fd/{at}").readlink()), fsync(at)))
    monkeypatch.setattr(os, "replace", lambda old, new: (note(new), replace(old, new)))
    write(tmp_path, OLD)
    assert steps == [
        "/.model/graph.safetensors",
        "/model-graph.safetensors",
        "/.model/net.safetensors",
        "/model-net.safetensors",
        "",
        "/.model.json",
        "/model.json",
        "",
    ]


@pytest.mark.parametrize("number", [errno.EROFS, errno.EACCES, errno.ENOSPC, errno.EDQUOT, errno.EIO])
def test_a_folder_that_cannot_be_written(tmp_path, monkeypatch, number):
    def fail(*args, **options):
        raise OSError(number, os.strerror(number))

    write(tmp_path, OLD)
    before, opened = names(tmp_path), os.open
    for owner, name, stand_in in (
        (os, "fsync", fail),
        (os, "replace", fail),
        (os, "open", lambda path, flags, *rest: fail() if flags & os.O_EXCL else opened(path, flags, *rest)),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(owner, name, stand_in)
            with pytest.raises(
                InputError, match=re.escape(f"cannot be written ({os.strerror(number)}); choose a folder")
            ):
                write(tmp_path, NEW)
        assert names(tmp_path) == before
        assert same(read_folder(tmp_path, "model"), OLD)
    monkeypatch.setattr(os, "unlink", fail)
    with pytest.raises(InputError, match=re.escape(f"cannot be removed ({os.strerror(number)})")):
        remove_kind(tmp_path, "model")
    remove_kind(tmp_path, "checkpoint")  # there is none
    monkeypatch.setattr(io, "open", fail)
    with pytest.raises(InputError, match=re.escape(f"cannot be read ({os.strerror(number)})")):
        read_folder(tmp_path, "model")


def test_places_that_are_not_ours(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="this is not a folder"):
        write(tmp_path / "file", OLD)
    with pytest.raises(InputError, match="cannot be written"):
        write(tmp_path / "file" / "f", OLD)
    (tmp_path / "model.json").write_text('{"format": "onnx"}')
    for work in (lambda: write(tmp_path, OLD), lambda: remove_kind(tmp_path, "model")):
        with pytest.raises(InputError, match=r"model\.json: this file is not tadge's"):
            work()
    assert names(tmp_path) == ["file", "model.json"]


KILLED_AND_FULL = """
import os, random, resource, signal, sys, time, torch
from pathlib import Path
from tadge.errors import InputError
from tadge.storage.folder import has_folder, read_folder, write_folder

torch.set_num_threads(1)
folder, rng, mid_save, messages = Path(sys.argv[1]), random.Random(1), 0, set()
states = [{"graph": {"x": torch.ones(1000)}, "net": {"w": torch.full((1 << 18,), float(i))}} for i in range(3)]

def entries():
    return sorted(path.name for path in folder.iterdir() if path.name != ".lock")

def state():
    parts, meta = read_folder(folder, "checkpoint")
    assert all(torch.equal(parts[p][n], t) for p, ts in states[meta["i"]].items() for n, t in ts.items())
    return meta["i"]

for _ in range(12):
    child = os.fork()
    while not child:
        for i in range(3):
            write_folder(folder, "checkpoint", states[i], {"i": i})
    time.sleep(0.02 + rng.random() * 0.1)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    mid_save += len(entries()) != 3
    if has_folder(folder, "checkpoint"):
        state()
write_folder(folder, "checkpoint", states[1], {"i": 1})
names = entries()
print(state(), len(names), mid_save > 0)

for limit in [0, 1, 100, 5000, 1 << 19, 1 << 20, (1 << 20) + 50]:  # no file may grow beyond
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, -1))
    try:
        write_folder(folder, "checkpoint", states[2], {"i": 2})
    except InputError as error:
        messages.add(str(error).split(": ", 1)[1])
    assert entries() == names and state() == 1, limit
resource.setrlimit(resource.RLIMIT_FSIZE, (-1, -1))
write_folder(folder, "checkpoint", states[2], {"i": 2})
print(state(), len(entries()), *messages)
"""


def test_killed_work_and_a_full_disk(tmp_path):
    command = [sys.executable, "-c", KILLED_AND_FULL, str(tmp_path)]
    killed, full = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()
    assert killed == "1 3 True"
    assert full == "2 3 cannot be written (File too large); choose a folder that you may write to and that has room"


def test_one_process_at_a_time(tmp_path):
    write(tmp_path, OLD)
    hold = (
        "import sys; from tadge.storage.folder import one_writer\n"
        "with one_writer(sys.argv[1]): print('held', flush=True); sys.stdin.readline()"
    )
    command = [sys.executable, "-c", hold, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout.readline() == "held\n"
        for work in (
            lambda: write(tmp_path, NEW),
            lambda: remove_kind(tmp_path, "model"),
            one_writer(tmp_path).__enter__,
        ):
            with pytest.raises(InputError, match="another process is writing into this folder; wait until it is done"):
                work()
        assert same(read_folder(tmp_path, "model"), OLD)
        other.communicate("\n")
    with one_writer(tmp_path), one_writer(tmp_path):
        write(tmp_path, NEW)
        assert (tmp_path / LOCK).exists()
    assert not (tmp_path / LOCK).exists()
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout.readline() == "held\n"  # it is free again
        other.kill()
    write(tmp_path, OLD)  # the lock is gone with the process


def test_a_copy_with_a_lock_in_it(tmp_path):
    write(tmp_path / "f", OLD)
    (tmp_path / "f" / LOCK).write_text("")
    shutil.copytree(tmp_path / "f", tmp_path / "copy")
    assert same(read_folder(tmp_path / "copy", "model"), OLD)
    write(tmp_path / "copy", NEW)
    assert same(read_folder(tmp_path / "copy", "model"), NEW)


def test_files_are_for_those_who_may_read_the_folder(tmp_path):
    for mode in (0o755, 0o700):
        (tmp_path / str(mode)).mkdir(mode=mode)
        write(tmp_path / str(mode), OLD)
        assert part(tmp_path / str(mode)).stat().st_mode & 0o777 == mode & 0o666


def test_a_folder_that_is_written_while_it_is_read(tmp_path, monkeypatch):
    write(tmp_path, OLD)
    real, states = module._read_part, [NEW, OLD, NEW]

    def read_part(path, kind, file, open_part):
        if states and "-net-" in path.name:
            write(tmp_path, states.pop())
        return real(path, kind, file, open_part)

    monkeypatch.setattr(module, "_read_part", read_part)
    assert same(read_folder(tmp_path, "model"), NEW)
    states += [NEW, OLD] * 20
    with pytest.raises(InputError, match="the folder changes while it is read; wait for the other process"):
        read_folder(tmp_path, "model")


def test_reading_and_writing_at_once(tmp_path, quick):
    write(tmp_path, OLD)
    stop = threading.Event()

    def keep_writing(state):
        while not stop.wait(0.01):
            write(tmp_path, state)

    writers = [threading.Thread(target=keep_writing, args=(state,)) for state in (OLD, NEW)]
    for writer in writers:
        writer.start()
    try:
        for _ in range(60):
            read = read_folder(tmp_path, "model")
            assert same(read, OLD) or same(read, NEW)
    finally:
        stop.set()
        for writer in writers:
            writer.join()
    assert len(names(tmp_path)) == 3


def test_arrays_are_written_and_read_as_tensors_are(tmp_path):
    """The same bytes, and either can be read as the other."""
    arrays = {"a": np.arange(6, dtype=np.int64).reshape(2, 3).T, "b": np.array([1.5, np.inf], np.float32)}
    tensors = {name: torch.from_numpy(np.ascontiguousarray(array)) for name, array in arrays.items()}
    write_folder(tmp_path / "arrays", "model", {"x": arrays}, {})
    write_folder(tmp_path / "tensors", "model", {"x": tensors}, {})
    files = [{path.name: path.read_bytes() for path in (tmp_path / name).iterdir()} for name in ("arrays", "tensors")]
    assert files[0] == files[1]
    for name in ("arrays", "tensors"):
        parts, meta = read_arrays(tmp_path / name, "model")
        assert meta == {} and parts.keys() == {"x"}
        assert all(np.array_equal(parts["x"][key], array) for key, array in arrays.items())
        assert all(part.dtype == arrays[key].dtype and part.flags.writeable for key, part in parts["x"].items())
