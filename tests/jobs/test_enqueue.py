def test_a_job_is_pending_with_the_defaults(jobs):
    job = jobs.enqueue("test.noop", {"a": 1})
    assert (job.status, job.queue, job.priority, job.max_retries) == ("pending", "default", 0, 3)
    assert jobs.get(pk=job.pk).payload == {"a": 1}
