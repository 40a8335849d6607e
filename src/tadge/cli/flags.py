"""Errors speak of arguments, as Python has them; on the command line they speak of flags."""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Mapping, Sequence

from tadge.errors import TadgeError

VERBS = "change|lower|raise|set|say"  # a cure names an argument of one word right after one of them
CALL = re.compile(r"read_events\((?:'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|[^'\"()])*\)")


def text_in_flags(text: str, flags: Mapping[str, str], line: Sequence[str] = ()) -> str:
    """Give a sentence with flags in place of the arguments that it names; see `in_flags`."""
    return _translate(text, flags, line) if flags else text


def in_flags(error: TadgeError, flags: Mapping[str, str], line: Sequence[str] = ()) -> TadgeError:
    """Give the same error with flags in place of arguments: in `where`, and where `expected` and `cure` name them.

    Args:
        error: what was raised.
        flags: the flag of every argument of the command, like {"bad_rows": "--bad-rows"}.
        line: the command as it was given, without the name of the program; calls of `read_events` become this with
            what they say added. `info FILE` where it is not known.
    """
    where = flags.get(error.where, error.where) if error.where else None
    expected, cure = (text and _translate(text, flags, line) for text in (error.expected, error.cure))
    return TadgeError(error.what, expected=expected, found=error.found, cure=cure, where=where)


def _translate(text: str, flags: Mapping[str, str], line: Sequence[str]) -> str:
    """Turn name='value' into --name value, name=True into --name, and names of arguments into flags."""
    calls = CALL.findall(text)
    if calls:
        parts = (_translate(part, flags, line) for part in CALL.split(text))
        commands = [_command(call, flags, line) for call in calls]
        return "".join(part for pair in zip(parts, [*commands, ""], strict=True) for part in pair)
    names = "|".join(sorted(map(re.escape, flags), key=len, reverse=True))
    text = re.sub(rf"\b({names})=('[^']*'|[\w.+-]*\w)", lambda match: _setting(flags[match[1]], match[2]), text)
    text = re.sub(rf"\b({VERBS}) ({names})\b", lambda match: f"{match[1]} {flags[match[2]]}", text)
    return re.sub(r"(?<![\w-])\w+_\w+", lambda match: flags.get(match[0], match[0]), text)


def _command(call: str, flags: Mapping[str, str], line: Sequence[str]) -> str:
    """Turn a call of `read_events` into a command that is ready to paste."""
    node = ast.parse(call, mode="eval").body
    assert isinstance(node, ast.Call)
    words = ["tadge", *(line or ["info", str(ast.literal_eval(node.args[0]))])]
    for keyword in node.keywords:
        name = flags.get(keyword.arg or "", "--" + (keyword.arg or ""))
        if name not in words:
            words += [name, str(ast.literal_eval(keyword.value))]
    return shlex.join(words)


def _setting(flag: str, value: str) -> str:
    if value in ("True", "False"):
        return flag if value == "True" else f"--no-{flag[2:]}"
    return f"{flag} {shlex.quote(value.strip(chr(39)))}"
