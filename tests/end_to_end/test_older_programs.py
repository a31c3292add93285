"""Programs written for older torch: `Variable`, `torch.Tensor(2, 3)`, scripted functions, versions, warnings on the way."""

import importlib.util
import logging
import re
import runpy
import warnings
from typing import Optional

import pytest
import torch
from tests.end_to_end.support import check, check_source
from torch import nn
from torch.autograd import Variable
from torch.jit import is_scripting as asks_for_script

from framesmith import frontend

X = torch.randn(3, 4)

KINDS = {"float": torch.FloatTensor, "the default": torch.Tensor, "long": torch.LongTensor}


def sizes(x):
    """Other sizes from call to call, 0 and 1 among them."""
    x.resize_([1, 0][x.shape[0] == 1], 4).fill_(2.0)


class Head(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def init_hidden(self, size):
        weight = next(self.parameters()).data
        return Variable(weight.new(size, 4).zero_())

    def forward(self, x):
        return self.linear(Variable(x)) + self.init_hidden(x.size(0))


def test_a_variable_is_the_tensor_without_its_history() -> None:
    check(Head(), X, change=lambda x: sizes(x), breaks=0)


def test_a_variable_shares_memory() -> None:
    def f(x):
        v = Variable(x)
        v.add_(1)
        return v is x, v.requires_grad, v * 2, isinstance(v, Variable)

    check(f, X.clone(), breaks=0)


def test_a_variable_that_requires_a_gradient_is_a_new_leaf() -> None:
    def f(x):
        w = Variable(torch.ones(4), requires_grad=True)
        return x * w, w

    check(f, X, breaks=0)


def test_tensors_are_made_from_sizes_lists_and_tensors() -> None:
    def f(x):
        mean = torch.Tensor([0.5, 0.25, 0.125, 1])
        hot = torch.Tensor(x.size(0), 2).fill_(3)
        like = torch.Tensor(x.size()).zero_()
        rows = torch.LongTensor([0, 2])
        mask = torch.ByteTensor([1, 0, 1, 0]).bool()
        return x - mean, hot, like, x[:, rows], mask, torch.Tensor(), torch.DoubleTensor((1, 2))

    check(f, X, change=lambda x: sizes(x), breaks=0)


def test_a_tensor_made_of_a_tensor_shares_memory_and_history() -> None:
    def f(x, w):
        y = torch.Tensor(x)
        y[0] = 7
        return y, torch.Tensor(w * 2)

    check(f, X.clone(), torch.randn(2, requires_grad=True), breaks=0)


@pytest.mark.parametrize("argument", ["'ab'", "2.5", "None", "[1], [2]", "2, device='cpu'", "[1, 'a']"])
def test_wrong_arguments_raise_as_in_eager(argument: str) -> None:
    check_source(f"import torch\ndef f():\n    return torch.Tensor({argument}).shape\n")


def test_types_of_tensors_are_dtypes() -> None:
    def f(x):
        y = x.type(torch.FloatTensor)
        return y is x, x.type(torch.LongTensor), x.type("torch.DoubleTensor"), x.type()

    check(f, X, breaks=0)


def test_the_class_tensor_is_the_default_type() -> None:
    def f(x):
        return x.type(torch.Tensor), (x > 0).type(torch.Tensor), x.type(dtype=torch.Tensor) is x

    check(f, X, breaks=0)
    check(f, X.double(), breaks=0)
    before = torch.get_default_dtype()
    compiled = frontend.compile(f, backend="eager")
    for dtype in (torch.float32, torch.float64):
        torch.set_default_dtype(dtype)
        try:
            (found, mask, same), (want, _, same_in_eager) = compiled(X), f(X)
        finally:
            torch.set_default_dtype(before)
        assert found.dtype is mask.dtype is want.dtype is dtype
        assert same is same_in_eager


@pytest.mark.parametrize("kind", list(KINDS))
def test_types_of_the_processor_refuse_tensors_without_data(kind: str) -> None:
    def f(x):
        return x.type(KINDS[kind])

    with pytest.raises(NotImplementedError, match="meta tensor"):
        f(torch.ones(2, dtype=torch.half, device="meta"))
    check(f, torch.ones(2, dtype=torch.half, device="meta"))


@torch.jit.script
def swish(x):
    return x * torch.sigmoid(x)


@torch.jit.script
def scaled(x, n: int = 2, bias: Optional[float] = None):  # noqa: UP045  # TorchScript reads it
    y = swish(x) * n
    if bias is not None:
        y = y + bias
    return y


def test_scripted_functions_are_inlined() -> None:
    layer = nn.Linear(4, 4)

    def f(x):
        return scaled(layer(x)) + scaled(x, 3, bias=0.5)

    check(f, X, change=lambda x: sizes(x), breaks=0, tolerance=1e-6)


def test_a_scripted_function_checks_its_arguments() -> None:
    def f(x, n):
        try:
            return scaled(x, n)
        except RuntimeError as error:
            return str(error).splitlines()[0]

    check(f, X, 2.5, breaks=1)
    check(f, X, torch.tensor(2))


@torch.jit.script
def asks(x):
    if torch.jit.is_scripting():
        return x + 1
    return x - 1


def test_a_function_that_asks_whether_it_is_scripted_runs_as_it_is() -> None:
    check(lambda x: asks(x) * 2, X, breaks=1)


def _asks_by_another_name(x):
    if asks_for_script():
        return x * 2
    return x * 3


@torch.jit.script
def asks_in_a_comprehension(x):
    found = [_asks_by_another_name(x) for _ in range(2)]
    return found[0]


def _asks_through_many(folder):
    lines = [
        "import torch",
        "def g0(x):",
        "    if torch.jit.is_scripting():",
        "        return x * 2",
        "    return x * 3",
    ]
    lines += [f"def g{i}(x):\n    return g{i - 1}(x)" for i in range(1, 130)]
    path = folder / "many_functions.py"
    path.write_text("\n".join([*lines, "@torch.jit.script", "def f(x):", "    return g129(x)"]))
    spec = importlib.util.spec_from_file_location("many_functions", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.f


def test_a_function_that_asks_by_another_name_or_through_many_others_runs_as_it_is(tmp_path) -> None:
    check(lambda x: asks_in_a_comprehension(x) + 1, X, breaks=1)
    through_many = _asks_through_many(tmp_path)
    compiled = frontend.compile(lambda x: through_many(x) + 1, backend="eager")
    assert torch.equal(compiled(X), through_many(X) + 1)


def test_annotations_for_scripts_cost_nothing() -> None:
    def f(x, n):
        found = torch.jit.annotate(list[torch.Tensor], [])
        for i in range(n):
            found += [x * i]
        assert torch.jit.isinstance(found, list[torch.Tensor])
        return torch.stack(found), torch.jit.isinstance(n, str)

    check(f, X, 2, breaks=0)


PATTERN = re.compile(r"^(\d+)\.(\d+)")


def test_the_version_of_torch_is_parsed_and_compared() -> None:
    def f(x):
        found = PATTERN.search(torch.__version__)
        major, minor = (int(one) for one in re.match(r"(\d+)\.(\d+)", torch.__version__).groups())
        newer = torch.__version__ >= "1.10", torch.__version__ < (2, 0), "3.0" < torch.__version__
        return x + major, minor, found.groups(), newer, torch.__version__.split(".")[0], torch.__version__

    check(f, X, breaks=0)


WARNING = """
import warnings, torch
def old(x, level):
    warnings.warn("old() is deprecated", {kind}, stacklevel=level)
    return x * 2
def f(x, level):
    with warnings.catch_warnings(record=True) as seen:
        pass
    y = old(x, level)
    return y + 1
def args():
    return torch.ones(2), {level}
"""


@pytest.mark.parametrize("level", [1, 2, 3])
@pytest.mark.parametrize("kind", ["DeprecationWarning", "UserWarning", "FutureWarning"])
@pytest.mark.parametrize("action", ["default", "always", "once", "ignore"])
def test_a_warning_is_no_break_and_names_the_line_it_named(action: str, kind: str, level: int) -> None:
    found = []
    for compiled in (False, True):
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter(action)
            if compiled:
                check_source(WARNING.format(kind=kind, level=level), breaks=0, calls=1)
        if compiled:
            found = [
                (one.category, str(one.message), one.lineno) for one in seen if "old()" in str(one.message)
            ]
    assert found == [] if action == "ignore" else len(found) in (1, 2)
    assert len(set(found)) <= 1


def test_a_warning_that_is_an_error_is_raised_where_it_was_issued() -> None:
    def f(x):
        try:
            warnings.warn("strict", UserWarning, stacklevel=2)
        except UserWarning as error:
            return x - 1, str(error)
        return x + 1, ""

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check(f, X, breaks=1)


def test_an_entry_sees_that_the_filters_became_strict() -> None:
    from framesmith import frontend

    def f(x):
        warnings.warn("strict", UserWarning, stacklevel=1)
        return x + 1

    compiled = frontend.compile(f, backend="eager")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        compiled(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning, match="strict"):
            compiled(X)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        compiled(X)
    assert [str(one.message) for one in seen] == ["strict"]


def test_warnings_ignored_in_a_block_are_no_break() -> None:
    def f(x):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.filterwarnings("ignore", message=".*old.*")
            warnings.warn("this is old", DeprecationWarning)
            y = x + 1
        return y, len(warnings.filters)

    check(f, X)


LOGGER = logging.getLogger("tests.older_programs")


def test_a_logger_at_a_disabled_level_is_no_break() -> None:
    def f(x):
        LOGGER.debug("shape %s", x.shape)
        if LOGGER.isEnabledFor(logging.DEBUG):
            print("debug")
        LOGGER.log(5, "never")
        logging.getLogger("tests.older_programs").info("hidden")
        return x * 2

    LOGGER.setLevel(logging.WARNING)
    check(f, X, breaks=0)


def test_a_logger_that_is_enabled_later_logs() -> None:
    from framesmith import frontend

    records = []

    class Keep(logging.Handler):
        def emit(self, record):
            records.append((record.getMessage(), record.funcName))

    def f(x):
        LOGGER.info("rows %d", x.shape[0])
        return x * 2

    handler = Keep()
    LOGGER.addHandler(handler)
    compiled = frontend.compile(f, backend="eager")
    try:
        for level in (logging.WARNING, logging.INFO, logging.WARNING, logging.INFO):
            LOGGER.setLevel(level)
            compiled(X)
    finally:
        LOGGER.removeHandler(handler)
    assert records == [("rows 3", "f")] * 2


class Pretrained(nn.Module):
    """Writes its weights through `.data` after `nn.Embedding` has filled a row of them under `no_grad`."""

    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(5, 4, padding_idx=0)
        self.words.weight.data.normal_(0.0, 0.02)
        self.words.weight.data[self.words.padding_idx].zero_()

    def forward(self, indices):
        return self.words(indices)


def test_weights_are_written_again_behind_a_row_of_them() -> None:
    check(lambda indices: Pretrained()(indices), torch.tensor([[0, 1, 2]]), breaks=0)


def test_the_version_is_parsed_by_packaging() -> None:
    pytest.importorskip("packaging.version")
    check_source(
        """
import torch
from packaging.version import parse
def f(x):
    return (x if parse(torch.__version__) < parse("1.10") else x * 2), set("2.") <= set(torch.__version__)
def args(): return (torch.ones(3),)
""",
        breaks=0,
    )


def test_a_function_in_c_is_wrapped() -> None:
    check_source(
        """
import functools, torch
def plus(fn):
    @functools.wraps(fn)
    def inner(*args): return fn(*args) + 1
    return inner
def f(x):
    g = plus(torch.sin)
    return g(x), g.__name__, g.__wrapped__ is torch.sin, hasattr(len, "foo"), getattr(torch.sin, "__dict__", None)
def args(): return (torch.ones(3),)
""",
        breaks=0,
    )


def test_a_size_is_checked() -> None:
    def f(lengths):
        n = int(lengths.max())
        torch._check_is_size(n)
        return torch.arange(n)[None, :] < lengths[:, None]

    check(f, torch.tensor([3, 5]), options={"fullgraph": True}, breaks=0)


DATA = {
    "clipped": "w.data = w.data.clamp(-0.5, 0.5)",
    "with a gradient": "(x * w).sum().backward(); w.data = w.data - 0.1 * w.grad.data",
    "behind a saved value": "y = x * w * w; w.data = w.data * 2; x = x + y",
    "then changed": "v = w.data * 2; w.data = v; v.add_(1); w.data.mul_(0.5); x = x + v",
    "beside an old view": "w.data = w.data * 2; view.add_(1); x = x + view",
    "twice": "a = w.data; w.data = a + 1; w.data = w.data + a",
    "in a block": "with torch.no_grad(): w.data = w.data + 1",
}
LEFT = {
    "of another type": "w.data = w.data.double(); w.data = w.data.float()",
    "of another size": "w.data = torch.cat([w.data, w.data]); x = w.shape[0] * x; w.data = w.data[:3].clone()",
    "an existing tensor": "w.data = other; w.data.add_(1); x = x + other",
    "with a history": "w.data = w * 2",
    "a view": "w.data = (x * 2)[0:3]",
}


@pytest.mark.parametrize("name", [*DATA, *LEFT])
def test_a_parameter_gets_other_data(name) -> None:
    lines = {**DATA, **LEFT}[name]
    report = check_source(
        f"""
import torch
w = torch.nn.Parameter(torch.tensor([1.0, -2.0, 3.0]))
view, other = w.data[:], torch.ones(3)
def f(x):
    {lines}
    return x * w, view * 1
def args(): return (torch.ones(3),)
"""
    )
    assert name in LEFT or not report.breaks


SCRIPTED_WITH_ATTRIBUTES = {
    "an attribute with the name of a global": "device = 'cpu'\n@torch.jit.script\ndef g(x): return torch.zeros(2, device=x.device) + x\n",
    "a method with the name of a global": "size = 5\n@torch.jit.script\ndef g(x): return x * x.size(0)\n",
    "a type of typing": "from typing import List\n@torch.jit.script\ndef g(x):\n    n = torch.jit.annotate(List[int], [])\n    n.append(2)\n    return x * n[0]\n",
}


@pytest.mark.parametrize("name", SCRIPTED_WITH_ATTRIBUTES)
def test_a_scripted_function_is_searched_for_what_it_reads(name: str, tmp_path) -> None:
    (tmp_path / "scripted.py").write_text(f"import torch\n{SCRIPTED_WITH_ATTRIBUTES[name]}", encoding="utf-8")
    scripted = runpy.run_path(str(tmp_path / "scripted.py"))["g"]
    compiled = frontend.compile(lambda x: scripted(x) + 1, backend="eager", fullgraph=True)
    assert torch.equal(compiled(torch.ones(2)), scripted(torch.ones(2)) + 1)


@pytest.mark.parametrize("action", ["ignore", "always", "default"])
def test_autocast_for_a_device_that_is_not_there(action) -> None:
    layer, x = torch.nn.Linear(3, 3), torch.rand(2, 3)

    def program(x):
        with torch.cuda.amp.autocast():
            y = layer(x)
        with torch.autocast("cuda", dtype=torch.bfloat16):
            z = layer(x)
        scaler = torch.amp.GradScaler("cuda")
        return y, z, scaler.is_enabled()

    seen = []
    compiled = frontend.compile(program, backend="eager", fullgraph=True)
    for each in (program, compiled, compiled):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter(action)
            seen.append((repr(each(x)), [(str(one.message), one.lineno) for one in caught]))
    assert seen[0] == seen[1] == seen[2]
