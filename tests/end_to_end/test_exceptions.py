"""Raising, catching, chaining; handlers, else, finally; what leaves the compiled function."""

import pytest
import torch
from tests.end_to_end.support import check, check_source

from framesmith import frontend

X = torch.tensor([-1.5, 0.25, 2.0])


class Mine(ValueError):
    def __init__(self, code, *rest):
        super().__init__(f"code {code}", *rest)
        self.code = code


def raise_(error):
    raise error


def caught(x):
    try:
        y = x + 1
        raise ValueError("a", 2)
    except ValueError as e:
        return y, e.args, str(e), repr(e)


def caught_in_the_caller(x):
    def g():
        raise KeyError("inner")

    try:
        g()
    except KeyError as e:
        return x * 2, e.args


def which_handler(x):
    out = []
    for error in (ValueError, KeyError("k"), Mine(3), ZeroDivisionError()):
        try:
            raise error
        except (KeyError, IndexError):
            out.append("lookup")
        except Mine as e:
            out.append(e.code)
        except ValueError:
            out.append("value")
        except Exception:
            out.append("other")
    return out, x


def else_and_finally(x, log):
    for bad in (False, True):
        try:
            log.append("body")
            if bad:
                raise ValueError
        except ValueError:
            log.append("handler")
        else:
            log.append("else")
            x = x + 1
        finally:
            log.append("finally")
    return x, log


def return_in_finally(x):
    try:
        raise ValueError
    finally:
        return x * 2


def finally_overrides_return(x, log):
    try:
        return x
    finally:
        log.append(x * 3)


def break_in_finally(x):
    for i in range(3):
        try:
            x = x + i
            if i == 1:
                raise ValueError
        except ValueError:
            continue
        finally:
            if i == 1:
                break
    return x, i


def nested(x):
    try:
        try:
            raise KeyError(1)
        except KeyError:
            raise ValueError(2)
        finally:
            x = x + 1
    except ValueError as e:
        return x, repr(e.__context__), e.__cause__, e.__suppress_context__


def from_cause(x):
    try:
        try:
            raise KeyError(1)
        except KeyError as e:
            raise ValueError(2) from e
    except ValueError as e:
        return x, repr(e.__cause__), e.__cause__ is e.__context__, e.__suppress_context__


def from_none(x):
    try:
        try:
            raise KeyError(1)
        except KeyError:
            raise ValueError(2) from None
    except ValueError as e:
        return x, e.__cause__, repr(e.__context__), e.__suppress_context__


def exception_is_returned(x):
    try:
        raise Mine(4, x)
    except Mine as e:
        kept = e
    return kept


def name_is_deleted(x):
    try:
        raise ValueError
    except ValueError as e:
        pass
    return e


def errors_of_builtins(x):
    out = []
    for bad in (
        lambda: [][1],
        lambda: {}["a"],
        lambda: 1 // 0,
        lambda: int("z"),
        lambda: None.a,
        lambda: "a" + 1,
        lambda: next(iter([])),
        lambda: x.nothing,
    ):
        try:
            bad()
        except Exception as e:
            out.append((type(e).__name__, str(e)))
    return out


def notes(x):
    try:
        raise ValueError("a")
    except ValueError as e:
        e.add_note("more")
        e.extra = x
        return e.__notes__, e.extra * 2


def groups(x):
    out = []
    try:
        raise ExceptionGroup("g", [ValueError(1), KeyError(2), ExceptionGroup("h", [ValueError(3)])])
    except* ValueError as g:
        out.append(len(g.exceptions))
    except* KeyError as g:
        out.append(str(g.exceptions[0]))
    return out, x + 1


def exception_in_handler_of_caller(x):
    def g():
        raise ValueError("new")

    try:
        raise KeyError("old")
    except KeyError:
        try:
            g()
        except ValueError as e:
            return x, repr(e.__context__)


def reraise_later(x):
    error = None
    try:
        raise ValueError("kept")
    except ValueError as e:
        error = e
    x = x + 1
    try:
        raise error
    except ValueError as e:
        return x, e is error


def system_exceptions(x):
    try:
        raise KeyboardInterrupt
    except BaseException as e:
        return type(e), x


def asserts(x, n):
    assert n == 3, "three"
    assert x.shape[0] == 3
    return x + 1


CAUGHT = [caught, caught_in_the_caller, which_handler, return_in_finally, break_in_finally, nested, from_cause, from_none,
          exception_is_returned, name_is_deleted, errors_of_builtins, notes, groups, exception_in_handler_of_caller,
          reraise_later, system_exceptions]  # fmt: skip


@pytest.mark.parametrize("function", CAUGHT, ids=lambda f: f.__name__)
def test_handling(function):
    check(function, X)


def test_order_of_else_and_finally():
    check(else_and_finally, X, [])
    check(finally_overrides_return, X, [])


def test_asserts():
    check(asserts, X, 3)
    check(asserts, X, 4)
    check(asserts, torch.ones(2), 3)


def uncaught(x):
    y = x + 1
    raise Mine(5)


def uncaught_in_callee(x):
    def g(y):
        raise_(KeyError("deep", 3))

    return g(x * 2)


def uncaught_after_mutation(x, log):
    log.append(x * 2)
    x.add_(1)
    raise ValueError("late")


def uncaught_with_context(x):
    try:
        raise KeyError("first")
    except KeyError:
        raise ValueError("second")


def uncaught_with_cause(x):
    try:
        {}["missing"]
    except KeyError as e:
        raise RuntimeError("outer") from e


def uncaught_reraised(x):
    try:
        [][3]
    except IndexError:
        x = x + 1
        raise


def uncaught_through_finally(x):
    try:
        1 // 0
    finally:
        x.add_(1)


def uncaught_class(x):
    raise ValueError


def uncaught_not_an_exception(x):
    raise 3


def uncaught_bad_cause(x):
    raise ValueError from 3


def uncaught_system_exit(x):
    raise SystemExit(3)


def uncaught_stop_iteration(x):
    raise StopIteration(x.shape[0])


def uncaught_group(x):
    try:
        raise ExceptionGroup("g", [ValueError(1), KeyError(2)])
    except* ValueError:
        x = x + 1


def uncaught_no_active(x):
    raise


def uncaught_error_in_handler_expression(x):
    try:
        raise ValueError
    except undefined_name:  # noqa: F821
        pass


def uncaught_tensor_error(x):
    return x + torch.ones(7)


def uncaught_tensor_error_in_try(x):
    try:
        y = x * 2
        return x @ torch.ones(7)
    finally:
        y.add_(1)


UNCAUGHT = [value for name, value in list(globals().items()) if name.startswith("uncaught")]


@pytest.mark.parametrize(
    "function", [f for f in UNCAUGHT if f is not uncaught_after_mutation], ids=lambda f: f.__name__
)
def test_leaving(function):
    check(function, X)


def test_what_happened_before_the_exception_stays():
    check(uncaught_after_mutation, X, [])


def test_torch_error_is_caught():
    def f(x):
        try:
            return x + torch.ones(7)
        except RuntimeError as e:
            return str(e), x * 2

    check(f, X)


def test_exception_from_a_user_hook():
    class A:
        def __add__(self, other):
            raise TypeError("no adding")

        def __len__(self):
            return -1

    check(lambda x: A() + 1, X)
    check(lambda x: len(A()), X)
    check(lambda x: bool(A()), X)


def test_compiled_function_called_inside_a_handler_keeps_the_context():
    def inner(x):
        raise ValueError("inner")

    def f(x):
        try:
            raise KeyError("outer")
        except KeyError:
            return inner(x)

    check(f, X)


def test_loop_with_many_exceptions():
    def f(x, items):
        bad = 0
        for item in items:
            try:
                x = x + {"a": 1}[item]
            except KeyError:
                bad += 1
        return x, bad

    check(f, X, ["a", "b", "a", "c"])


CONDITIONS_THAT_RAISE = """
import torch

def ask(v):
    if v == 0:
        return 1
    return 2

def keep(v):
    try:
        return v and 3
    except RuntimeError as error:
        return str(error)

def f(x):
    seen = []
    try:
        while x > 0:
            x = x - 1
    except RuntimeError as error:
        seen.append(str(error))
    try:
        ask(x)
    except RuntimeError as error:
        seen.append(str(error))
    return x * 2, keep(x), seen

def args():
    return (torch.ones(3),)
"""


def test_a_condition_that_raises_reaches_the_handler():
    check_source(CONDITIONS_THAT_RAISE)


def test_a_condition_that_raises_in_a_callee_shows_its_frame():
    check_source(CONDITIONS_THAT_RAISE + "def f(x):\n    return ask(x * 2)\n")


def unbound_cell(x):
    print("break")
    if x is None:
        later = 1
    return later + (lambda: later)()


def unbound_cell_of_an_inlined_function(x):
    def g():
        items = items + [x]  # noqa: F823
        return lambda: items

    return g()


def unbound_cell_in_a_handler(x):
    try:
        raise KeyError(1)
    except KeyError:
        if x is None:
            later = 1
        return later + (lambda: later)()


@pytest.mark.parametrize(
    "function", [unbound_cell, unbound_cell_of_an_inlined_function, unbound_cell_in_a_handler]
)
def test_a_variable_with_a_cell_is_a_local_one_where_it_is_bound(function):
    check(function, X)


def test_an_inlined_function_that_goes_on_natively_knows_what_its_caller_handles():
    def g(x):
        number = x.sum().item()
        if int(number) % 4 == 3:
            raise ValueError(str(number))
        return x + int(number)

    def f(x):
        try:
            raise KeyError(1)
        except KeyError:
            return g(x)

    def change(x):
        x.data.add_(1)

    with frontend.config.patch(recompile_limit=2):
        check(f, torch.zeros(1), calls=9, change=change)


def test_an_unbound_variable_with_a_cell_in_a_continuation_that_runs_natively():
    def f(x):
        number = x.sum().item()
        if int(number) % 4 != 3:
            later = 1
        return x + later + (lambda: later)() + int(number)

    def change(x):
        x.data.add_(1)

    with frontend.config.patch(recompile_limit=2):
        check(f, torch.zeros(1), calls=9, change=change)


def test_an_unbound_variable_with_a_cell_is_caught_in_a_continuation_that_runs_natively():
    def f(x, log):
        number = x.sum().item()
        if int(number) % 4 != 3:
            later = 1
        try:
            log.append(later)
        except NameError as error:
            log.append(repr(error))
        return x + int(number), lambda: later

    def change(x, log):
        x.data.add_(1)

    with frontend.config.patch(recompile_limit=2):
        check(f, torch.zeros(1), [], calls=9, change=change)


def test_a_name_error_of_the_users_own_keeps_its_type_whatever_it_says():
    def f(x):
        later = x.sum().item()
        if int(later) % 4 == 3:
            raise NameError("cannot access free variable 'later' where it is not associated with a value")
        return x + int(later), lambda: later

    def change(x):
        x.data.add_(1)

    with frontend.config.patch(recompile_limit=2):
        check(f, torch.zeros(1), calls=9, change=change)
