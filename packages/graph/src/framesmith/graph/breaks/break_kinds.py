"""The catalogue of graph breaks: one row for each kind that is not registered beside its code.

Kinds of one feature of `variables` are, in the module that raises them. The classes live in `breaks`, where `all_kinds`
gives all rows.

An id is never reused for something else. Titles say what happened, explanations why the graph cannot go on,
remedies what the user can do.
"""

from framesmith.graph.breaks.breaks import BreakKind, register


def _row(identifier: str, title: str, explanation: str, remedy: str, reassurance: str = "") -> BreakKind:
    return register(BreakKind(identifier, title, explanation, remedy, reassurance))


# calls

NATIVE_CALL = _row(
    "native-call",
    "call of a function that cannot be traced",
    "It is written in C and no row in framesmith's tables says what it does; or it is Python code that is not entered, since it loads data, "
    "reads or writes files, compiles, or sets up what torch keeps for itself.",
    "Move the call (or the loop over a loader) out of the compiled function. A function of tensors can be registered with "
    "torch.library.custom_op, another one be given a Python version with substitute_in_graph.",
)
SYSTEM_CALL = _row(
    "system-call",
    "call that reads or changes something outside of the program",
    "Files, clocks, threads, processes and the network are no part of a graph: the call has to run at its place, between two graphs.",
    "For one graph, move the call out of the compiled function, and pass in what it gives.",
    "Nothing has to be done.",
)
PRINT_OR_LOG = _row(
    "print-or-log",
    "printing, logging or warning",
    "Output has to appear in order with the rest of the program, so it is written between two graphs.",
    "Remove the call, or guard it with `if not torch.compiler.is_compiling()`.",
)
EXPLICIT = _row(
    "explicit-break",
    "graph_break() was called",
    "The program asks for a break here.",
    "Remove the call of torch._dynamo.graph_break() or frontend.graph_break() when the break is no longer wanted.",
)
DISABLED = _row(
    "disabled-function",
    "call of a function that is not to be compiled",
    "The function is marked with disable, or belongs to a module that is excluded from compilation.",
    "Remove the mark (torch.compiler.disable, torch._dynamo.disable or frontend.disable), or call the function outside the "
    "compiled function.",
)
CALL_SIGNATURE = _row(
    "unsupported-call-signature",
    "call with a combination of arguments that is not supported",
    "framesmith supports the callee, but not with arguments of these types or with these keywords.",
    "Call it with plain positional or keyword arguments.",
)
RECURSION = _row(
    "recursion-depth",
    "too many nested calls",
    "Inlining calls this deep would make the trace endless or the graph too large.",
    "Turn the recursion into a loop, or compile the inner function by itself.",
)
INTROSPECTION = _row(
    "introspection",
    "the program inspects its own frames or code",
    "exec, eval, compile, sys._getframe, locals(), globals(), vars(), dir() and the inspect module read the interpreter's "
    "real frames or namespaces, which do not exist while tracing.",
    "Move the call out of the compiled function.",
)
TENSOR_INTERNALS = _row(
    "tensor-internals",
    "the program asks for the memory, the text or the history of a tensor",
    "A graph is captured on fake tensors: they have a shape and a type, but no memory, no content and no history of gradients.",
    "Ask outside the compiled function, or behind the work that is to be one graph.",
)
IMPORT = _row(
    "import-side-effects",
    "import of a module that is not loaded yet",
    "Importing runs the module's body, whose side effects cannot be recorded in a graph.",
    "Import the module at the top of the file; fullgraph=True imports it itself where nothing was changed before.",
)
BACKWARD_CALL = _row(
    "backward-call",
    "a call of backward() that does more than give leaves their gradients",
    "A graph computes gradients and gives them to leaves. It does not keep those of other tensors (retain_grad), differentiate "
    "them once more (create_graph=True), or give them to leaves with gaps in their memory.",
    "Use torch.autograd.grad or torch.func.grad, or leave backward() outside of the compiled function.",
)

# what eager raises as well

OPERATION_RAISES = _row(
    "operation-raises",
    "an operation that raises an exception",
    "The operation fails on the values at hand, so it is run for real, to raise what eager raises.",
    "Correct the operation or its arguments; the message is that of Python or torch.",
)

# values that only the running program knows

DATA_DEPENDENT_BRANCH = _row(
    "data-dependent-branch",
    "a branch on the content of a tensor",
    "The graph is captured without the tensor's data, so the branch that will be taken is not known.",
    "Use torch.where, or torch.cond with both branches.",
)
DATA_DEPENDENT_SHAPE = _row(
    "data-dependent-shape",
    "an operation whose output size depends on the content of a tensor",
    "The size of the result is known only when the program runs.",
    "Set frontend.config.capture_dynamic_output_shape_ops = True (fullgraph=True does), or use a form with a fixed size such "
    "as torch.where.",
)
MASKED_GRADIENT = _row(
    "masked-gradient",
    "a store, where a mask is true, of values that require gradients",
    "The gradient of the values has as many rows as the mask has truths, which is known only when the program runs: a backend that "
    "differentiates at once (aot_eager, inductor) cannot compile it. The backend eager has no such break.",
    "For a row of values for each truth write y = y.masked_scatter(mask[..., None], values), for one value "
    "y = torch.where(mask[..., None], value, y), in place of y[mask] = values; values.detach() where no gradient is wanted.",
)
DATA_DEPENDENT_OUTPUT = _row(
    "data-dependent-output",
    "an operation that returns a Python value computed from the content of a tensor",
    "The value is known only when the program runs.",
    "Keep the value in a tensor, for example (a == b).all() in place of torch.equal(a, b), or ask outside the compiled function.",
)
TENSOR_ITEM = _row(
    "tensor-item",
    "Tensor.item(), tolist(), int() or float() of a tensor",
    "The number is known only when the program runs.",
    "Keep the value in a tensor, or set frontend.config.capture_scalar_outputs = True (fullgraph=True does) to go on with an "
    "unknown number.",
)
UNBACKED_GUARD = _row(
    "data-dependent-guard",
    "a decision on a number that comes out of a tensor, or on a size that is marked with mark_unbacked",
    "The number has no value while tracing, and the rest of the program depends on the decision.",
    "State what holds with torch._check(...) beforehand, or branch on a tensor's shape instead; mark a size that is branched on with "
    "mark_dynamic in place of mark_unbacked.",
)
FAILURE_INSIDE = _row(
    "failure-inside",
    "an operation that may fail on data, behind a change, inside of a call that cannot be resumed",
    "If it fails, the program goes on at that very place, and what was written or drawn must not happen twice. Code that a "
    "builtin runs to its end (`[*generator]`, a sort key, `__eq__` of an item) cannot be entered in the middle.",
    "Write the loop out, for example as `for item in generator`, or move the change out of it.",
)

# instructions, values, attributes

UNSUPPORTED_OPCODE = _row(
    "unsupported-opcode",
    "a bytecode instruction that is not supported",
    "The symbolic interpreter has no rule for this instruction on these values.",
    "Please report it together with the source line.",
)
UNSUPPORTED_VALUE = _row(
    "unsupported-value",
    "an operation on a value of an unsupported type",
    "framesmith has no model of how this type behaves, and does not guess.",
    "Use the object outside the compiled function, or pass in the tensors and numbers that it holds.",
)
CHANGING_VALUE = _row(
    "changing-value",
    "an operation needs a value that keeps changing",
    "A graph specialized on the value would serve one call or iteration only and the next one would recompile, so the "
    "operation has to run in Python between two graphs that serve all of them.",
    "To capture one graph, keep the named value the same from call to call or pass it as a tensor, or move the operation out "
    "of the loop or out of the compiled function. Where dynamic=False was passed, do not pass it: an int that changes becomes symbolic then.",
    "The results are right as they are.",
)
UNSUPPORTED_ARGUMENT = _row(
    "unsupported-graph-argument",
    "an argument that a graph node cannot take",
    "The arguments of a graph node are tensors, numbers, strings, dtypes, devices, and containers of those.",
    "Pass the tensors and numbers that the object holds.",
)
ATTRIBUTE_STORE = _row(
    "unsupported-attribute-store",
    "an attribute is set on an object of an unsupported type",
    "The assignment may run C code that cannot be traced, or gives an existing tensor data of another kind than a graph can.",
    "Return the value and assign it outside the compiled function.",
)
UNKNOWN_ITERATOR = _row(
    "unknown-iterator",
    "iteration over an unsupported kind of iterator",
    "Taking an element advances the iterator, which exists outside the trace and cannot be rolled back.",
    "Convert it to a list before calling the compiled function.",
)
UNSUPPORTED_SUBCLASS = _row(
    "unsupported-tensor-subclass",
    "a tensor subclass that cannot be traced",
    "It overrides torch behaviour in a way that fake tensors do not follow.",
    "Give the class __tensor_flatten__ and __tensor_unflatten__, or a traceable __torch_function__.",
)
UNINITIALIZED = _row(
    "uninitialized-parameter",
    "a parameter that has no data yet",
    "A lazy module makes its parameters from the sizes of its first input, and draws their values where it is called.",
    "Make a first call without the compiler, for example model(example), or give the sizes where the module is made.",
    "Nothing has to be done: that call runs as it is, and the next one is captured.",
)
RANDOM_STATE = _row(
    "random-state",
    "reading or writing the state of a random number generator",
    "The state is not part of the graph. A number that Python's random or numpy.random draws is another one in each call.",
    "Draw with torch.rand or torch.randint, or pass the number in; set or read the seed outside the compiled function.",
)

# control flow

CONTEXT_MANAGER = _row(
    "unsupported-context-manager",
    "an unsupported context manager",
    "Entering or leaving it has side effects that cannot be recorded in a graph.",
    "Enter it outside the compiled function.",
)
GENERATOR = _row(
    "generator-across-break",
    "a generator is suspended where the graph ends",
    "Its frame exists only in the trace; a real generator has to be made for what follows.",
    "Consume the generator before the break, e.g. with list(...).",
)
VALUE_ENDS = _row(
    "value-ends",
    "the program sees the end of an object",
    "The last reference to an object goes that has a finalizer or is weakly referenced; what follows has to find it gone.",
    "Keep the object until the end of the function, or make and drop it outside.",
)
ASYNC_FRAME = _row(
    "async-frame",
    "a coroutine or asynchronous generator",
    "An event loop suspends and resumes it, outside the trace.",
    "Compile the ordinary functions that it calls.",
)
NONDETERMINISTIC = _row(
    "nondeterministic-trace",
    "tracing the same code twice gave different results",
    "framesmith repeats a trace up to the break; where the repetition differs, the graph would not match the program.",
    "Look for code that changes global state while it is being traced.",
)

# torch

FAKE_FAILED = _row(
    "operator-without-fake",
    "an operator that cannot run on fake tensors",
    "The operator has no fake (meta) implementation, or a wrong one: no rule gives the shape and dtype of its result without data.",
    "Register one with torch.library.register_fake.",
)
FAKE_INPUT = _row(
    "tensor-without-fake",
    "a tensor that cannot be made fake",
    "torch's fake tensors do not support its layout or backend.",
    "Convert it to a strided tensor before calling the compiled function.",
)
BACKEND_LIMIT = _row(
    "backend-limit",
    "an operation that no graph can hold here",
    "What it changes (a history, a memory, a setting) is what the operations around it in a graph, or a backend, rely on.",
    "Move it out of the compiled function, or write it another way. Where the message names the backend, choose another.",
)
INTERNAL_ERROR = _row(
    "internal-error",
    "framesmith has a bug",
    "Tracing raised an exception that is not the program's own.",
    "Please report it; the message names the function and the exception.",
    "The function runs uncompiled, so its results are right.",
)
