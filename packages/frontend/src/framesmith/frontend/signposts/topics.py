"""Questions that are no name in a table: the words by which they are asked, and the code that answers, in its order.

A step says what happens and names a definition of framesmith (`Policy.learn`) or a page in `docs`. A test looks that
each of them is there, once.
"""

from dataclasses import dataclass
from typing import Final, final


@final
@dataclass(frozen=True, slots=True)
class Topic:
    """One question: `phrases` are ways to ask it, words in any order."""

    title: str
    phrases: tuple[str, ...]
    steps: tuple[tuple[str, str], ...]


TOPICS: Final = (
    Topic(
        "guards on the shape of a tensor",
        ("tensor shape guard", "size guard", "shape guard", "tensor size", "dynamic shape"),
        (
            ("made when a tensor is read", "wrap_tensor"),
            ("the claim: captured, checked, explained", "TensorIs"),
            ("checked for all tensors of an entry by one call", "program._add_tensors"),
            ("symbolic sizes: decisions become relations", "ShapeFacts"),
            ("the claim on symbolic sizes", "ShapeExpression"),
        ),
    ),
    Topic(
        "a graph break on print",
        ("print break", "break on print", "print", "logging", "graph break print"),
        (
            ("the row of `print` breaks the graph", "call_print"),
            ("its kind: title, reason, remedy", "PRINT_OR_LOG"),
            ("the page for users", "docs/breaks/print-or-log.md"),
        ),
    ),
    Topic(
        "a graph break, from the raise to the continuation",
        ("graph break", "break", "resume", "continuation"),
        (
            ("the exception that every row may raise", "GraphBreak"),
            ("the catalogue of kinds", "docs/breaks/README.md"),
            ("the trace ends; the entry is written phase by phase", "EntryBuilder"),
            ("how an entry ends, as data", "write_ending"),
            ("where a continuation begins", "ResumePoint"),
            ("the frames put together again for the next trace", "rebuild_frames"),
            ("the same, to run natively", "NativeContinuation"),
        ),
    ),
    Topic(
        "a special method of a user's class",
        ("special method", "dunder method", "operator overloading", "metaclass method"),
        (
            ("found on the class, guarded", "find_special_method"),
            ("the slot that asks it: calls, iteration, truth, hash", "object_slots.iterate"),
            ("the slot that asks it: length, membership, items", "container_slots.contains"),
            ("the slot that asks it: operators and comparisons", "operator_slots.binary"),
            ("an instance names them as its slots", "InstanceTracker"),
            ("a class too, for its metaclass", "ClassTracker"),
            ("how one is added", "docs/adding/special-method.md"),
        ),
    ),
    Topic(
        "the recompile limit",
        ("recompile limit", "cache size limit", "too many entries", "recompile_limit"),
        (
            ("the option, `recompile_limit`", "Config"),
            ("asked when no entry fits", "CompiledUnit._find_or_make_entry"),
            ("the warning, with what varies and its line", "limit_text"),
        ),
    ),
    Topic(
        "why a call is compiled again",
        ("recompile", "recompiles", "recompilation", "cache miss", "guard failure", "why recompiled"),
        (
            ("the slow path", "CompiledUnit.handle_miss"),
            ("which guard fails, in the user's words", "first_failure"),
            ("the reasons are noted and logged", "record_recompiles"),
            ("names of the user in these texts", "UserNames"),
            ("what is learnt from it", "Policy.learn"),
        ),
    ),
    Topic(
        "nn.Module and its hooks",
        ("nn.module hooks", "module hooks", "hooks", "nn.module", "module", "forward hook"),
        (
            (
                "a module without hooks: `forward` is called directly; with hooks `_call_impl` is inlined",
                "ModuleShortcuts",
            ),
            ("the guard that there are no hooks", "NoModuleHooks"),
            ("compiled in place of its call", "compile_module"),
        ),
    ),
    Topic(
        "super()",
        ("super()", "super", "zero argument super"),
        (
            ("the call `super(...)`", "super_row"),
            ("attributes of the object that it gives", "SuperTracker"),
            ("without arguments: taken from the frame", "super_arguments"),
            ("the same in the bytecode of a continuation", "name_arguments"),
            ("one instruction from Python 3.12 on", "attributes.load_super_attribute"),
        ),
    ),
    Topic(
        "automatic dynamic shapes",
        (
            "automatic dynamic",
            "dynamic shapes",
            "symbolic size",
            "mark_dynamic",
            "automatic_dynamic_shapes",
            "dynamic",
        ),
        (
            ("which sizes are symbolic in a trace", "Policy.dynamic_dims"),
            ("which numbers are", "Policy.is_dynamic_number"),
            ("what is learnt when no entry fits", "Policy.learn"),
            ("the change that a failed guard reports", "TensorChange"),
            ("`mark_dynamic` and its promise", "dynamic_marks.mark_dynamic"),
            ("symbols for sizes", "ShapeWorld"),
        ),
    ),
    Topic(
        "the step of an optimizer",
        ("optimizer step", "optimizer", "torch.optim", "torch.optim.adam.step", "adam", "sgd"),
        (
            ("how it is captured", "docs/optimizer-step.md"),
            ("its Python code is inlined like any function", "FunctionTracker"),
            ("parameters grouped by device and type", "group_tensors"),
            ("`addcdiv_`, `addcmul_` ... whose factor is a tensor", "recipes._make_fused_row"),
            ("state that the first step makes: two misses in a loop", "Policy.learn"),
        ),
    ),
    Topic(
        "a new Python version",
        ("new python version", "python version", "python 3.14", "bytecode version"),
        (
            ("the walk through all files", "docs/adding/python-version.md"),
            ("opcodes of the Python that runs", "opcodes.VERSION"),
            ("instructions read as operations", "operation_tables.RULES"),
        ),
    ),
    Topic(
        "a new builtin type",
        ("new builtin type", "builtin type", "new type", "add a type", "tracker"),
        (
            ("the walk through all files", "docs/adding/builtin-type.md"),
            ("what every tracker is", "base.Tracker"),
            ("how an existing value finds its tracker", "Wrapper"),
        ),
    ),
    Topic(
        "a torch function with a recipe",
        ("torch function recipe", "recipe", "new torch function", "torch recipe"),
        (
            ("the walk through all files", "docs/adding/torch-recipe.md"),
            ("the rows", "recipes._make_fused_row"),
            ("the general rule: one node", "graph_call"),
        ),
    ),
    Topic(
        "a new callable",
        ("new callable", "new function", "row", "handler", "add a callable"),
        (("the walk through all files", "docs/adding/callable.md"), ("what a row is", "table.Row")),
    ),
    Topic(
        "a new kind of graph break",
        ("new break kind", "break kind", "kind of graph break"),
        (("the walk through all files", "docs/adding/break-kind.md"), ("the catalogue", "BreakKind")),
    ),
    Topic(
        "a new claim of a guard",
        ("new claim", "new guard", "claim"),
        (("the walk through all files", "docs/adding/claim.md"), ("what a claim is", "base.Claim")),
    ),
    Topic(
        "context managers",
        ("context manager", "with block", "with statement", "new context manager"),
        (
            ("the walk through all files", "docs/adding/context-manager.md"),
            ("entering one", "before_with"),
        ),
    ),
    Topic(
        "changes of the user's objects",
        ("side effect", "side effects", "mutation", "replay", "mutation log"),
        (
            ("the log", "MutationLog"),
            ("written after the graph", "write_changes"),
            ("each tracker replays its changes", "Tracker.replay"),
        ),
    ),
    Topic(
        "how a call finds its entry",
        ("dispatch", "dispatcher", "cache lookup", "guard check", "entry"),
        (
            ("the function that the user calls", "dispatcher.Dispatcher"),
            ("the guards of an entry as one expression", "compile_guards"),
            ("what belongs to one compiled function", "session.Session"),
        ),
    ),
    Topic(
        "backends",
        ("backend", "inductor", "register_backend", "aot_eager"),
        (
            ("found by name, registered", "register_backend"),
            ("called with the graph", "compile_with"),
            ("what `compile` checks", "checked_backend"),
        ),
    ),
    Topic(
        "inlining of a Python function",
        ("inlining", "inline", "python function call", "nested call"),
        (
            ("the tracker of a function", "FunctionTracker"),
            ("a call leads to a frame", "PendingFrame"),
            ("the frames that are executed", "machine.Machine"),
            ("executed operation by operation", "Interpreter"),
        ),
    ),
)
