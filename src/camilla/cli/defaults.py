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
    """An option: its parameter, the values it takes, and its panel in the help text."""

    parameter: str
    kind: Any
    panel: str | None


Options = dict[str, Option]  # by the words of the command line, without dashes: fail-if-worse
Commands = dict[str, Any]  # options, or the commands of a group


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
    commands: Commands = {
        command.name or command.callback.__name__.replace("_", "-"): _options(command.callback)
        for command in app.registered_commands
        if command.callback is not None
    }
    groups = [group.typer_instance for group in app.registered_groups if group.typer_instance is not None]
    return commands | {str(group.info.name): commands_of(group) for group in groups}


def _options(command: Callable[..., Any]) -> Options:
    found = {}
    for name, parameter in inspect.signature(command).parameters.items():
        kind, *info = get_args(parameter.annotation) or (None,)
        if info and isinstance(info[0], OptionInfo):
            words = [info[0].default, *(info[0].param_decls or ())]  # in Annotated, the first is the default
            long = [text for text in words if isinstance(text, str) and text.startswith("--")]
            option = long[0].partition("/")[0].removeprefix("--") if long else name.replace("_", "-")
            found[option] = Option(name, kind, info[0].rich_help_panel)
    return found


class _Reader(NamedTuple):
    """Checks the settings of one file."""

    file: Path

    def by_command(self, settings: Any, commands: Commands) -> dict[str, Any]:
        """What is set for each command; the narrower setting wins."""
        named = self._named(settings, (), [*SHARED, TABLE, *commands])
        every = [options for options in commands.values() if not _is_group(options)]
        shared = {key: options[key] for options in every for key in SHARED if key in options}
        reading = {
            key: option for options in every for key, option in options.items() if _reads_tables(option)
        }
        wide = self._checked({key: named[key] for key in SHARED if key in named}, (), shared)
        table = self._checked(named.get(TABLE, {}), (TABLE,), reading)
        return self._merged(commands, named, (wide, table), ())

    def _merged(
        self, commands: Commands, settings: Mapping[str, Any], wider: tuple[dict[str, Any], dict[str, Any]],
        path: tuple[str, ...],
    ) -> dict[str, Any]:  # fmt: skip
        wide, table = wider
        merged = {}
        for name, options in commands.items():
            here, own = (*path, name), settings.get(name, {})
            if _is_group(options):
                merged[name] = self._merged(options, self._named(own, here, list(options)), wider, here)
                continue
            usable = {key: value for key, value in wide.items() if key in options}
            usable |= {
                key: value for key, value in table.items() if key in options and _reads_tables(options[key])
            }
            values = usable | self._checked(own, here, options)
            merged[name] = {options[key].parameter: value for key, value in values.items()}
        return merged

    def _named(self, settings: Any, path: tuple[str, ...], known: Sequence[str]) -> dict[str, Any]:
        """The settings by the words of the command line; a name that is not known is an error."""
        if not isinstance(settings, dict):
            raise SettingError(f"{self._at(path)} is a table of settings; got {in_quotes(settings)}.")
        named = {key.replace("_", "-"): value for key, value in settings.items()}
        for key in named:
            if key not in known:
                raise SettingError(f"{self._at(path)} has no setting {in_quotes(key)}. {nearest(key, known)}")
        return named

    def _checked(self, settings: Any, path: tuple[str, ...], options: Mapping[str, Option]) -> dict[str, Any]:
        named = self._named(settings, path, list(options))
        for key, value in named.items():
            kind = _without_none(options[key].kind)
            if not _fits(value, kind):
                raise SettingError(f"{self._at(path)}: {key} is {_described(kind)}; got {in_quotes(value)}.")
        return named

    def _at(self, path: tuple[str, ...]) -> str:
        return f"{self.file}: [{'.'.join(('tool', 'camilla', *path))}]"


def _is_group(options: Mapping[str, Any]) -> bool:
    return any(isinstance(value, dict) for value in options.values())


def _reads_tables(option: Option) -> bool:
    return option.panel in TABLE_PANELS


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
