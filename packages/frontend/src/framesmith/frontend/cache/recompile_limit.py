"""The message when `config.recompile_limit` is reached: which value varies, in which line it is read, what to do.

Not here: the limit itself, which `CompiledUnit._find_or_make_entry` enforces.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from types import CodeType
from typing import Final

from framesmith.frontend.cache.user_names import UserNames
from framesmith.frontend.errors import RecompileLimitWarning
from framesmith.frontend.events import History, add_reading_line, collapse_repeats, log
from framesmith.frontend.options import CompileOptions, Config
from framesmith.frontend.stances import Stance
from framesmith.frontend.tracing.machine import reading_of
from framesmith.frontend.tracing.parameter_names import is_variable, variable_of
from framesmith.frontend.user_warnings import warn
from framesmith.guards import Failure, GuardSet, Scope, all_failures
from framesmith.guards.kinds import EqualTo
from framesmith.guards.sources import Global, Local

RUNS_UNCOMPILED: Final = "calls that fit none of them run uncompiled from now on, the entries keep serving."

NO_ENTRIES: Final = (
    "calls run uncompiled. Set frontend.config.recompile_limit to 1 or more to have them compiled."
)


def refusal_of(settings: Config, options: CompileOptions) -> str | None:
    """Why a call that no entry fits is an error when the limit is reached; None where it runs uncompiled."""
    if settings.fail_on_recompile_limit_hit:
        return "config.fail_on_recompile_limit_hit is set"
    return "compile() was told fullgraph=True, where nothing runs uncompiled" if options.fullgraph else None


def is_settled(count: int, settings: Config, options: CompileOptions, stance: Stance) -> bool:
    """Whether a call that none of so many entries fits runs uncompiled, whatever the reason: once the limit was reported, nobody asks."""
    says_why = stance.name == "fail_on_recompile" or refusal_of(settings, options) is not None
    return count >= settings.recompile_limit and not says_why


def write_refusal(refusal: str, failures: Iterable[Failure]) -> str:
    """What the error says in place of `RUNS_UNCOMPILED`; `failures`: why each entry rejects the call."""
    failures = list(failures)
    if not failures:
        return f"a call is an error, since {refusal}."
    said = f"a call that fits none of them is an error, since {refusal}. Why each rejects this one:"
    return "\n  ".join([said, *collapse_repeats([failure.text for failure in failures])])


def describe_limit(
    names: UserNames,
    entries: Sequence[GuardSet],
    scope: Scope,
    settings: Config,
    options: CompileOptions,
    failures: Iterable[Failure],
) -> str:
    """`limit_text` in the user's names. `failures`: why each entry rejects the call."""
    refusal = refusal_of(settings, options)
    then = RUNS_UNCOMPILED if refusal is None else write_refusal(refusal, failures)
    limit = settings.recompile_limit
    return names.text(limit_text(names.function, names.code, entries, scope, limit, then, options.dynamic))


def report_limit(history: History, text: str) -> None:
    """Warn once in a session, and log it of each further unit; the history notes it for each."""
    if history.notes:
        log("recompiles", "%s", text)
    else:
        warn(text, RecompileLimitWarning)
    history.notes.append(text)


def limit_text(
    function: str,
    code: CodeType,
    entries: Sequence[GuardSet],
    scope: Scope,
    limit: int,
    then: str = RUNS_UNCOMPILED,
    dynamic: bool | None = None,
) -> str:
    """The whole message: what happens then, the value for which most entries reject the call, with its line, and the remedy."""
    where, count = f"{function} ({code.co_filename}:{code.co_firstlineno})", len(entries)
    if not count:
        return f"{where} gets no entry (config.recompile_limit is {limit}): {NO_ENTRIES if then == RUNS_UNCOMPILED else then}"
    # the limit may have been lowered since
    said = "config.recompile_limit" if count == limit else f"config.recompile_limit is {limit}"
    head = f"{where} has {count} {'entry' if count == 1 else 'entries'} ({said}): {then}"
    failure = most_frequent([all_failures(guards, scope) for guards in entries])
    if failure is None:
        return head
    place = failure.user_frame or "{}:{}".format(*place_of(failure, code))
    return f"{head}\n  what varies: {add_reading_line(failure.text, place)}\n  what to do: {remedy_of(failure, dynamic)}"


_OF_NONE: Final = ("is None now", "changed from None to ", " to None (")
"""Words of failures where None takes turns with something else."""


def most_frequent(failures: Iterable[Sequence[Failure]]) -> Failure | None:
    """The failure whose source makes most entries reject the call; among equals the one seen first."""
    found: dict[object, Failure] = {}
    counts: Counter[object] = Counter()
    for entry in failures:
        # an entry counts once for a source, however many of its guards on that fail
        for key in dict.fromkeys(failure.source or failure.text for failure in entry):
            counts[key] += 1
        for failure in entry:
            found.setdefault(failure.source or failure.text, failure)
    best = max(counts, key=counts.__getitem__, default=None)
    return None if best is None else found[best]


def place_of(failure: Failure, code: CodeType) -> tuple[str, int]:
    """File and line where the program first names what the guard is about; the function's first line if nowhere."""
    sources = [one for source in failure.guard.sources for one in (source, *source.ancestors())]
    names = {source.name for source in sources if isinstance(source, Local | Global)}
    names = {variable_of(name) for name in names if is_variable(name)}
    for operation in reading_of(code).operations:
        if operation.argument in names and operation.position.line is not None:
            return code.co_filename, operation.position.line
    return code.co_filename, code.co_firstlineno


def remedy_of(failure: Failure, dynamic: bool | None) -> str:
    """What the user can do about a value of this kind. `dynamic`: what `compile` was told."""
    fixed = "leave out dynamic=False, " if dynamic is False else ""
    more = "or raise frontend.config.recompile_limit if these are all the values there are."
    if any(words in failure.text for words in _OF_NONE):
        return f"Pass something of one kind always (a tensor of no elements for none), compile a function for each case, {more}"
    # `rank` is set where the number of dimensions is another one: marking a size does not help then
    if (
        failure.tensor_change is not None
        and failure.tensor_change.rank is None
        and failure.tensor_change.sizes
    ):
        option = "compile with dynamic=True, " if dynamic is None else fixed
        return f"Mark the size with frontend.mark_dynamic, {option}{more}"
    if failure.tensor_change is not None:
        return (
            f"Pass tensors of one type, device and number of dimensions, compile a function for each, {more}"
        )
    if failure.value_change is not None:
        return f"Pass the number as a tensor, {fixed}{more}"
    as_tensor = "pass it as a tensor, " if _is_number(failure.guard.claim) else ""
    return f"Keep it the same from call to call, {as_tensor}or compute what depends on it outside, {more}"


def _is_number(claim: object) -> bool:
    """Whether a guard holds one number, of which a tensor could be made."""
    return isinstance(claim, EqualTo) and isinstance(claim.value, int | float | complex)
