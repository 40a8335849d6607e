"""Everything tadge raises or warns of on purpose: one short sentence, in one wording."""

from __future__ import annotations


class TadgeError(ValueError):
    """Say what is wrong, what was expected, what was found, and the cure.

    Args:
        what: the trouble, in a few words.
        expected: what would have been right.
        found: what was there instead.
        cure: what to do about it.
        where: the file (and row), the argument or the option in question.
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
        sentence = f"{where}: {what}" if where else what
        details = [f"expected {expected}" if expected else "", f"found {found}" if found else "", cure or ""]
        super().__init__("; ".join([sentence, *filter(None, details)]))


class InputError(TadgeError):
    """A file, a table or an array that cannot be taken as it is."""


class ConfigError(TadgeError):
    """An option whose value cannot be used."""


class DatasetError(TadgeError):
    """A known data set that cannot be had, or is not what it should be."""


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
