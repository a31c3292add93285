"""The tracker classes that the battery of `test_every_tracker` has no case for, with the reason.

Data only: `tests/end_to_end/test_every_tracker_is_seen.py` reads this file, and has a program for each name of `IN_PROGRAMS`.
"""

NO_VALUE = {
    "Tracker": "abstract",
    "IteratorTracker": "abstract",
    "KnownValue": "abstract",
    "GraphValue": "abstract",
    "UnspecializedTracker": "abstract",
    "_Exhausted": "a marker, no value of the program",
    "Null": "the NULL that CPython pushes, no value of the program",
    "Lazy": "gives another tracker when it is read: each case with an input goes through it",
}
"""Classes that stand for no value of a program of their own."""

_FRAMES = "exists only while frames are run"
_GRAPH = "its value comes out of the graph"
_CONTEXT = "entered and left by the graph"
IN_PROGRAMS = {
    "TensorTracker": _GRAPH, "TensorMethod": _GRAPH, "SymbolicNumber": _GRAPH, "ComputedNumber": _GRAPH, "ChangingScalar": _GRAPH, "ScalarConversion": _GRAPH, "ScalarMethod": _GRAPH, "ArrayTracker": _GRAPH, "ArrayMethod": _GRAPH, "SubclassTensor": _GRAPH, "NewWrapper": _GRAPH,
    "Conversion": _GRAPH, "ComputedConversion": _GRAPH, "UnknownRange": _GRAPH, "DeferredText": _GRAPH,
    "UnspecializedValue": "made where a value changed too often",
    "TorchGeneratorTracker": "an input of the graph",
    "CellTracker": _FRAMES, "NestedFunction": _FRAMES, "GeneratorTracker": _FRAMES, "GeneratorMethod": _FRAMES,
    "NamespaceTracker": _FRAMES, "TracebackTracker": _FRAMES, "SavedException": _FRAMES,
    "GroupIterator": "shares the position of its groupby, which has a case",
    "TeeSource": "shared by the iterators of tee, which have a case",
    "IdentityNumber": "differs in each run, so nothing can be equal",
    "DataPointer": "differs in each run",
    "ThreadNumber": "differs in each run",
    "SubscriptReversed": "asks `__len__` and `__getitem__` in Python",
    "FixedMethod": "a method of a process group that is called at once",
    "PlacementQuestion": "a method of a placement that is called at once",
    "SpecTracker": "what a tensor of several processes holds, which leaves the graph in the tensor alone",
    "NewDisabled": "a function that is called natively",
    "WorkTracker": _GRAPH, "WaitMethod": _GRAPH,
    "InplaceMethod": "a method of `super()` that is called at once",
    "InferenceMode": _CONTEXT, "BlockMethod": _CONTEXT, "NativeContext": _CONTEXT, "NativeContextMethod": _CONTEXT, "ProfilerMark": _CONTEXT, "EndOfMark": _CONTEXT, "Switch": _CONTEXT,
    "HookSlotTracker": _GRAPH, "HookHandle": _GRAPH, "RemoveMethod": _GRAPH, "PullbackTracker": _GRAPH, "SwitchedOff": _CONTEXT, "OpenBlock": _CONTEXT, "ScriptFunctionTracker": "stands for code that a compiler wrote", "SelectiveContexts": _CONTEXT, "PolicyContext": "given to the policy of a checkpoint", "PolicyOperand": "given to the policy of a checkpoint", "DeferredCall": "a call that is made after the graph",
}  # fmt: skip
"""Classes that need frames or a graph: seen while the programs run."""
