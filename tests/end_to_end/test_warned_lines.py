"""Our own warnings name the user's file and line, and the first record of a logger names its caller."""

import inspect
import logging
import warnings

import pytest
import torch
import torch._dynamo.config as settings

from framesmith import frontend
from framesmith.frontend import torch_settings


def line_here() -> int:
    return inspect.currentframe().f_back.f_lineno


@pytest.fixture
def warned():
    torch_settings.forget_warnings()
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        yield found
    torch_settings.forget_warnings()


def places(found):
    return [(one.category, one.filename, one.lineno) for one in found]


def test_a_replaced_default_is_reported_where_the_function_is_called(warned) -> None:
    def f(x, k=1):
        return x + k

    compiled = frontend.compile(f, backend="eager")
    compiled(torch.ones(2))
    f.__defaults__ = (5,)
    compiled(torch.ones(3)); line = line_here()  # fmt: skip  # noqa: E702
    assert places(warned) == [(frontend.IgnoredSettingWarning, __file__, line)]


def test_an_ignored_setting_is_reported_where_the_function_is_called(warned) -> None:
    compiled = frontend.compile(lambda x: x + 1, backend="eager")
    with settings.patch(minimum_call_count=3):
        compiled(torch.ones(2)); line = line_here()  # fmt: skip  # noqa: E702
    assert places(warned) == [(frontend.IgnoredSettingWarning, __file__, line)]


def test_the_recompile_limit_is_reported_where_the_function_is_called(warned) -> None:
    compiled = frontend.compile(lambda x, n: x + (1 if n == "a" else len(n)), backend="eager")
    with frontend.config.patch(recompile_limit=1):
        for text in ("a", "bb", "ccc"):
            compiled(torch.ones(2), text); line = line_here()  # fmt: skip  # noqa: E702
    assert {one for one in places(warned) if one[0] is frontend.RecompileLimitWarning} == {
        (frontend.RecompileLimitWarning, __file__, line)
    }


def test_the_recompile_limit_behind_a_break_names_a_line_of_the_user(warned) -> None:
    def f(x, n):
        frontend.graph_break()
        return x + (1 if n == "a" else len(n))

    compiled = frontend.compile(f, backend="eager")
    with frontend.config.patch(recompile_limit=1):
        for text in ("a", "bb", "ccc"):
            compiled(torch.ones(2), text)
    assert {one.filename for one in warned} == {__file__}


class Kept(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.found: list = []

    def emit(self, record: logging.LogRecord) -> None:
        self.found.append((record.pathname, record.lineno, record.funcName, record.getMessage()))


log = logging.getLogger("framesmith.asked_first")


def direct(x):
    y = x + 1
    log.warning("one")
    return y


def through(x):
    helper("two")
    return x + 1


def helper(text):
    log.error(text)


def asked(x):
    log.debug("never")
    if log.isEnabledFor(logging.INFO):
        log.info("three %s", x.shape[0])
    return x + 1


@pytest.mark.parametrize("function", [direct, through, asked])
def test_the_first_record_of_a_logger_names_its_caller(function) -> None:
    kept = Kept()
    log.addHandler(kept)
    log.setLevel(logging.INFO)
    try:
        compiled = frontend.compile(function, backend="eager")
        for one in (function, compiled):
            for is_first in (True, True, False):
                if is_first:
                    log.manager._clear_cache()
                one(torch.ones(2))
    finally:
        log.removeHandler(kept)
    assert len(kept.found) == 6 and kept.found[3:] == kept.found[:3]
