"""``migrate``: rewrite sources that use the retired client for tritonclient.

``cli/migrate.py`` and ``cli/scan.py`` import this. ``scan`` reports which uses can be rewritten.

A file goes through three stages. Each returns values that nobody changes afterwards.

1. **Facts**: what is known of a file and its program. `FileFacts`, from `flows`, `handlers` and
   `layout`; `program`.
2. **Plan**: what becomes of each use. `plan` says in which order it is decided. `groups` decides
   what is rewritten together. A rule of `rules` returns a `Plan` or refuses, and writes nothing.
   What depends on several uses is in `Decisions`. Plans and decisions give `edits`.
3. **Render**: edits become text. `render` adds comments, removes variables that nothing reads, and
   rewrites the imports (`header`). Only `Document` makes text of edits.

``files`` puts the stages together for one file, and ``writing`` replaces files. ``helper_module``
makes the one module that ``--helpers`` asks for.
"""
