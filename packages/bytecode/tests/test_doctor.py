"""`python -m framesmith.bytecode doctor` finds what an interpreter has that the package does not know, and nothing else."""

import subprocess
import sys
from dataclasses import replace

import pytest

from framesmith.bytecode import doctor, interpreter_facts
from framesmith.bytecode.interpreter_facts import gather, known_versions, load
from framesmith.bytecode.opcodes import SUPPORTED


def test_this_python_is_as_recorded():
    found = gather()
    assert found.version in known_versions()
    assert list(doctor.differences(load(found.version), found)) == []


def test_every_supported_version_has_a_record():
    assert known_versions() == [".".join(map(str, version)) for version in SUPPORTED]


def changed(facts, name, **members):
    return replace(facts, opcodes=facts.opcodes | {name: facts.opcodes[name] | members})


def without(facts, name):
    return replace(facts, opcodes={key: row for key, row in facts.opcodes.items() if key != name})


FOUND = gather()
FAKED = {
    "opcode SWAP is gone": without(FOUND, "SWAP"),
    "opcode SWAP: inline-cache entries: 0 before, 3 now": changed(FOUND, "SWAP", caches=3),
    "opcode SWAP: argument: number before, name now": changed(FOUND, "SWAP", argument="name"),
    "opcode SWAP: stack effects: [0, 0, 0, 0, 0, 0, 0, 0] before, [1, 1] now": changed(
        FOUND, "SWAP", effects=[1, 1]
    ),
    "new intrinsic of one argument (CALL_INTRINSIC_1): SING, number 0": replace(
        FOUND, intrinsics_of_one=["SING", *FOUND.intrinsics_of_one]
    ),
    "new intrinsic of two arguments (CALL_INTRINSIC_2): SING, number 0": replace(
        FOUND, intrinsics_of_two=["SING"]
    ),
    "new special method (LOAD_SPECIAL): __sing__, number 0": replace(FOUND, special_methods=["__sing__"]),
    "new common constant (LOAD_COMMON_CONSTANT): 7, number 0": replace(FOUND, common_constants=["7"]),
    "opcode SING has no row in operation_tables": replace(
        FOUND, without_meaning=[*FOUND.without_meaning, "SING"]
    ),
    "opcode SWAP: its operations move the stack otherwise than the verifier says (operation_effects)": replace(
        FOUND, other_effects=[*FOUND.other_effects, "SWAP"]
    ),
}


@pytest.mark.parametrize("line", FAKED)
def test_a_change_is_named(line):
    assert line in list(doctor.differences(FOUND, FAKED[line]))


def test_a_new_opcode_comes_with_what_is_known_of_it():
    lines = list(doctor.differences(without(FOUND, "SWAP"), FOUND))
    assert lines == [
        "new opcode SWAP: argument number, inline-cache entries 0, stack effects [0, 0, 0, 0, 0, 0, 0, 0]"
    ]


def test_an_unknown_python_is_compared_with_the_newest(monkeypatch, capsys):
    unknown = replace(changed(load(known_versions()[-1]), "SWAP", caches=3), version="3.99")
    monkeypatch.setattr(doctor, "gather", lambda: unknown)
    assert doctor.main(["doctor"]) == 1
    text = capsys.readouterr().out
    assert text.startswith(
        f"Python 3.99 against the record of {known_versions()[-1]}: 1 differences\n- opcode SWAP"
    )


def test_an_instruction_without_a_row_is_found(monkeypatch):
    monkeypatch.delitem(interpreter_facts.PASSED, "SWAP")
    assert "SWAP" in gather().without_meaning


def test_operations_that_move_the_stack_otherwise_are_found(monkeypatch):
    monkeypatch.setitem(interpreter_facts.PASSED, "SWAP", interpreter_facts.PASSED["POP_TOP"])
    assert "SWAP" in gather().other_effects


def test_a_record_reads_back(monkeypatch, tmp_path):
    monkeypatch.setattr(interpreter_facts, "RECORDS", tmp_path)
    interpreter_facts.store(FOUND)
    assert load(FOUND.version) == FOUND


@pytest.mark.parametrize("words", [(), ("cure",), ("doctor", "--against", "2.7")])
def test_wrong_usage(words, capsys):
    assert doctor.main(words) == 2
    assert capsys.readouterr().out.startswith("usage: python -m framesmith.bytecode doctor")


def test_the_command():
    run = [sys.executable, "-m", "framesmith.bytecode", "doctor"]
    done = subprocess.run(run, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.split(":")[1]) == (0, " no differences\n"), done
