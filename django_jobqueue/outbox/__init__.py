"""The outbox: what is to be told to others, written in the transaction of what happened.

An outbox message is a job, the relay is a worker: state, attempts, last answer and replay are the job's own.
"""

from django_jobqueue.outbox.enqueue import enqueue_message, enqueue_webhook
from django_jobqueue.outbox.messages import MESSAGE, WEBHOOK

__all__ = ["MESSAGE", "WEBHOOK", "enqueue_message", "enqueue_webhook"]
