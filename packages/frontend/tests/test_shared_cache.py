"""What functions of the same code share: the key, the entries and their owners, and which entries outlive a function."""

import gc
import weakref
from types import FunctionType

import torch

from framesmith import frontend
from framesmith.frontend.cache import portable, shared_entries
from framesmith.frontend.cache.method_definition import MethodDefinition
from framesmith.frontend.cache.shared_entries import EntryCache, SharedCaches, settings_of
from framesmith.frontend.options import CompileOptions, Config
from framesmith.guards.imported import is_imported
from framesmith.guards.kinds import EqualTo, GlobalState, Identical, TypeIs
from framesmith.guards.sources import Item, Local, Own, Pinned

OPTIONS = CompileOptions("eager")


def plain(x):
    return x


class Called:
    def __call__(self):
        return 1


def test_the_key_is_code_globals_place_options_and_whether_there_are_defaults():
    caches = SharedCaches()
    known = caches.of(plain, None, OPTIONS)
    copy = FunctionType(plain.__code__, globals(), "other")
    assert caches.of(copy, None, CompileOptions("eager")) is known
    assert caches.of(FunctionType(plain.__code__, {}), None, OPTIONS) is not known
    assert caches.of(plain, None, CompileOptions("aot_eager")) is not known
    assert caches.of(plain, MethodDefinition(Called, "__call__", Called.__call__), OPTIONS) is not known
    copy.__defaults__ = (1,)
    assert caches.of(copy, None, OPTIONS) is not known
    reference = weakref.ref(known)
    del known
    assert reference() is None


def test_a_backend_counts_by_identity_and_settings_by_value_where_they_are_plain():
    def key(**options):
        return shared_entries._key_of(CompileOptions(**{"backend": "eager", **options}))

    class Compiler:
        def run(self, module, examples):
            return module

    compiler, given = Compiler(), {"a": object()}
    assert key(backend=compiler.run) == key(backend=compiler.run) != key(backend=Compiler().run)
    assert key(backend_options={"a": 1}) == key(backend_options={"a": 1}) != key(backend_options={"a": True})
    assert key(backend_options=given) == key(backend_options=given) != key(backend_options=dict(given))


def test_the_limit_is_no_setting_of_an_entry():
    assert settings_of(Config(recompile_limit=3)) == settings_of(Config())
    assert settings_of(Config(capture_scalar_outputs=True)) != settings_of(Config())


def test_a_cache_owns_no_entry_and_gives_the_newest_first():
    class Held:
        pass

    cache, entries = EntryCache(), [Held() for _ in range(40)]
    for entry in entries:
        cache.add(entry)
    assert list(cache.others([entries[-1]])) == entries[-2 : -2 - shared_entries._TRIED : -1]
    del entries[1:], entry
    assert list(cache.others([])) == entries
    cache.clear()
    assert not list(cache.others([]))


def test_what_imported_modules_hold_is_portable_and_what_functions_make_is_not():
    check = portable._Check()

    class Local_:
        pass

    modes = GlobalState.capture()
    for good in (
        Called,
        Called.__call__,
        torch,
        vars(torch),
        len,
        torch.relu,
        torch.nn.Linear,
        int,
        (1, "a", torch.float32),
        plain.__code__,
    ):
        assert check.is_known(good), good
    for bad in (Local_, lambda x: x, Called(), {}, [].append, torch.ones(1), (1, Local_)):
        assert not check.is_known(bad), bad
    assert (
        check.is_portable_claim(modes)
        and check.is_portable_claim(EqualTo(3))
        and check.is_portable_claim(TypeIs(Called))
    )
    assert not check.is_portable_claim(TypeIs(Local_)) and not check.is_portable_claim(Identical(Called()))
    assert (
        check.is_portable_source(Item(Local("x"), 3))
        and check.is_portable_source(Own("cell"))
        and not check.is_portable_source(Item(Pinned({}), 3))
    )
    assert is_imported(Called) and not is_imported(Local_) and not is_imported(object())


def test_at_most_so_many_entries_wait_for_another_function(monkeypatch):
    counted = []

    def backend(module, examples):
        counted.append(module)
        return module.forward

    def make(text):
        return lambda x: x * len(text)

    first = frontend.compile(make("a"), backend=backend)
    cache = frontend.api.session_of(first)._state.shared
    for length in range(shared_entries._KEPT + 8):
        frontend.compile(make("b" * length), backend=backend)(torch.ones(2))
    gc.collect()
    assert len(cache._kept) == shared_entries._KEPT == len(list(cache.root.others([])))


def test_the_log_says_why_entries_of_others_do_not_serve(caplog):
    def make(text):
        return lambda x: x * len(text)

    functions = [frontend.compile(make(text), backend="eager") for text in ("a", "bb")]
    with caplog.at_level("INFO", "framesmith.recompiles"):
        for each in functions:
            each(torch.ones(2))
    (said,) = [record.getMessage() for record in caplog.records if "another function" in record.getMessage()]
    assert said.endswith("does not serve: text: value changed from 'a' to 'bb'")
