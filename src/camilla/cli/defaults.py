"""Defaults of options, from [tool.camilla] in a project's pyproject.toml."""

import inspect
import os
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, NamedTuple, Union, get_args, get_origin

import typer
from typer.models import OptionInfo

from camilla.cli.options import CONTENT_PANEL, LOGS_PANEL, TABLE_PANEL
from camilla.errors import SettingError
from camilla.names import in_quotes, nearest, shown

FILE = "pyproject.toml"
SHARED = ("json", "level", "quiet", "seed")  # options that mean the same in every command that has them
TABLE = "table"  # [tool.camilla.table]: how every command reads tables and logs
TABLE_PANELS = (TABLE_PANEL, CONTENT_PANEL, LOGS_PANEL)
KINDS = {
    bool: "true or false", int: "a whole number", float: "a number", str: "a text", Path: "a path as text",
}  # fmt: skip


class Defaults(NamedTuple):
    """Values of options by command, in the form that Click takes as its default map."""

    file: Path
    values: dict[str, Any]


class Option(NamedTuple):
    """An option: its parameter, the values it takes, and whether it says how tables are read."""

    parameter: str
    kind: Any
    reads_tables: bool


Options = dict[str, Option]  # by the words of the command line, without dashes: fail-if-worse
Commands = dict[str, "Options | Commands"]


def read_defaults(app: typer.Typer, folder: Path) -> Defaults | None:
    """What the nearest pyproject.toml upwards sets in [tool.camilla], checked; None where none does."""
    for place in (folder, *folder.parents):
        if (file := place / FILE).is_file() and (settings := _settings(file)) is not None:
            return Defaults(file, _Reader(file).by_command(settings, commands_of(app)))
    return None


def _settings(file: Path) -> Any:
    import tomllib

    try:
        tool = tomllib.loads(file.read_text(encoding="utf-8")).get("tool", {})
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingError(f"{file}: is not TOML, so its [tool.camilla] cannot be read: {error}.") from None
    return tool.get("camilla") if isinstance(tool, dict) else None


def commands_of(app: typer.Typer) -> Commands:
    """The options of every command, by its name; those of a group by the names of its commands."""
    groups = {str(group.name): commands_of(group.typer_instance) for group in app.registered_groups
              if group.typer_instance is not None}  # fmt: skip
    commands = {
        command.name or command.callback.__name__.replace("_", "-"): _options(command.callback)
        for command in app.registered_commands
        if command.callback is not None
    }
    return {**commands, **groups}


def _options(command: Callable[..., Any]) -> Options:
    found = {}
    for name, parameter in inspect.signature(command).parameters.items():
        kind, *info = get_args(parameter.annotation) or (None,)
        if info and isinstance(info[0], OptionInfo):
            long = [text for text in info[0].param_decls or () if text.startswith("--")]
            words = long[0].split("/")[0].removeprefix("--") if long else name.replace("_", "-")
            found[words] = Option(name, kind, info[0].rich_help_panel in TABLE_PANELS)
    return found


class _Reader(NamedTuple):
    """Checks the settings of one file."""

    file: Path

    def by_command(self, settings: Any, commands: Commands) -> dict[str, Any]:
        """What is set for all commands and for each; the narrower setting wins."""
        everywhere, parts = self._parted(settings, (), [*SHARED, TABLE, *commands])
        self._check_shared(everywhere)
        table = self._table(parts.pop(TABLE, {}), commands)
        return self._merged(commands, everywhere, table, parts, ())

    def _merged(
        self, commands: Commands, everywhere: Mapping[str, Any], table: Mapping[str, Any],
        parts: Mapping[str, Any], path: tuple[str, ...],
    ) -> dict[str, Any]:  # fmt: skip
        merged: dict[str, Any] = {}
        for name, options in commands.items():
            here = (*path, name)
            if _is_group(options):
                own = self._parted(parts.get(name, {}), here, list(options))[1]
                merged[name] = self._merged(options, everywhere, table, own, here)  # type: ignore[arg-type]
                continue
            set_here = self._parted(parts.get(name, {}), here, list(options))[0]
            usable = {key: value for key, value in everywhere.items() if key in options}
            usable |= {
                key: value
                for key, value in table.items()
                if key in options and options[key].reads_tables  # type: ignore[union-attr]
            }
            merged[name] = {
                options[key].parameter: self._checked(here, key, value, options[key].kind)  # type: ignore[union-attr]
                for key, value in (usable | set_here).items()
            }
        return merged

    def _table(self, settings: Any, commands: Commands) -> dict[str, Any]:
        known = {
            key for options in commands.values() if not _is_group(options)
            for key, option in options.items() if option.reads_tables  # type: ignore[union-attr]
        }  # fmt: skip
        return self._parted(settings, (TABLE,), sorted(known))[0]

    def _parted(
        self, settings: Any, path: tuple[str, ...], known: Sequence[str]
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Values and tables of a part of the file; a name that is not known is an error."""
        if not isinstance(settings, dict):
            raise SettingError(f"{self._at(path)} is a table of settings; {in_quotes(settings)} came.")
        named = {key.replace("_", "-"): value for key, value in settings.items()}
        for key in named:
            if key not in known:
                raise SettingError(f"{self._at(path)} has no setting {in_quotes(key)}. {nearest(key, known)}")
        parts = {key: value for key, value in named.items() if isinstance(value, dict)}
        return {key: value for key, value in named.items() if key not in parts}, parts

    def _check_shared(self, settings: Mapping[str, Any]) -> None:
        for key in settings:
            if key not in SHARED:
                raise SettingError(
                    f"{self._at((key,))} is a table of settings; {in_quotes(settings[key])} came."
                )

    def _checked(self, path: tuple[str, ...], key: str, value: Any, kind: Any) -> Any:
        plain = _without_none(kind)
        if not _fits(value, plain):
            raise SettingError(f"{self._at(path)}: {key} is {_described(plain)}; {in_quotes(value)} came.")
        return value

    def _at(self, path: tuple[str, ...]) -> str:
        return f"{self.file}: [{'.'.join(('tool', 'camilla', *path))}]"


def _is_group(options: Any) -> bool:
    return any(isinstance(value, dict) for value in options.values())


def _without_none(kind: Any) -> Any:
    if get_origin(kind) in (Union, UnionType):
        return next(part for part in get_args(kind) if part is not NoneType)
    return kind


def _fits(value: Any, kind: Any) -> bool:
    parts = get_args(kind)
    if get_origin(kind) is list:
        return isinstance(value, list) and all(_fits(one, parts[0]) for one in value)
    if get_origin(kind) is tuple:
        return isinstance(value, list) and len(value) == len(parts) and all(map(_fits, value, parts))
    if isinstance(value, bool) or kind is bool:
        return isinstance(value, bool) and kind is bool
    if kind is float:
        return isinstance(value, int | float)
    return isinstance(value, int if kind is int else str)


def _described(kind: Any) -> str:
    if get_origin(kind) in (list, tuple):
        return f"a list, each entry {KINDS[get_args(kind)[0]]}"
    return KINDS[kind]


class Setting(NamedTuple):
    """An option that the file has set: its parameter, how it is written, its value."""

    parameter: str
    option: str
    value: Any


def options_from_file(context: typer.Context) -> list[Setting]:
    """The options of a command that were not given on its line and that the file sets."""
    found = []
    for parameter in context.command.params:
        source = context.get_parameter_source(str(parameter.name))
        if source is not None and source.name == "DEFAULT_MAP":
            value = context.params[str(parameter.name)]
            words = parameter.secondary_opts if value is False else parameter.opts
            found.append(Setting(str(parameter.name), (words or parameter.opts)[-1], value))
    return found


def note(file: Path, settings: Iterable[Setting]) -> str:
    """Which options the file has set, as they would be written on the command line."""
    words = " ".join(_written(setting) for setting in settings)
    return f"note: defaults from {shown(os.path.relpath(file))}: {shown(words)}"


def _written(setting: Setting) -> str:
    value = setting.value
    if isinstance(value, bool):
        return setting.option
    values = value if isinstance(value, list | tuple) else [value]
    return " ".join(f"{setting.option} {shlex.quote(str(one))}" for one in values)
