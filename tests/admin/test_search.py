import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from django_jobqueue.models import Job


def keyed(jobs, *keys):
    return [jobs.enqueue("test.noop", idempotency_key=key).pk for key in keys]


def test_a_key_is_found_by_its_beginning(jobs, chief):
    first, second, _ = keyed(jobs, "invoice-42", "invoice-421", "invoice-5")
    assert chief.ids(q="invoice-42") == [second, first]


def test_the_middle_of_a_key_finds_nothing(jobs, chief):
    keyed(jobs, "invoice-42")
    assert chief.ids(q="42") == []
    assert chief.ids(q="nvoice") == []


def test_upper_and_lower_case_differ(jobs, chief):
    lower, upper = keyed(jobs, "invoice", "Invoice")
    assert chief.ids(q="inv") == [lower]
    assert chief.ids(q="Inv") == [upper]


def test_signs_of_pattern_languages_mean_themselves(jobs, chief):
    keyed(jobs, "invoice-1")
    percent, underscore, bracket = keyed(jobs, "100%-off", "in_oice", "[a-z]")
    assert chief.ids(q="1%") == []
    assert chief.ids(q="100%") == [percent]
    assert chief.ids(q="in_") == [underscore]
    assert chief.ids(q="[a-") == [bracket]


@pytest.mark.parametrize("key", ["größe-1", "注文-1", "🧾-1", "\ud7ff-1", "\U0010ffff-1", "a\U0010ffff-1"])
def test_keys_of_any_script_are_found_by_their_beginning(jobs, chief, key):
    (found,) = keyed(jobs, key)
    keyed(jobs, "other", "\ue000", "gros")
    assert chief.ids(q=key[:-2]) == [found]


def test_a_job_is_found_by_its_id(jobs, chief):
    jobs.enqueue("test.noop")
    job = jobs.enqueue("test.noop")
    assert chief.ids(q=str(job.pk)) == [job.pk]
    assert chief.ids(q=f"#{job.pk}") == [job.pk]


def test_a_number_finds_the_id_and_the_keys_that_start_with_it(jobs, chief):
    job = jobs.enqueue("test.noop")
    (keyed_job,) = keyed(jobs, f"{job.pk}-invoice")
    assert chief.ids(q=str(job.pk)) == [keyed_job, job.pk]


@pytest.mark.parametrize("term", [str(2**63), "9" * 200, "٣", "-1", "1.5", "²", " ", "\0", "x" * 5000])
def test_any_term_is_answered(jobs, chief, term):
    jobs.enqueue("test.noop", idempotency_key="a-key")
    assert chief.list(q=term).status_code == 200


def test_the_search_is_a_range_that_the_index_of_the_keys_answers(jobs, chief):
    keyed(jobs, *(f"invoice-{number}" for number in range(50)))
    with CaptureQueriesContext(connection) as queries:
        chief.ids(q="invoice-4")
    asked = [query["sql"] for query in queries if Job._meta.db_table in query["sql"]]
    assert asked
    assert [sql for sql in asked if "LIKE" in sql.upper()] == []
