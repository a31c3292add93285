"""Methods of numpy's scalars that write a file do so in each call."""

import numpy
import pytest

from framesmith import frontend


@pytest.mark.parametrize("method", ["tofile", "dump"])
@pytest.mark.parametrize("dtype", ["float64", "int32"])
def test_a_scalar_is_written_in_each_call(method, dtype, tmp_path):
    scalar = getattr(numpy, dtype)(3)
    wanted, path = tmp_path / "wanted", tmp_path / "file"
    getattr(scalar, method)(str(wanted))

    def run(number):
        getattr(scalar, method)(str(path))
        return number + scalar

    compiled = frontend.compile(run, backend="eager")
    for number in (1, 1, 2):
        assert compiled(number) == number + 3
        assert path.read_bytes() == wanted.read_bytes()
        path.unlink()
