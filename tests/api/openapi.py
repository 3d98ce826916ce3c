"""The protocol's OpenAPI document as it is committed. ``python -m tests.api.openapi`` writes it."""

from __future__ import annotations

from pathlib import Path

import yaml

PATH = Path(__file__).resolve().parents[2] / "docs" / "openapi.yaml"


def current() -> str:
    """The document as the code says it, in YAML."""
    from django_jobqueue.api.schema import document

    text: str = yaml.safe_dump(document(), sort_keys=False, allow_unicode=True, width=110)
    return text


if __name__ == "__main__":
    import os

    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")
    django.setup()
    PATH.write_text(current())
