"""What serves a call: sessions, compiled units with their entries, and what is learnt when no entry fits.

`session` and `session_state` belong to one compiled function; `unit` has the entries of a function or continuation, which
`trace_start` says where to begin and `method_definition` where it is defined; `binding` binds their text. `shared_entries`
keeps entries for several functions of one code, if they are `portable`. `specialization` learns from misses,
`recompile_limit` and `records` report, `user_names` finds the words for it, and `frame_hooks` guards against another
compiler on our frames. Not here: how an entry is made (`build_entry`), and how guards are tried (`generated.dispatcher`).
"""
