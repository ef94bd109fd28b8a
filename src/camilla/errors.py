"""What can go wrong, drawn once.

CamillaError
├── DataError            the table, file or name that came in cannot be used; exit code 1
│   ├── FormatError      a saved diagnosis is damaged or newer than this version
│   └── LayoutError      a file can be read, but not where its learners, samples and responses are
├── SettingError         a setting that does not exist, does not fit or cannot act; exit code 2
├── ConvergenceError     a fit ended where nothing can be read from it; exit code 1
└── MissingPackageError  a package that comes with an extra is not installed; exit code 1

CamillaWarning           something was done that a caller should know of
└── ConvergenceWarning   a fit stopped before it arrived; its results are where it stood
"""


class CamillaError(Exception):
    """Something the caller can mend; the message says how."""

    exit_code = 1


class DataError(CamillaError):
    """The data cannot be used as it is: what came, where, what was wanted, what to do."""


class FormatError(DataError):
    """A saved diagnosis cannot be read back: it is damaged or from a newer version."""


class LayoutError(DataError):
    """The layout of a file is not known: no known log, and no table with the wanted columns."""


class SettingError(CamillaError):
    """A setting, name or option that does not exist or does not fit the table."""

    exit_code = 2


class ConvergenceError(CamillaError):
    """A fit ended where nothing can be read from it; the message says what to try."""


class MissingPackageError(CamillaError):
    """A package that comes with one of Camilla's extras is not installed; the message has the line to run."""


class CamillaWarning(UserWarning):
    """Something was done that a caller should know of, such as rows that were taken for trials."""


class ConvergenceWarning(CamillaWarning):
    """A fit stopped before it arrived; its results are where it stood."""
