"""`with`: user managers, contextlib, several at once, torch's switches, exceptions."""

import contextlib

import pytest
import torch
from tests.end_to_end.support import check

from framesmith import frontend

X = torch.tensor([-1.5, 0.25, 2.0])
G = X.clone().requires_grad_()


class Manager:
    def __init__(self, log, name, swallow=False):
        self.log, self.name, self.swallow = log, name, swallow

    def __enter__(self):
        self.log.append(f"enter {self.name}")
        return self

    def __exit__(self, kind, value, traceback):
        self.log.append((f"exit {self.name}", kind and kind.__name__, str(value)))
        return self.swallow


@contextlib.contextmanager
def managed(log, name):
    log.append(f"enter {name}")
    try:
        yield name
    except KeyError:
        log.append("swallowed")
    finally:
        log.append(f"exit {name}")


def plain(x, log):
    with Manager(log, "a") as m:
        x = x + 1
    return x, m.name


def several(x, log):
    with Manager(log, "a"), Manager(log, "b") as b, managed(log, "c") as c:
        x = x * 2
    return x, b.name, c


def swallowing(x, log):
    with Manager(log, "a", True):
        raise ValueError("v")
    return x + 1


def passing_on(x, log):
    with Manager(log, "a"), Manager(log, "b"):
        x.add_(1)
        raise ValueError("v")


def swallowed_by_generator(x, log):
    with managed(log, "a"):
        {}["k"]
    return x


def through_generator(x, log):
    with managed(log, "a"):
        raise ValueError("g")


def returning(x, log):
    with Manager(log, "a"):
        return x * 3


def breaking(x, log):
    for i in range(4):
        with Manager(log, i):
            if i == 1:
                continue
            if i == 2:
                break
            x = x + i
    return x


def exit_stack(x, log):
    with contextlib.ExitStack() as stack:
        for name in "ab":
            stack.enter_context(Manager(log, name))
        stack.callback(log.append, "callback")
        x = x + 1
    return x


def suppressing(x, log):
    with contextlib.suppress(KeyError, IndexError):
        log.append(1)
        [][1]
        log.append(2)
    return x + 1


def null_context(x, log):
    with contextlib.nullcontext(5) as n:
        x = x * n
    return x


def closing(x, log):
    class Thing:
        def close(self):
            log.append("closed")

    with contextlib.closing(Thing()):
        x = x + 1
    return x


def raising_enter(x, log):
    class Bad(Manager):
        def __enter__(self):
            raise ValueError("enter")

    with Manager(log, "a"):
        with Bad(log, "b"):
            x = x + 1
    return x


def raising_exit(x, log):
    class Bad(Manager):
        def __exit__(self, *args):
            raise ValueError("exit")

    with Bad(log, "b"):
        raise KeyError("body")


def not_a_manager(x, log):
    with 3:
        pass


def decorator_form(x, log):
    @managed(log, "d")
    def g(y):
        return y * 2

    return g(x)


def redirect(x, log):
    with contextlib.redirect_stdout(None):
        x = x + 1
    return x


USER = [plain, several, swallowing, passing_on, swallowed_by_generator, through_generator, returning, breaking, exit_stack,
        suppressing, null_context, closing, raising_enter, raising_exit, not_a_manager, decorator_form]  # fmt: skip


@pytest.mark.parametrize("function", USER, ids=lambda f: f.__name__)
def test_user_manager(function):
    check(function, X, [])


def test_no_grad_around_a_part():
    def f(x):
        with torch.no_grad():
            y = x * 2
        return y, x * 3, torch.is_grad_enabled()

    check(f, G, graphs=1, breaks=0)


def test_grad_modes_nest():
    def f(x):
        with torch.no_grad():
            a = x * 2
            with torch.enable_grad():
                b = x * 3
                with torch.set_grad_enabled(False):
                    c = x * 4
            d = torch.is_grad_enabled()
        return a, b, c, d

    check(f, G, graphs=1, breaks=0)


def test_grad_mode_as_a_decorator():
    @torch.no_grad()
    def g(x):
        return x * 2

    check(lambda x: (g(x), x * 3), G, breaks=0)


def test_set_grad_enabled_as_a_function():
    def f(x):
        torch.set_grad_enabled(False)
        y = x * 2
        torch.set_grad_enabled(True)
        return y, x * 3

    check(f, G)


def test_grad_mode_left_switched_off():
    def f(x):
        torch.set_grad_enabled(False)
        return x * 2

    check(f, G)


def test_grad_mode_of_the_caller_is_guarded():
    def f(x):
        return x * 2, torch.is_grad_enabled()

    def outer(x, flags):
        with torch.set_grad_enabled(flags[0]):
            return f(x)

    check(outer, G, [True], change=lambda x, flags: flags.__setitem__(0, not flags[0]))


def test_inference_mode():
    def f(x):
        with torch.inference_mode():
            y = x * 2
            z = torch.is_inference_mode_enabled()
        return y + 0 if False else y, z

    check(f, X)


def test_autocast():
    def f(x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            y = x @ x.t()
            z = torch.is_autocast_enabled("cpu")
        return y, z, x @ x

    check(f, torch.randn(3, 3))


def test_exception_restores_the_grad_mode():
    def f(x):
        try:
            with torch.no_grad():
                raise ValueError
        except ValueError:
            return x * 2, torch.is_grad_enabled()

    check(f, G)


def test_uncaught_exception_restores_the_grad_mode():
    def f(x):
        with torch.no_grad():
            y = x * 2
            raise ValueError(str(y.shape))

    check(f, G)


def test_manager_object_is_reused():
    def f(x, manager):
        with manager:
            y = x * 2
        with manager:
            z = y + 1
        return z, torch.is_grad_enabled()

    check(f, G, torch.no_grad())


def test_torch_function_off_and_record_function():
    def f(x):
        with torch.profiler.record_function("part"), torch._C.DisableTorchFunctionSubclass():
            return x * 2

    check(f, X)


def test_deterministic_and_default_dtype():
    def f(x):
        before = torch.get_default_dtype()
        torch.set_default_dtype(torch.float64)
        y = torch.ones(2)
        torch.set_default_dtype(before)
        return y, torch.ones(2), x

    check(f, X)


def test_device_context():
    def f(x):
        with torch.device("meta"):
            made = torch.ones(3)
        return made.device.type, torch.ones(3) + x

    check(f, X)


def test_a_profilers_mark_that_is_open_at_a_break_is_ended():
    def f(x):
        with torch.autograd.profiler.record_function("mark"):
            x = x + 1
            print("in")
            x = x * 2
        return x + 1

    compiled = frontend.compile(f, backend="eager")
    for _ in range(3):
        with torch.profiler.profile() as profile:
            assert torch.equal(compiled(torch.ones(3)), torch.full((3,), 5.0))
        (mark,) = [event for event in profile.events() if event.name == "mark"]
        inside = {event.name for event in profile.events() if event.time_range.end <= mark.time_range.end}
        assert "aten::mul" in inside
    assert len(frontend.explain(f, torch.ones(3)).breaks) == 1


def count_autocast_blocks():
    torch.autocast_increment_nesting()
    return torch.autocast_decrement_nesting()


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_an_operation_that_fails_in_autocast_leaves_its_blocks(backend):
    """Copies of weights in lower precision are forgotten with the outermost block; one left entered keeps old weights."""

    def fail(x):
        with torch.autocast("cpu"), torch.autocast("cpu", torch.bfloat16):
            return torch.linalg.inv(x * 0)

    compiled = frontend.compile(fail, backend=backend)
    for _ in range(3):
        with pytest.raises(RuntimeError, match="singular"):
            compiled(torch.ones(2, 2))
        assert count_autocast_blocks() == 0


def test_a_block_without_dispatch_to_python_runs_natively():
    def f(x):
        with torch._C._DisableTorchDispatch():
            y = x * 2
            z = torch.ones(3) * y
        return z + 1

    def g(x):
        with torch._C._DisableTorchDispatch():
            return h(x)

    def h(x):
        return x.sin() * 2

    check(f, X)
    check(g, X)
    compiled = frontend.compile(h, backend="eager")
    with torch._C._DisableTorchDispatch():
        assert torch.equal(compiled(X), h(X))
    assert torch.equal(compiled(X), h(X))
