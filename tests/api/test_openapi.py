"""The OpenAPI document: as committed, and whole."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from drf_spectacular.drainage import GENERATOR_STATS

from django_jobqueue.api.schema import document
from django_jobqueue.api.schema.refusals import CONFLICTS
from tests.api.openapi import PATH, current
from tests.api.test_permissions import CALLS


def test_the_committed_document_is_what_the_code_says():
    assert PATH.read_text() == current(), "run: python -m tests.api.openapi"


def test_the_document_is_made_without_a_warning():
    GENERATOR_STATS.reset()
    document()
    assert not GENERATOR_STATS


def test_every_call_is_described_with_its_body_answers_and_refusals():
    described = {
        (method.upper(), path.replace("{id}", "1")): operation
        for path, methods in document()["paths"].items()
        for method, operation in methods.items()
    }
    assert set(described) == set(CALLS)
    for (method, path), operation in described.items():
        assert operation["summary"] and operation["description"] and operation["operationId"], path
        assert {"400", "401", "403", "406", "429", "503"} <= set(operation["responses"])
        if method == "POST":
            content = operation["requestBody"]["content"]["application/json"]
            assert content["examples"], path
            assert {"411", "413", "415"} <= set(operation["responses"])
        for status, response in operation["responses"].items():
            assert status == "204" or response["content"]["application/json"]["examples"], (path, status)


def test_every_code_of_a_409_is_in_the_document():
    found = {
        example["value"]["code"]
        for methods in document()["paths"].values()
        for operation in methods.values()
        for example in operation["responses"]
        .get("409", {"content": {"application/json": {"examples": {}}}})["content"]["application/json"][
            "examples"
        ]
        .values()
    }
    assert found == set(CONFLICTS)


DEFAULTS = """
from tests.settings import *

INSTALLED_APPS = [*INSTALLED_APPS, "drf_spectacular"]
REST_FRAMEWORK = {**REST_FRAMEWORK, "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema"}
SPECTACULAR_SETTINGS = %r
"""


@pytest.mark.parametrize("options", [{}, {"OAS_VERSION": "3.1.0"}])
def test_spectacular_makes_a_valid_document_with_its_own_defaults(tmp_path, options):
    (tmp_path / "spectacular_defaults.py").write_text(DEFAULTS % options)
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(
            [str(tmp_path), str(PATH.parents[1]), os.environ.get("PYTHONPATH", "")]
        ),
        "DJANGO_SETTINGS_MODULE": "spectacular_defaults",
    }
    made = subprocess.run(
        [sys.executable, "-m", "django", "spectacular", "--validate", "--fail-on-warn"],
        env=environment,
        capture_output=True,
        text=True,
    )
    assert made.returncode == 0, made.stderr
    assert "/jobs/claim-batch" in made.stdout
