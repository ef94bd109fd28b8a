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
    """The base of all errors that the caller can fix. The message says how.

    Examples
    --------
    >>> try:
    ...     camilla.read("no such file.csv")
    ... except camilla.CamillaError as error:
    ...     print(type(error).__name__, error.exit_code)
    DataError 1
    """

    exit_code = 1


class DataError(CamillaError):
    """The data cannot be used. The message says what was found, where, what was expected, and what to do.

    Examples
    --------
    >>> frame = pl.DataFrame({"learner": ["a"], "sample": ["x"], "response": [7]})
    >>> try:
    ...     camilla.read(frame)
    ... except camilla.DataError as error:
    ...     print(str(error).split(";")[0])
    the dataframe: a response must be a number in [0, 1]
    """


class FormatError(DataError):
    """A saved diagnosis cannot be read back: it is damaged, or from a newer version.

    Examples
    --------
    >>> issubclass(camilla.FormatError, camilla.DataError)
    True
    """


class LayoutError(DataError):
    """The layout of a file is unknown: it is not a known log, and not a table with the needed columns.

    Examples
    --------
    >>> try:
    ...     camilla.read(pl.DataFrame({"a": [1], "b": [2]}))
    ... except camilla.LayoutError as error:
    ...     print(type(error).__name__)
    LayoutError
    """


class SettingError(CamillaError):
    """A setting, name or option does not exist, or does not fit the table.

    Examples
    --------
    >>> try:
    ...     camilla.diagnose(camilla.simulate(3, 5).table, "irt", precison=1.0)
    ... except camilla.SettingError as error:
    ...     print(error)
    irt has no setting 'precison'; it has: form, precision, scale, training.
    """

    exit_code = 2


class ConvergenceError(CamillaError):
    """A fit failed and has no usable result. The message says what to try.

    Examples
    --------
    >>> camilla.ConvergenceError("the fit did not converge").exit_code
    1
    """


class MissingPackageError(CamillaError):
    """A package of one of Camilla's extras is not installed. The message has the line to run.

    Examples
    --------
    >>> issubclass(camilla.MissingPackageError, camilla.CamillaError)
    True
    """


class CamillaWarning(UserWarning):
    """Something was done that the caller should know about, such as rows that were treated as trials.

    Examples
    --------
    >>> import warnings
    >>> frame = pl.DataFrame({"learner": ["a", "a"], "sample": ["x", "x"], "response": [1, 0]})
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     _ = camilla.read(frame)
    >>> caught[0].category.__name__
    'CamillaWarning'
    """


class ConvergenceWarning(CamillaWarning):
    """A fit stopped before it converged. Its results are those of the last step.

    Examples
    --------
    >>> issubclass(camilla.ConvergenceWarning, camilla.CamillaWarning)
    True
    """
