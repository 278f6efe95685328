"""Every figure in README.md and docs/ is computed again from what it rests on (`tests/test_figures.py`).

To bind a new one, add a `Figure` to the module of what it rests on (`runs`, `trials`, `overhead`, `code`): a passage of
the page with `{}` for each number, and a function that computes the numbers from the committed record. A number that
rests on no record (a definition, an example) is named in `constants.toml`. `python -m tests.figures` names what is
wrong; `python -m tests.figures --write` writes the computed values into the pages.
"""
