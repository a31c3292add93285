"""Questions about graphs, code objects and guards: why a graph breaks before a backend gets it, what is verified, how a guard is told.

As in `topics`, which has the questions about framesmith itself.
"""

from typing import Final

from framesmith.frontend.signposts.topic import Topic

GRAPH_TOPICS: Final = (
    Topic(
        "a store through a mask: `y[mask] = values`",
        ("mask assignment", "masked store", "boolean mask", "masked-gradient"),
        (
            ("`x[key] = value`", "TensorTracker.set_subscript"),
            ("breaks where the gradient has a size that depends on data", "explain_masked_gradient"),
            ("or the graph runs as it was captured", "has_masked_gradients"),
        ),
    ),
    Topic(
        "new data of an existing tensor: `p.data = v`",
        (
            "p data",
            "p.data",
            "w data",
            "tensor.data",
            "tensor data",
            "x.data",
            "param.data",
            "store of data",
            "replace data",
            "data of a parameter",
            "weight clipping",
            "with_data",
        ),
        (
            ("the store", "write_data"),
            ("`p.data`", "read_data"),
            ("why it breaks the graph", "_refuse_data"),
            ("under AOTAutograd it is made behind the graph", "StoresBehind"),
            ("what stands for the tensor behind it", "with_stand_ins"),
            ("what eager saves for a backward pass", "saved_by_nodes"),
            ("what that reads when it runs", "SavedOperand.read"),
            ("version counters of what is written to", "count_as_eager"),
        ),
    ),
    Topic(
        "what is saved for a backward pass",
        (
            "saved tensor",
            "save for backward",
            "save_on_cpu",
            "saved for backward pass",
        ),
        (
            ("what eager's operations save, asked of the fakes' history", "saved_by_nodes"),
            ("sorted by memory", "SavedReads"),
            ("what a compiled graph saves, where data are stored", "SavedOperands"),
            ("what a backward pass reads of it", "SavedOperand.read"),
            ("hooks that the program sets break the graph", "docs/breaks/native-call.md"),
        ),
    ),
    Topic(
        "graphs that run as they were captured, whatever the backend",
        ("empty batch", "as captured", "not compiled by the backend", "falls back to eager"),
        (
            ("all the reasons", "why_captured"),
            ("tensors of no elements", "has_empty_operands"),
            ("the question put to a graph before the backend gets it", "call_backend"),
        ),
    ),
    Topic(
        "the text of a guard, and of a miss",
        ("guard text", "guard message", "text of a miss", "explain a guard", "name in a guard"),
        (
            ("what a claim says", "base.Claim.text"),
            ("why a value does not fit", "base.Claim.explain"),
            ("of the first guard that a call misses", "first_failure"),
            ("in the words of the user's program", "user_names.UserNames"),
            ("relations between sizes", "ShapeExpression.text"),
        ),
    ),
    Topic(
        "what `verify` checks of a code object",
        ("verify bytecode", "borrowed reference", "code object that crashes"),
        (
            ("all checks, in order", "verify._verify_parts"),
            ("depths of the stack", "stack_depth.depths"),
            ("cells that are used before they are made", "cell_problems"),
            ("locals that may have no value", "unbound_problems"),
            ("NULLs that are used as values", "null_problems"),
            ("constants that CPython takes for what they are not", "trusted_problems"),
            ("locals that are changed under a borrowed reference", "borrow_problems"),
        ),
    ),
    Topic(
        "names and metadata of nodes",
        (
            "node names",
            "names of graph nodes",
            "placeholder names",
            "stack_trace",
            "nn_module_stack",
            "source_fn_stack",
            "node metadata",
        ),
        (
            ("each operation gets its metadata", "Recorder._complete"),
            ("inputs are named after their places", "placeholder_name"),
            ("operations after the variables of the program", "VariableNames"),
            ("`stack_trace`", "StackTexts"),
            ("`nn_module_stack` and `source_fn_stack`", "ModuleStacks"),
            ("those of a repeated layer", "Repetition.record"),
        ),
    ),
    Topic(
        "fake tensors: sizes and dtypes of results",
        (
            "fake tensor",
            "fake",
            "FakeTensorMode",
            "dtype promotion",
            "type promotion",
            "shape inference",
            "shape propagation",
            "size of a result",
            "meta tensor",
        ),
        (
            ("torch's mode, one for each trace, and its symbolic sizes", "ShapeEnvAdapter"),
            ("the fake of an existing tensor", "ShapeEnvAdapter.fake_input"),
            ("an operation runs on fakes: torch says what sizes and dtype it gives", "infer.run"),
            ("the node and its fake result", "results.record_node"),
            ("results that only show metadata, made quickly", "NewFakes"),
            (
                "what torch's fakes say wrongly",
                "wrong_fakes._table",
            ),
        ),
    ),
    Topic(
        "parameters and buffers as inputs of the graph",
        (
            "module parameter",
            "lift parameter",
            "parameter as input",
            "buffer as input",
            "graph input",
            "placeholder",
            "get_attr",
        ),
        (
            ("an existing tensor becomes an input when an operation takes it", "Recorder.tensor_input"),
            ("the inputs, by where they were read", "inputs.Inputs"),
            ("their names", "placeholder_name"),
            ("the entry reads them for each call, and hands them to the graph", "pack_inputs"),
            ("those that keep their memory from call to call", "mark_lasting_inputs"),
        ),
    ),
    Topic(
        "the lines of generated code",
        (
            "line number",
            "line numbers of generated code",
            "line of generated code",
            "traceback line",
            "line table",
        ),
        (
            ("the user's line for each line of the text", "functions.set_user_lines"),
            ("the line table is written anew", "relocate_lines"),
            ("how a line table is encoded", "line_table.encode"),
            ("why", "docs/adr/0004-generated-python-source.md"),
        ),
    ),
    Topic(
        "the recording of a graph",
        ("output graph", "graph recording", "nested graph", "subgraph"),
        (
            ("one graph, from its first operation to the backend", "Recorder"),
            ("an operation is recorded", "Recorder.call"),
            ("a graph within the graph", "Subgraph"),
            ("cleaned, made a module, given to the backend", "Recorder.finish"),
        ),
    ),
    Topic(
        "export",
        (
            "export",
            "frontend.export",
            "torch.export",
            "export a model",
            "how does export work",
            "exported program",
        ),
        (
            ("what the user calls, and what it gives", "export.export"),
            ("one trace, run once more over nodes", "export_call"),
            ("the graph with names and structure of the arguments", "OuterGraph"),
            ("declared sizes", "read_declarations"),
            ("arguments of a later call are checked", "InputCheck"),
            ("why", "docs/adr/0024-export-runs-an-entry-over-nodes.md"),
        ),
    ),
    Topic(
        "arrays of numpy",
        ("numpy", "numpy array", "ndarray", "np.array"),
        (
            ("an array is a tensor in the graph", "ArrayTracker"),
            ("a call of numpy becomes a node", "array_calls.run"),
            ("the node: numpy's function on tensors", "function_node"),
            ("why", "docs/adr/0025-arrays-of-numpy-are-tensors.md"),
        ),
    ),
    Topic(
        "stack effects and exception tables of a code object",
        ("stack effect", "stack depth", "exception table", "co_exceptiontable", "stack size"),
        (
            ("what an instruction takes and gives", "stack_depth.effect"),
            ("the depth before each instruction", "stack_depth.depths"),
            ("of the operations that are the same in all versions", "operation_effects.effect"),
            ("an exception table is read", "exception_table.decode"),
            ("and written", "exception_table.encode"),
        ),
    ),
    Topic(
        "functions of C that are traced as Python: polyfills",
        ("polyfill", "python version of a builtin", "substitute_in_graph"),
        (
            ("registered", "register_polyfill"),
            ("its tracker", "polyfill_function"),
            ("how one is added", "docs/adding/callable.md"),
        ),
    ),
)
