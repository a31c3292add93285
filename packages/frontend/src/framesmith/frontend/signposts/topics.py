"""Questions that are no name in a table: the words by which they are asked, and the code that answers, in its order.

A step says what happens and names a definition of framesmith (`Policy.learn`) or a page in `docs`. A test looks that
each of them is there, once. What a program may do has its questions in `program_topics`.
"""

from typing import Final

from framesmith.frontend.signposts.graph_topics import GRAPH_TOPICS
from framesmith.frontend.signposts.house_topics import HOUSE_TOPICS
from framesmith.frontend.signposts.program_topics import PROGRAM_TOPICS
from framesmith.frontend.signposts.topic import Topic

TOPICS: Final = (
    Topic(
        "guards on the shape of a tensor",
        (
            "tensor shape guard",
            "size guard",
            "shape guard",
            "tensor size",
            "tensor shape check",
            "tensor guard",
        ),
        (
            ("made when a tensor is read", "wrap_tensor"),
            ("the claim: captured, checked, explained", "TensorIs"),
            ("checked for all tensors of an entry by one call", "program._add_tensors"),
            ("symbolic sizes: decisions become relations", "ShapeRelations"),
            ("the claim on symbolic sizes", "ShapeExpression"),
        ),
    ),
    Topic(
        "a tensor argument, through all layers",
        ("tensor argument", "tensor input", "walk", "how a call travels"),
        (
            ("file by file, from the dispatcher to the guard of the next call", "docs/walks.md"),
            ("the guard and the placeholder of a tensor are made", "wrap_tensor"),
            ("the layers, drawn", "docs/architecture.md"),
        ),
    ),
    Topic(
        "a graph break on print",
        ("break on print", "print"),
        (
            ("the row of `print` breaks the graph", "call_print"),
            ("its kind: title, reason, remedy", "PRINT_OR_LOG"),
            ("the page for users", "docs/breaks/print-or-log.md"),
        ),
    ),
    Topic(
        "a graph break, from the raise to the continuation",
        ("graph break", "resume", "continuation"),
        (
            ("the exception that every row may raise", "GraphBreak"),
            ("the catalogue of kinds", "docs/breaks/README.md"),
            ("file by file, in a loop of a called function", "docs/walks.md"),
            ("the trace ends; the entry is written phase by phase", "EntryBuilder"),
            ("how an entry ends, as data", "write_ending"),
            ("where a continuation begins", "ResumePoint"),
            ("the frames put together again for the next trace", "rebuild_frames"),
            ("the same, to run natively", "NativeContinuation"),
        ),
    ),
    Topic(
        "what is reconstructed at a graph break",
        (
            "reconstructed break",
            "reconstruct break",
            "what is reconstructed at a break",
            "values handed over at a break",
            "live values break",
            "reconstruct",
        ),
        (
            ("step by step: rows 4 to 8 of the second walk", "docs/walks.md"),
            ("what follows the graph: changes of objects, the operation, the tail call", "write_ending"),
            ("the changes of objects that outlive the frame, in order", "emit.write_changes"),
            ("the operands of the operation that runs natively", "NativeOperation.write"),
            (
                "where the frames go on, and an expression for each value that they need there",
                "Resumption._write_state",
            ),
            ("those values: stack, locals and cells of each frame, in one order", "frame_state.state_of"),
            (
                "the expression of one value: a variable, a load, an output of the graph, or new",
                "EntryWriter.value",
            ),
            ("how a value of a kind is made anew", "Tracker.reconstruct"),
            ("the frames put together again for the next trace", "rebuild_frames"),
            ("the same, to run natively", "NativeContinuation"),
        ),
    ),
    Topic(
        "a graph break inside of `try` or `with`",
        (
            "break inside try",
            "break try",
            "break inside with",
            "break context manager",
            "break handler",
            "with block break",
            "try block break",
        ),
        (
            ("where the continuation begins, with what is open there", "ResumePoint"),
            ("a frame as data: locals, stack, and the operation at which it goes on", "FrameLayout"),
            ("the handlers of an operation, read from the exception table", "meaning.Reading"),
            ("the code of a continuation, with the handlers around it", "resume.resume_function"),
            ("frames left when the continuation cannot be compiled", "find_interruption"),
        ),
    ),
    Topic(
        "what a graph break says, and its page",
        ("break text", "break message", "break page", "text page break", "break reason", "break explanation"),
        (
            ("title, explanation, remedy and id of a kind", "BreakKind"),
            ("all kinds", "break_kinds.PRINT_OR_LOG"),
            ("the exception: these texts, and `detail`, which names the value at hand", "GraphBreak"),
            ("one that has happened, with the lines of the user", "BreakRecord"),
            (
                "the page of each kind is made from its texts and its example in `examples/breaks`",
                "docs/adding/break-kind.md",
            ),
        ),
    ),
    Topic(
        "guards on containers",
        (
            "guard dict key",
            "guard length",
            "container guard",
            "dict guard",
            "list guard",
        ),
        (
            ("the claim on a length", "LengthIs"),
            ("the `maxlen` of a deque", "wrap_deque"),
            ("the claim on the keys of a dict, in order", "KeysAre"),
            ("the claim that one key is there, or is not", "HasKey"),
            ("the source of an item", "containers.Item"),
            ("asked when one key of a dict is read", "DictTracker.find"),
            ("asked when a dict is read whole", "DictTracker.read_all"),
            ("asked when a list is read", "ListTracker.items"),
        ),
    ),
    Topic(
        "operators on tensors",
        (
            "tensor operator",
            "operator",
            "tensor add",
            "binary operator",
            "tensor comparison",
            "adding two tensor",
            "two tensor",
            "multiply tensor",
            "subtract tensor",
            "divide tensor",
        ),
        (
            ("the operation of the bytecode", "operators.binary_operator"),
            ("which operand is asked first", "binary.binary"),
            ("a tensor answers with a node", "TensorTracker.binary"),
            ("comparisons", "TensorTracker.compare"),
            ("the node and its fake result", "results.record_node"),
        ),
    ),
    Topic(
        "a number that becomes symbolic",
        (
            "float symbolic",
            "symbolic int",
            "symbolic number",
            "int argument",
        ),
        (
            ("an existing number is read", "number_inputs.wrap_constant"),
            ("whether it was seen to change", "Policy.is_dynamic_number"),
            ("learnt from the guard that failed", "Policy._learn_dynamic"),
            ("its symbol", "ShapeEnvAdapter.symbolic_int"),
            ("the tracker: an expression over symbols", "SymbolicNumber"),
        ),
    ),
    Topic(
        "a special method of a user's class",
        (
            "special method",
            "dunder method",
            "dunder",
            "add dunder",
            "operator overloading",
            "metaclass method",
        ),
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
        (
            "recompile limit",
            "cache size limit",
            "cache limit",
            "too many entries",
            "how many times compiled again",
        ),
        (
            ("the option, `recompile_limit`", "Config"),
            (
                "asked twice when no entry fits: before a shared entry is bound, and before one is made",
                "CompiledUnit._find_or_make_entry",
            ),
            ("a shared entry, made for another function of the same code", "CompiledUnit._find_shared_entry"),
            ("what happens when it is reached: said once, then native", "CompiledUnit._report_limit"),
            ("the warning, with what varies and its line", "limit_text"),
        ),
    ),
    Topic(
        "why a call is compiled again",
        ("recompile", "recompilation", "cache miss", "guard failure", "why recompiled"),
        (
            ("the slow path", "CompiledUnit.handle_miss"),
            ("which guard fails, in the user's words", "first_failure"),
            ("the reasons are noted and logged", "record_recompile"),
            ("names of the user in these texts", "UserNames"),
            ("what is learnt from it", "Policy.learn"),
        ),
    ),
    Topic(
        "hooks of a tensor and its gradient",
        (
            "tensor hook",
            "gradient hook",
            "autograd hook",
            "register_hook",
            "retain_grad",
            "backward hook tensor",
        ),
        (
            ("`register_hook` on a tensor of the graph", "tensor_hooks.register_hook"),
            ("the handle that it gives", "HookHandle"),
            ("`retain_grad`", "tensor_hooks.retain_grad"),
            ("why others break the graph, for users", "docs/breaks/gradient-hook.md"),
        ),
    ),
    Topic(
        "a function is kept eager, or nothing more is compiled",
        (
            "disable",
            "turn off",
            "turn off one function",
            "switch off",
            "keep eager",
            "not compile function",
            "disable function",
        ),
        (
            ("`@frontend.disable`", "directives.disable"),
            ("what it makes of a function", "disabled.make_native"),
            ("the call of one in a compiled function breaks the graph", "docs/breaks/disabled-function.md"),
            (
                "nothing more is compiled, by `config.disable` or the environment",
                "is_disabled_by_environment",
            ),
            ("the way back from `compile`", "api.uncompile"),
            ("removes the entries that were made", "api.reset"),
        ),
    ),
    Topic(
        "nn.Module and its hooks",
        ("nn.module hooks", "module hooks", "hook", "nn.module", "module", "forward hook", "global hooks"),
        (
            (
                "a module without hooks: `forward` is called directly; with hooks `_call_impl` is inlined",
                "ModuleShortcuts",
            ),
            (
                "decides it, and guards it: hooks of the module, and each table of global hooks",
                "nn_modules._is_direct",
            ),
            ("the guard that the module has no hooks", "NoModuleHooks"),
            ("the guard that a table of global hooks is empty", "Truthy"),
            ("compiled in place of its call", "compile_module"),
        ),
    ),
    Topic(
        "super()",
        ("super", "zero argument super"),
        (
            ("the call `super(...)`", "super_row"),
            ("attributes of the object that it gives", "SuperTracker"),
            ("without arguments: taken from the frame", "super_arguments"),
            ("the same in the bytecode of a continuation", "make_arguments_explicit"),
            ("one instruction from Python 3.12 on", "attributes.load_super_attribute"),
        ),
    ),
    Topic(
        "automatic dynamic shapes",
        (
            "automatic dynamic",
            "varying int",
            "changing int",
            "number that changes",
            "dynamic shapes",
            "symbolic size",
            "symbolic shape",
            "unbacked symint",
            "mark_dynamic",
            "mark_unbacked",
            "dynamic",
        ),
        (
            ("which sizes are symbolic in a trace", "Policy.dynamic_dims"),
            ("which numbers are", "Policy.is_dynamic_number"),
            ("what is learnt when no entry fits", "Policy.learn"),
            ("the change that a failed guard reports", "TensorChange"),
            ("`mark_dynamic` and its promise", "dynamic_marks.mark_dynamic"),
            ("`mark_unbacked`: no value while tracing", "dynamic_marks.mark_unbacked"),
            ("symbols for sizes", "ShapeEnvAdapter"),
        ),
    ),
    Topic(
        "the step of an optimizer",
        ("optimizer step", "optimizer", "torch.optim", "adam", "sgd"),
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
        (
            "new python version",
            "add python",
            "new opcode",
            "python version",
            "bytecode version",
            "support a new python",
            "python 3.15",
            "python 3.16",
        ),
        (
            ("the walk through all files", "docs/adding/python-version.md"),
            ("what the Python that runs has and no table knows", "doctor.main"),
            ("opcodes of the Python that runs", "opcodes.VERSION"),
            ("instructions read as operations", "operation_tables.RULES"),
        ),
    ),
    Topic(
        "a new builtin type",
        ("new builtin type", "builtin type", "new type", "add a type", "add a builtin", "tracker"),
        (
            ("the walk through all files", "docs/adding/builtin-type.md"),
            ("what every tracker is", "base.Tracker"),
            ("how an existing value finds its tracker", "Wrapper"),
        ),
    ),
    Topic(
        "a torch function with a recipe",
        (
            "torch function recipe",
            "recipe",
            "new torch function",
            "add torch op",
            "torch recipe",
            "special treatment torch function",
            "torch function rule",
            "torch function special rule",
        ),
        (
            ("the walk through all files", "docs/adding/torch-recipe.md"),
            ("the rows", "recipes._make_fused_row"),
            ("the general rule: one node", "graph_call"),
        ),
    ),
    Topic(
        "how a call finds its entry",
        ("dispatch", "dispatcher", "cache", "cache lookup", "guard check", "entry", "guarded entry"),
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
            ("inputs that keep their memory, for CUDA graphs", "mark_lasting_inputs"),
            ("callables that trace the graph again", "Reliance"),
            ("random numbers and errors that nothing needs", "witness_unused"),
            ("called with the graph", "compile_with"),
            ("graphs that no backend may replace, and why", "why_captured"),
            ("what `compile` checks", "require_backend"),
        ),
    ),
    Topic(
        "inlining of a Python function",
        (
            "inlining",
            "inline",
            "python function call",
            "nested call",
            "skip file",
            "traced file",
            "trace rule",
        ),
        (
            ("the tracker of a function", "FunctionTracker"),
            ("a call leads to a frame", "PendingFrame"),
            ("the frames that are executed", "machine.Machine"),
            ("executed operation by operation", "Interpreter"),
        ),
    ),
    Topic(
        "guards",
        ("guard", "guard set", "guard made checked"),
        (
            ("asked for by whatever reads a value: `tx.guard`", "TraceContext.guard"),
            ("source, claim and who asked; the guards of one entry", "GuardSet"),
            ("where a value comes from", "base.Source"),
            ("what has to hold of it", "base.Claim"),
            ("one expression of all guards", "compile_guards"),
            ("checked without that expression, with a reason", "first_failure"),
        ),
    ),
    Topic(
        "attributes of a tensor",
        ("torch.tensor.shape", "tensor attribute", "tensor.shape", "x.shape", "tensor dtype"),
        (
            ("which attributes there are, and how each is read", "tensor_attributes.ROWS"),
            ("the slot that asks them", "TensorTracker.begin_attribute"),
            ("sizes, as numbers or symbols", "TensorTracker.metadata"),
            ("what is guarded of a tensor", "TensorIs"),
        ),
    ),
    Topic(
        "the stance of the process",
        ("stance", "set_stance", "torch.compiler.set_stance", "force eager"),
        (
            ("what `torch.compiler.set_stance` has set", "stances.current"),
            ("asked on every call, by one comparison", "Probe"),
            ("what it means when no entry fits", "CompiledUnit._find_or_make_entry"),
            ("why it is read there", "docs/adr/0012-what-the-process-says-through-torch.md"),
        ),
    ),
    *PROGRAM_TOPICS,
    *GRAPH_TOPICS,
    *HOUSE_TOPICS,
    Topic(
        "Ctrl-C and other signals while a trace runs",
        ("Ctrl-C", "KeyboardInterrupt", "SIGINT", "alarm while compiling", "interrupted trace"),
        (
            ("handlers run between two steps", "signals_postponed"),
            ("why", "docs/adr/0036-signals-wait-for-the-end-of-a-step.md"),
            ("called there", "Interpreter.run"),
            ("what a backend leaves behind is put back", "dispatch_state_kept"),
            (
                "raised in the frames of the program; by the call, where nothing of it has run",
                "CompiledUnit._leave_frames",
            ),
        ),
    ),
)

SEE_ALSO: Final = {
    "BINARY": "operators on tensors",
    "UNARY": "operators on tensors",
    "COMPARE": "operators on tensors",
    "BEFORE_WITH": "context managers",
    "LOAD_SPECIAL": "context managers",
    "STORE_GLOBAL": "a global variable is changed",
    "DELETE_GLOBAL": "a global variable is changed",
    "STORE_CELL": "closures and cells",
    "LOAD_CELL": "closures and cells",
    "FOR_ITER": "loops",
    "YIELD": "generators",
    "BUILD_STRING": "f-strings and texts with tensors or numbers",
    "RAISE": "exceptions: try and except",
}
"""For operations: the question that goes on where the operation ends."""
