"""Values, flags and identity of what numpy gives where `torch._numpy` gives others."""

import numpy
import pytest
import torch

from framesmith import frontend

FLOATS = numpy.array([-2.5, -1.5, -0.0, 0.0, 0.5, 1.5, numpy.nan, numpy.inf, -27.0])
WHOLE = numpy.array([-13, -1, 0, 2, 25])
COMPLEX = numpy.array([1 + 2j, -1 + 0j, 0j])
PROGRAMS = {
    "fix": lambda a: numpy.fix(a),
    "cbrt": lambda a: numpy.cbrt(a),
    "sign": lambda a: numpy.sign(a),
    "heaviside": lambda a: numpy.heaviside(a, 0.5),
    "angle": lambda a: numpy.angle(a),
    "tens": lambda a: (numpy.round(a, -1), a.round(-1), numpy.around(a, decimals=-1)),
    "power": lambda a: (a**0, numpy.power(a, 0)),
    "transform": lambda a: numpy.fft.ifft(numpy.nan_to_num(a.copy(), posinf=1.0)) + 1,
}
READ_ONLY = {
    "broadcast": lambda a: numpy.broadcast_to(a, (2, 3)),
    "row": lambda a: numpy.broadcast_to(a, (2, 3))[0],
    "diagonal": lambda a: numpy.diagonal(numpy.outer(a, a)),
    "method": lambda a: numpy.outer(a, a).diagonal(),
    "imag": lambda a: a.imag,
    "writable": lambda a: (numpy.broadcast_to(a, (2, 3)) + 1, a.real, numpy.broadcast_to(a, (2, 3)).copy()),
}


def observe(function, *args):
    try:
        return function(*args), None
    except Exception as error:
        return (), (type(error), str(error))


def arrays(value):
    return value if isinstance(value, tuple) else (value,)


@pytest.mark.parametrize("program", list(PROGRAMS.values()), ids=list(PROGRAMS))
@pytest.mark.parametrize("values", [FLOATS, WHOLE, COMPLEX], ids=["floats", "whole", "complex"])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_values(program, values):
    expected, error = observe(program, values.copy())
    found = observe(frontend.compile(program, backend="eager"), values.copy())
    assert found[1] == error
    for one, other in zip(arrays(expected), arrays(found[0]), strict=True):
        numpy.testing.assert_allclose(one, other)


@pytest.mark.parametrize("program", list(READ_ONLY.values()), ids=list(READ_ONLY))
def test_what_numpy_makes_read_only(program):
    values = numpy.arange(3.0)
    compiled = frontend.compile(program, backend="eager", fullgraph=True)
    for one, other in zip(arrays(program(values)), arrays(compiled(values)), strict=True):
        assert one.flags.writeable == other.flags.writeable
        numpy.testing.assert_array_equal(one, other)


def test_a_read_only_array_as_a_tensor_warns_as_ever():
    values = numpy.arange(3.0)

    def program(a):
        return torch.from_numpy(numpy.broadcast_to(a, (2, 3))) + 1

    assert torch.equal(frontend.compile(program, backend="eager")(values), program(values))
    with pytest.raises(frontend.FullGraphError, match="read-only"):
        frontend.compile(program, backend="eager", fullgraph=True)(values)


@pytest.mark.parametrize(
    "program", [lambda a: numpy.diag_indices(3), lambda a: numpy.broadcast_arrays(a, a)], ids=["new", "given"]
)
def test_arrays_that_are_there_twice(program):
    one, other = frontend.compile(program, backend="eager", fullgraph=True)(numpy.arange(3.0))
    assert one is other


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_numbers_of_arrays_with_dimensions():
    def program(a):
        return float(a[:1])

    values = numpy.array([2.5, 3.0])
    assert observe(frontend.compile(program, backend="eager"), values) == observe(program, values)


def rooted(a, mask):
    out = numpy.full_like(a, -1.0)
    numpy.sqrt(a, out=out, where=mask)
    return out, numpy.sqrt(a, where=True)


def shifted(a, mask):
    a = a.copy()
    a[1:] = a[:-1]
    b = a.reshape(2, 2)
    b[:] = b.T
    numpy.copyto(b[0], b[1])
    numpy.copyto(a[:3], a[1:])
    a[:2] = a[0]
    return a, b


def in_columns(a, mask):
    return (
        numpy.ones((2, 3), order="F"),
        numpy.zeros((4, 4)).T,
        numpy.array([[1.0, 2.0], [3.0, 4.0]], order="F") * 2,
    )


@pytest.mark.parametrize("function", [rooted, shifted, in_columns])
def test_memory_and_masks(function):
    compiled = frontend.compile(function, backend="eager")
    for values in ([4.0, 9.0, 16.0, 25.0], [1.0, 0.0, 4.0, 2.0]):
        mask = numpy.array([True, False, True, False])
        expected = function(numpy.array(values), mask)
        for one, other in zip(expected, compiled(numpy.array(values), mask), strict=True):
            numpy.testing.assert_array_equal(one, other)
            assert one.strides == other.strides and one.flags.f_contiguous == other.flags.f_contiguous
