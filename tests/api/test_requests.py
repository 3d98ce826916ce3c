"""What holds for every call: paths, methods, bodies, and a database that is away."""

from __future__ import annotations

import pytest
from django.db import InterfaceError, OperationalError, connection

from django_jobqueue.models import Job
from tests.api.conftest import TYPE


def send(client, body, content_type="application/json", path="/jobs", **extra):
    data = body if isinstance(body, bytes) else body.encode()
    return client.generic("POST", path, data, content_type=content_type, **extra)


@pytest.mark.parametrize("append_slash", [True, False])
def test_each_path_is_served_with_a_slash_too_and_never_redirected(
    producer, worker, operator, settings, append_slash
):
    settings.APPEND_SLASH = append_slash
    assert producer.post("/jobs/", {"type": TYPE}).status_code == 201
    job = worker.post("/jobs/claim/", {"worker_id": "w"}).json()["id"]
    assert worker.post(f"/jobs/{job}/heartbeat/", {}).status_code == 200
    assert worker.post(f"/jobs/{job}/release/", {}).status_code == 200
    worker.post("/jobs/claim/", {"worker_id": "w"})
    assert worker.post(f"/jobs/{job}/fail/", {"error": "boom", "retryable": False}).status_code == 200
    assert operator.post(f"/jobs/{job}/retry/").status_code == 200
    worker.post("/jobs/claim/", {"worker_id": "w"})
    assert worker.post(f"/jobs/{job}/complete/", {}).status_code == 200
    assert operator.post(f"/jobs/{job}/cancel/").status_code == 409
    assert operator.get(f"/jobs/{job}/").status_code == 200
    assert operator.get("/jobs/").status_code == 200


def test_the_location_has_no_slash_whatever_path_was_posted_to(producer):
    response = producer.post("/jobs/", {"type": TYPE})
    assert response["Location"] == f"http://testserver/jobs/{response.json()['id']}"


@pytest.mark.parametrize("job_id", ["0", "-1", "9223372036854775808", "9" * 4999])
def test_an_id_that_no_job_has_answers_404(operator, job_id):
    response = operator.get(f"/jobs/{job_id}")
    assert response.status_code == 404
    assert "There is no job" in response.json()["detail"]


@pytest.mark.parametrize(
    "path", ["/jobs/x", "/jobs/1.0", "/jobs/%00", "/jobs/1%0A", "/jobs/%ED%A0%80", "/jobs/²"]
)
def test_a_path_that_is_none_answers_404(operator, path):
    assert operator.get(path).status_code == 404


def test_head_is_get_without_its_body(operator):
    Job.objects.enqueue(TYPE)
    response = operator.head("/jobs")
    assert (response.status_code, response.content) == (200, b"")


def test_options_describes_the_call(worker):
    response = worker.generic("OPTIONS", "/jobs/claim")
    assert (response.status_code, response["Allow"]) == (200, "POST, OPTIONS")
    fields = ["worker_id", "queues", "types", "lease_seconds", "request_id", "wait_seconds"]
    assert list(response.json()["actions"]["POST"]) == fields


@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE"])
def test_other_methods_answer_405(operator, method):
    job = Job.objects.enqueue(TYPE)
    for path in ("/jobs", f"/jobs/{job.pk}"):
        response = operator.generic(method, path)
        assert response.status_code == 405
        assert response["Allow"].startswith("GET")
        assert "detail" in response.json()


@pytest.mark.parametrize(
    "content_type",
    [
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "text/plain",
        "application/xml",
        "x",
    ],
)
def test_a_body_that_is_not_json_answers_415(producer, content_type):
    response = send(producer, "type=resize-video", content_type)
    assert response.status_code == 415
    assert "Send application/json." in response.json()["detail"]


NO_JSON = {
    "NaN": b'{"type": "resize-video", "payload": {"a": NaN}}',
    "Infinity": b'{"type": "resize-video", "payload": {"a": -Infinity}}',
    "not closed": b'{"type": "resize-video"',
    "two values": b"{} {}",
    "single quotes": b"{'type': 'resize-video'}",
    "not UTF-8": b'{"type": "caf\xe9"}',
    "UTF-16": '{"type": "resize-video"}'.encode("utf-16"),
    "a name twice": b'{"type": "resize-video", "type": "resize-video"}',
    "a name twice in the payload": b'{"type": "resize-video", "payload": {"a": [{"b": 1, "b": 1}]}}',
    "20,000 levels": b'{"type": "resize-video", "payload": ' + b'{"a":' * 20_000 + b"1" + b"}" * 20_001,
    "a surrogate in UTF-8": b'{"type": "\xed\xa0\x80"}',
    "nested past the interpreter": b"[" * 200_000,
    "an integer of 5000 digits": b'{"type": "resize-video", "max_retries": ' + b"9" * 5000 + b"}",
}


@pytest.mark.parametrize("body", NO_JSON.values(), ids=NO_JSON)
def test_a_body_that_cannot_be_read_answers_400(producer, body):
    response = send(producer, body)
    assert (response.status_code, list(response.json())) == (400, ["detail"])


def test_a_number_too_large_for_a_float_is_refused(producer):
    response = send(producer, '{"type": "resize-video", "payload": {"a": 1e400}}')
    assert (response.status_code, list(response.json())) == (400, ["payload"])


def test_a_name_that_occurs_twice_is_named(producer):
    response = send(producer, '{"type": "resize-video", "queue": "a", "queue": "b"}')
    assert response.json() == {"detail": "The body is not JSON in UTF-8: the name 'queue' occurs twice"}


@pytest.mark.parametrize(
    "body", ["[]", "null", '"x"', "5", "true", "[[]]", "0", '[{"type": "resize-video"}]']
)
def test_a_body_that_is_no_object_answers_400(producer, body):
    response = send(producer, body)
    assert response.status_code == 400
    assert response.json()["detail"].startswith("The body must be a JSON object, not ")


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ('{"type": "resize-video", "max_retries": %s}' % ("9" * 300), "max_retries"),
        ('{"type": "resize-video", "priority": %s}' % ("9" * 300), "priority"),
        ('{"type": "resize-video", "payload": {"a": %s}}' % ("9" * 300), "payload"),
    ],
)
def test_an_integer_of_300_digits_is_refused_naming_the_field(producer, body, field):
    response = send(producer, body)
    assert (response.status_code, list(response.json())) == (400, [field])


@pytest.mark.parametrize("charset", ["utf-8", "iso-8859-1", "utf-16", "zlib", "nonsense"])
def test_json_is_utf8_whatever_charset_is_claimed(producer, charset):
    body = '{"type": "resize-video", "payload": {"city": "Zürich"}}'
    response = send(producer, body, f"application/json; charset={charset}")
    assert (response.status_code, response.json()["payload"]) == (201, {"city": "Zürich"})


def test_json_is_strict_whatever_the_project_allows(producer, settings):
    settings.REST_FRAMEWORK = {**settings.REST_FRAMEWORK, "STRICT_JSON": False}
    assert send(producer, '{"type": "resize-video", "payload": {"a": NaN}}').status_code == 400


def test_a_body_past_the_projects_limit_answers_413(producer, settings):
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 1000
    response = send(producer, '{"type": "' + "x" * 1000 + '"}')
    assert (response.status_code, response.json()) == (413, {"detail": "The body is too large."})


def test_a_chunked_body_is_not_taken_for_an_empty_one(worker):
    job = Job.objects.enqueue(TYPE)
    worker.post("/jobs/claim", {"worker_id": "w"})
    path = f"/jobs/{job.pk}/complete"
    response = send(worker, b"", path=path, headers={"Transfer-Encoding": "chunked"})
    assert (response.status_code, list(response.json())) == (411, ["detail"])
    assert Job.objects.get().status == "running"


def test_too_many_parameters_answer_400(operator, settings):
    settings.DATA_UPLOAD_MAX_NUMBER_FIELDS = 10
    response = operator.get("/jobs?" + "&".join(["queue=q"] * 11))
    assert (response.status_code, response.json()) == (400, {"detail": "The request cannot be read."})


def test_an_answer_that_the_caller_does_not_accept_is_refused_in_json(operator):
    response = operator.get("/jobs", headers={"Accept": "text/html"})
    assert response.status_code == 406
    assert "detail" in response.json()


@pytest.mark.parametrize("error", [OperationalError, InterfaceError])
def test_a_database_that_is_away_answers_503_with_retry_after(worker, error):
    def away(*args):
        raise error("the connection is closed")

    with connection.execute_wrapper(away):
        response = worker.post("/jobs/claim", {"worker_id": "w"})
    assert response.status_code == 503
    assert response["Retry-After"] == "5"
    detail = "The database is away. Try again in 5 seconds."
    assert response.json() == {"detail": detail, "code": "unavailable"}
