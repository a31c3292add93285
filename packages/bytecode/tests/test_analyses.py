"""Blocks, dominance, liveness of native instructions, and the clean-up passes."""

import types

import pytest

from framesmith.bytecode import cleanup
from framesmith.bytecode.assemble import assemble
from framesmith.bytecode.blocks import blocks
from framesmith.bytecode.disassemble import disassemble
from framesmith.bytecode.errors import AssembleError
from framesmith.bytecode.instruction import Instruction
from framesmith.bytecode.liveness import live_before
from framesmith.bytecode.verify import verify


def sample(x, y):
    if x:
        y = 1
    else:
        x = 2
    try:
        return x + y
    finally:
        print(y)


def test_blocks_tile_the_code():
    found = blocks(disassemble(sample.__code__))
    assert found[0].start == 0
    assert all(one.end == other.start for one, other in zip(found, found[1:]))


def test_handlers_are_edges():
    found = blocks(disassemble(sample.__code__))
    assert any(one.handler is not None for one in found)


def test_liveness_knows_what_a_branch_overwrites():
    parts = disassemble(sample.__code__)
    live = live_before(parts)
    assert live[0] == {"x", "y"}
    stores = [i for i, one in enumerate(parts.instructions) if one.name == "STORE_FAST"]
    assert live[stores[0]] == {"x"} and live[stores[1]] == {"y"}


def test_dead_code_goes():
    parts = disassemble(sample.__code__)
    before = len(parts.instructions)
    parts.instructions.extend([Instruction("LOAD_CONST", 1), Instruction("RETURN_VALUE")])
    cleanup.remove_unreachable(parts)
    assert len(parts.instructions) == before
    assert verify(assemble(parts)) == []


def test_wide_jumps_and_many_constants():
    body = "def f(x):\n    while x:\n        x -= 1\n" + "".join(
        f"        y = {i}.5, x, 'c{i}', g{i} if x > 1000 else x\n" for i in range(400)
    )
    scope = {}
    exec(body + "    return y\n", scope)
    parts = disassemble(scope["f"].__code__)
    for one in parts.instructions:
        one.hint, one.width = -1, 0
    made = assemble(parts)
    assert made.co_code == scope["f"].__code__.co_code
    assert types.FunctionType(made, scope)(2)[:3] == (399.5, 0, "c399")


def test_jumps_turn_to_where_their_target_lies():
    def loop(n):
        while n:
            n -= 1
        return n

    parts = disassemble(loop.__code__)
    back = next(one for one in parts.instructions if "JUMP_BACKWARD" in one.name)
    back.name = back.name.replace("BACKWARD", "FORWARD")
    assert types.FunctionType(assemble(parts), {})(3) == 0


def test_overlapping_regions_are_refused():
    parts = disassemble(sample.__code__)
    region = parts.regions[0]
    parts.regions.append(type(region)(region.start, region.end, region.target, 0))
    with pytest.raises(AssembleError, match="exception regions overlap"):
        assemble(parts)
