"""The task."""

try:
    from django.tasks import task
except ImportError:
    from django_tasks import task


@task
def noop(number: int) -> None:
    """Nothing, so that only the queue's own cost is left."""
