"""Whether Megatron's parser takes the arguments that a change adds."""

from __future__ import annotations

import io
import inspect
import sys
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr, redirect_stdout
from typing import Any, Optional

Parse = Callable[[], Any]


def parser_of(
    module: Any, pretrain: Callable[..., Any], args: Any, kwargs: Any
) -> Optional[Parse]:
    """Megatron's parser, with the options that the caller of `pretrain` adds; None if
    `pretrain` is a function that parses in a way of its own."""
    name = "extra_args_provider"
    signature = inspect.signature(pretrain)
    home = getattr(module, "initialize_megatron", None)
    home = sys.modules.get(getattr(home, "__module__", ""))
    parse = getattr(home, "parse_args", None)
    if parse is None or name not in signature.parameters:
        return None
    more = signature.bind_partial(*args, **kwargs).arguments.get(name)
    return lambda: parse(more)


def check_parsed(
    parse: Optional[Parse], argv: Sequence[str], further: Sequence[str]
) -> None:
    """Raises ValueError if the parser takes the job's `argv`, but not with `further`:
    it would end the job, after the move."""
    if parse is None or not further or _error_of(parse, argv) is not None:
        return
    error = _error_of(parse, [*argv, *further])
    if error is not None:
        raise ValueError(f"arguments: {error}")


def _error_of(parse: Parse, argv: Sequence[str]) -> Optional[str]:
    """What the parser says before it exits."""
    said = io.StringIO()
    old = sys.argv[1:]
    sys.argv[1:] = argv
    try:
        with redirect_stdout(io.StringIO()), redirect_stderr(said):
            parse()
    except SystemExit:
        lines = said.getvalue().strip().splitlines() or ["the parser exits"]
        return lines[-1].rpartition(": error: ")[2]
    finally:
        sys.argv[1:] = old
    return None
