import pytest

from django_jobqueue.models import Status
from django_jobqueue.vendors import Now


def job_in(jobs, status, **options):
    job = jobs.enqueue("test.noop", **options)
    if status == "scheduled":
        jobs.filter(pk=job.pk).update(status=status, run_at=Now(60))
        return job
    if status == "cancelled":
        return jobs.cancel(job.pk)
    if status == "pending":
        return job
    jobs.claim(worker_id="worker-1", queues=[job.queue])
    if status == "completed":
        return jobs.complete(job.pk)
    if status == "failed":
        return jobs.fail(job.pk, error="boom", retryable=False)
    if status == "stale":
        jobs.filter(pk=job.pk).update(lease_expires_at=Now(-1))
    return job


@pytest.mark.parametrize("status", [*Status.values, "stale"])
def test_each_status_can_be_chosen(jobs, chief, status):
    others = {other: job_in(jobs, other, queue=other) for other in [*Status.values, "stale"]}
    expected = [others["stale"].pk] * (status == "running") + [others[status].pk]
    assert sorted(chief.ids(status=status)) == sorted(expected)


@pytest.mark.parametrize(
    ("label", "values"),
    [("low", [-5, 0, 9]), ("medium", [10, 19]), ("high", [20, 29]), ("critical", [30, 100])],
)
def test_a_priority_label_covers_the_numbers_up_to_the_next(jobs, chief, label, values):
    for value in (-5, 0, 9, 10, 19, 20, 29, 30, 100):
        jobs.enqueue("test.noop", priority=value)
    shown = chief.list(priority=label).context["cl"].result_list
    assert sorted(job.priority for job in shown) == values


def test_a_queue_is_compared_exactly(jobs, chief):
    mail = jobs.enqueue("test.noop", queue="mail")
    jobs.enqueue("test.noop", queue="Mail")
    jobs.enqueue("test.noop", queue="mails")
    assert chief.ids(queue="mail") == [mail.pk]


def test_a_type_is_compared_exactly(jobs, chief):
    jobs.enqueue("test.noop")
    echo = jobs.enqueue("test.echo")
    assert chief.ids(type="test.echo") == [echo.pk]


def test_filters_narrow_each_other(jobs, chief):
    both = job_in(jobs, "failed", queue="mail")
    jobs.enqueue("test.noop", queue="mail")
    job_in(jobs, "failed")
    assert chief.ids(queue="mail", status="failed") == [both.pk]


def test_the_queue_input_keeps_the_other_choices(jobs, chief):
    page = chief.list(status="failed", q="invoice").content.decode()
    assert '<input type="hidden" name="status" value="failed">' in page
    assert '<input type="hidden" name="q" value="invoice">' in page


def test_the_type_input_suggests_the_types_that_the_project_knows(settings, chief):
    settings.JOBQUEUE = {"EXTERNAL_JOB_TYPES": ["resize-video"]}
    page = chief.list().content.decode()
    assert '<option value="test.noop">' in page
    assert '<option value="resize-video">' in page


@pytest.mark.parametrize("query", [{"status": "bogus"}, {"priority": "7"}])
def test_a_choice_that_does_not_exist_sends_back_to_the_list(chief, query):
    assert chief.list(**query).status_code == 302


@pytest.mark.parametrize("value", ["\0", "\ud800".encode("utf-8", "surrogatepass"), "x" * 5000])
def test_a_queue_that_cannot_exist_finds_nothing(jobs, chief, value):
    jobs.enqueue("test.noop")
    assert chief.ids(queue=value) == []


@pytest.mark.parametrize(
    "lookup", ["payload__contains", "error__startswith", "id__gt", "worker_id", "attempts__message"]
)
def test_no_other_field_can_be_filtered_by(jobs, chief, lookup):
    assert chief.list(**{lookup: "x"}).status_code == 400
