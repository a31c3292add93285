"""Blocks, dominance, liveness of native instructions, and the clean-up passes."""

import types

import pytest

from framesmith.bytecode import cleanup
from framesmith.bytecode.assemble import assemble
from framesmith.bytecode.blocks import blocks, dominators
from framesmith.bytecode.disassemble import disassemble
from framesmith.bytecode.errors import AssembleError
from framesmith.bytecode.instruction import NOWHERE, Instruction, Position
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


def test_the_entry_dominates_everything_and_no_branch_the_join():
    found = blocks(disassemble(sample.__code__))
    over = dominators(found)
    assert all(one is None or 0 in one for one in over)
    branches = [found[0].falls, found[0].jumps]
    (join,) = set(found[branches[0]].successors) & set(found[branches[1]].successors)
    assert not set(branches) & over[join]


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


def test_nops_go_and_jumps_follow():
    parts = disassemble(sample.__code__)
    target = next(one.target for one in parts.instructions if one.target is not None)
    parts.instructions.insert(parts.instructions.index(target), Instruction("NOP"))
    nop = parts.instructions[parts.instructions.index(target) - 1]
    for one in parts.instructions:
        if one.target is target:
            one.target = nop
    cleanup.remove_nops(parts)
    assert nop not in parts.instructions
    assert assemble(parts).co_code == strip_nops(sample.__code__)


def strip_nops(code):
    parts = disassemble(code)
    cleanup.remove_nops(parts)
    return assemble(parts).co_code


def test_lines_spread_to_what_has_none():
    parts = disassemble(sample.__code__)
    parts.instructions[1].position = Position(7, 7, 0, 1)
    parts.instructions[2].position = NOWHERE
    cleanup.propagate_lines(parts)
    assert parts.instructions[2].position.line == 7


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
