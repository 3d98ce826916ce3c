"""The tables of the docs that the code knows. ``python -m tests.docs.tables`` prints them, to be pasted."""

from __future__ import annotations

from django_jobqueue.conf import options


def settings_table() -> str:
    """The options of ``JOBQUEUE`` as Markdown; the range is what the option's own check asks for."""
    rows = []
    for option in options():
        allowed = option.metadata["check"](object()).removeprefix("must be ")
        rows.append(f"| `{option.name}` | `{option.default!r}` | {allowed} | {option.metadata['text']} |")
    return "\n".join(["| option | default | value | meaning |", "|---|---|---|---|", *rows])


if __name__ == "__main__":
    print(settings_table())
