"""The OpenAPI document: as committed, and whole."""

from __future__ import annotations

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
