"""A `torch.Generator` of each call: one entry serves all, and draws from the one that it is given."""

import gc
import weakref

import pytest
import torch
from tests.end_to_end.support import check_source

from framesmith import frontend
from framesmith.frontend import api

HEAD = """
import torch
def made(*seeds):
    return [torch.Generator().manual_seed(seed) for seed in seeds]
"""
PROGRAMS = {
    "an argument": "return torch.rand(4, generator=a) + x",
    "drawn into memory": "x.uniform_(generator=a)\n    return x.normal_(generator=b) + x",
    "two": "return torch.rand(2, generator=a) - torch.randn(2, generator=b)",
    "sampled": "return torch.multinomial(x, 1, generator=a), torch.randint(9, (2,), generator=b)",
    "told apart": "return x * (2 if a is b else 3) + torch.rand(1, generator=b)",
    "a default": "return torch.rand(4, generator=b if a is None else a) + x",
    "keys": "d = {a: x, b: x + 1}\n    return len(d), d[a], torch.rand(2, generator=b)",
}


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("is_one", [False, True], ids=["two objects", "one object"])
def test_each_call_draws_from_its_own(name, is_one):
    source = f"{HEAD}def f(x, a, b):\n    {PROGRAMS[name]}\n"
    check_source(
        f"{source}def args():\n    a, b = made(1, 2)\n    return (torch.ones(4), a, {'a' if is_one else 'b'})\n"
    )
    worlds = []
    for compiled in (False, True):
        world: dict[str, object] = {}
        exec(source, world)
        f = frontend.compile(world["f"], backend="eager") if compiled else world["f"]
        found = []
        for call in range(10):
            a, b = world["made"](call, call + 7)
            shared = is_one if call < 2 else call in (3, 8)
            found.append(f(torch.ones(4), a, a if shared else b))
            found += [a.get_state(), b.get_state()]
        worlds.append(found)
        if compiled and name != "keys":
            assert len(api.session_of(f).history.recompiles) <= 2
    torch.testing.assert_close(worlds[1], worlds[0], rtol=0, atol=0)


def test_nothing_keeps_it_alive():
    generator = torch.Generator()
    gone = weakref.ref(generator)
    f = frontend.compile(lambda x, g: x + torch.rand(2, generator=g), backend="eager")
    f(torch.ones(2), generator)
    del generator
    gc.collect()
    assert gone() is None
