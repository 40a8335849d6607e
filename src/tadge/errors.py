"""Everything tadge raises or warns of on purpose: one short sentence, in one wording."""

from __future__ import annotations

from collections.abc import Sequence

LONGEST = 1_000  # characters of a part of a message
LISTED, LONGEST_NAME = 12, 60  # names of a list, and characters of each


class TadgeError(ValueError):
    """Say what is wrong, what was expected, what was found, and the cure.

    Args:
        what: the trouble, in a few words.
        expected: what would have been right.
        found: what was there instead.
        cure: what to do about it.
        where: the file (and row), the argument or the option in question.

    The sentence holds nothing that a terminal would obey, and is cut where a part of it is very long.
    """

    def __init__(
        self,
        what: str,
        *,
        expected: str | None = None,
        found: str | None = None,
        cure: str | None = None,
        where: str | None = None,
    ) -> None:
        self.what, self.expected, self.found, self.cure, self.where = what, expected, found, cure, where
        what, where, expected, found = (visible(bounded(text or "")) for text in (what, where, expected, found))
        sentence = f"{where}: {what}" if where else what
        cure = visible(bounded(cure or "", 4 * LONGEST), newlines=True)  # it may show several calls
        details = [f"expected {expected}" if expected else "", f"found {found}" if found else "", cure]
        super().__init__("; ".join([sentence, *filter(None, details)]))


class InputError(TadgeError):
    """A file, a table or an array that cannot be taken as it is."""


class ConfigError(TadgeError):
    """An option whose value cannot be used."""


class DatasetError(TadgeError):
    """A known data set that cannot be had, or is not what it should be."""


class EmptyFileError(InputError):
    """A file without a single event."""


class MissingFileError(InputError, FileNotFoundError):
    """A file or folder that is not there."""


class MissingDatasetError(DatasetError, FileNotFoundError):
    """A known data set that is not on this machine."""


class MissingExtraError(TadgeError, ImportError):
    """An optional package that is not installed."""


class TrainingError(TadgeError):
    """A training run that cannot go on."""


class TooFewWalksError(InputError):
    """A graph with too few walks to learn vectors from; forecasts need none."""


class TadgeWarning(UserWarning):
    """Something in the data that looks odd and was read all the same."""


class NotFittedError(TadgeError, AttributeError):
    """An estimator that is asked before it was fitted; as in scikit-learn, a ValueError and an AttributeError."""


# -- words for people: nothing that a terminal would obey, nothing without end -----------------------------------------


def visible(text: str, newlines: bool = False) -> str:
    r"""Write as escapes, like \x1b, what a terminal would not print, or would obey.

    Args:
        text: anything; half characters and bytes of odd file names as well.
        newlines: let them stand.
    """
    if text.isprintable():
        return text
    kept = "\n" if newlines else ""
    return "".join(one if one.isprintable() or one in kept else ascii(one)[1:-1] for one in text)


def bounded(text: str, most: int = LONGEST) -> str:
    """Cut the middle out of a text that is longer than so many characters."""
    if len(text) <= most:
        return text
    part = (most - 5) // 2
    return f"{text[:part]} ... {text[-part:]}"


def listing(names: Sequence[str]) -> str:
    """List names, the first of many, each between quotes."""
    shown = ", ".join(repr(bounded(name, LONGEST_NAME)) for name in names[:LISTED])
    return shown + (f" and {len(names) - LISTED:,} more" if len(names) > LISTED else "")
