"""Download one file by pooch, bounded in size, with every failure told in one sentence."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, BinaryIO

from tadge.datasets.places import by_hand, cache_folder, refusal, search
from tadge.datasets.registry import DataFile, Dataset
from tadge.errors import DatasetError

if TYPE_CHECKING:
    from requests import Response

RETRIES = 3  # after a download that was cut
TIMEOUT = 30.0  # seconds without a byte
CHUNK_BYTES = 2**16


class _FinalError(Exception):
    """Carry a complaint past pooch, which would try again after any ValueError."""

    def __init__(self, complaint: DatasetError) -> None:
        super().__init__(str(complaint))
        self.complaint = complaint


class _Sink:
    """Take what pooch downloads, but no more than the file can hold; pooch uses it as its progress bar too.

    Args:
        out: where the bytes go.
        file: what is downloaded.
        refuse: makes the error about a body that cannot be the file.
        report: is told the bytes so far, and in all where known.
    """

    def __init__(
        self,
        out: BinaryIO | IO[bytes],
        file: DataFile,
        refuse: Callable[[str], _FinalError],
        report: Callable[[int, int | None], None],
    ) -> None:
        self.out, self.file, self.refuse, self.report = out, file, refuse, report
        self.size, self._total = 0, 0

    @property
    def total(self) -> int:
        """Give the size that the server states, 0 where it states none."""
        return self._total

    @total.setter
    def total(self, total: int) -> None:
        most, exact = self.file.most_bytes, self.file.transported is not None
        if total > most or (exact and 0 < total != most):
            raise self.refuse(f"a download of {total:,} bytes")
        self._total = total

    def write(self, chunk: bytes) -> None:
        """Append some bytes."""
        self.size += len(chunk)
        if self.size > self.file.most_bytes:
            raise self.refuse(f"a download that goes on after {self.file.most_bytes:,} bytes")
        self.out.write(chunk)
        self.report(self.size, self._total or None)

    def flush(self) -> None:
        """Do nothing, as in what follows: what is left of the interfaces of a file and a progress bar."""

    def update(self, size: int) -> None:
        """Do nothing."""

    reset = close = flush


class _Download:
    """Download one file of a data set; called by pooch, once per attempt."""

    def __init__(self, dataset: Dataset, file: DataFile, report: Callable[[int, int | None], None]) -> None:
        self.dataset, self.file, self.report = dataset, file, report
        self.size, self.reached = 0, False

    def __call__(self, url: str, output_file: str, pooch: Any) -> None:
        from pooch import HTTPDownloader
        from requests import exceptions

        headers = {"User-Agent": f"tadge/{version('tadge')}", "Accept-Encoding": "identity"}
        with Path(output_file).open("wb") as out, ExitStack() as responses:
            sink = _Sink(out, self.file, self.refuse, self.report)

            def answered(response: Response, **_: Any) -> None:
                self.reached = True
                responses.enter_context(response)  # pooch closes none
                if response.is_redirect:
                    response.close()  # its body may be endless

            options = {"timeout": TIMEOUT, "headers": headers, "hooks": {"response": answered}}
            download = HTTPDownloader(progressbar=sink, chunk_size=CHUNK_BYTES, **options)
            try:
                download(url, sink, pooch)
            except (exceptions.ConnectionError, exceptions.Timeout, exceptions.ChunkedEncodingError) as error:
                self.size = max(self.size, sink.size)
                if not self.reached:
                    raise _FinalError(self.failure(f"cannot be reached ({_reason(error)})")) from error
                raise  # pooch tries again
            except exceptions.HTTPError as error:
                status = error.response.status_code if error.response is not None else "unknown"
                raise _FinalError(self.failure(f"the server answered with HTTP status {status}")) from error
            except (exceptions.RequestException, ValueError) as error:  # a ValueError: an address that is none
                raise _FinalError(self.failure(f"cannot be fetched ({_reason(error)})")) from error

    def refuse(self, found: str) -> _FinalError:
        return _FinalError(refusal(self.dataset, self.file, found, str(self.file.url)))

    def failure(self, what: str, cure: str = "") -> DatasetError:
        """Make the error about a file that did not come."""
        cure, where = cure + by_hand(self.dataset, self.file), f"{self.dataset.name} ({self.file.url})"
        return DatasetError(what, found=search(self.file)[1], cure=cure, where=where)


def _reason(error: Exception) -> str:
    """Say in a few words what lies under an error of requests."""
    cause: BaseException | None = error
    while cause is not None:
        if reason := getattr(cause, "strerror", None):
            return str(reason)
        cause = cause.__cause__ or cause.__context__
    return " ".join(str(error).split())[:200]


@contextmanager
def downloaded(dataset: Dataset, file: DataFile, progress: bool) -> Iterator[Path]:
    """Download a file as it is published; yield its path, good until the `with` block ends.

    A download that is cut is tried again from its beginning. The caller holds the lock of the file.
    """
    import pooch
    from requests import exceptions

    from tadge.progress import Bars

    folder = cache_folder() / f".{file.fetched_as}.part"  # what killed work has left goes too
    shutil.rmtree(folder, ignore_errors=True)
    name, logger = file.fetched_as, pooch.get_logger()
    level = logger.level
    store = pooch.create(folder, "", registry={name: None}, urls={name: file.url}, retry_if_failed=RETRIES)
    try:
        with Bars(None if progress else False, in_bytes=True).part(dataset.name) as report:
            download = _Download(dataset, file, report)
            logger.setLevel(logging.WARNING)
            yield Path(store.fetch(name, downloader=download))
    except _FinalError as error:
        raise error.complaint from error.__cause__
    except exceptions.RequestException as error:
        what = f"the download was cut after {download.size:,} bytes ({_reason(error)})"
        raise download.failure(what, f"run `tadge datasets get {dataset.name}` again, or ") from error
    finally:
        logger.setLevel(level)
        shutil.rmtree(folder, ignore_errors=True)
