"""The form that enqueues a job. What may be stored is decided by ``enqueue``; the form shows its answer."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from typing import Any, cast

from django import forms
from django.contrib.admin.widgets import AdminSplitDateTime
from django.core.exceptions import ValidationError
from django.utils.safestring import SafeString
from django.views.decorators.debug import sensitive_variables

from django_jobqueue.admin.filters import known_queues
from django_jobqueue.admin.html import datalist
from django_jobqueue.exceptions import IdempotencyMismatch, InvalidJob
from django_jobqueue.jobs.model import Job
from django_jobqueue.jobs.outsiders import may_read, open_types
from django_jobqueue.jobs.priority import Priority

KEY_TAKEN = "Nothing was enqueued: another job has this key already. Choose another."


class SuggestingInput(forms.TextInput):
    """A text input with suggestions that are asked for when the page is rendered."""

    def __init__(self, suggest: Callable[[], Sequence[str]]) -> None:
        super().__init__({"class": "vTextField"})
        self.suggest = suggest

    def render(self, name: str, value: Any, attrs: Any = None, renderer: Any = None) -> SafeString:
        options = f"jobqueue-{name}-values"
        rendered = super().render(name, value, {**(attrs or {}), "list": options}, renderer)
        return rendered + datalist(options, self.suggest())


class JSONObjectField(forms.CharField):
    """A JSON object to type; empty means ``None``."""

    widget = forms.Textarea(
        {"rows": 8, "cols": 80, "class": "vLargeTextField jobqueue-json", "spellcheck": "false"}
    )

    def clean(self, value: Any) -> Any:
        text = super().clean(value)
        if not text:
            return None
        try:
            value = json.loads(text)
        except json.JSONDecodeError as error:
            raise ValidationError(
                f"This is not JSON: {error.msg} (line {error.lineno}, column {error.colno})."
            ) from None
        except (ValueError, RecursionError):
            raise ValidationError("This is JSON with a number too long or levels too deep to read.") from None
        if not isinstance(value, dict):
            raise ValidationError("This is JSON, but no object: it must be in braces { }.")
        return value


class EnqueueForm(forms.Form):
    """One job to enqueue. ``may_prioritize``: whether ``high`` and above may be chosen."""

    type = forms.CharField(
        widget=SuggestingInput(lambda: sorted(open_types())),
        help_text="A type that has a handler, or one of EXTERNAL_JOB_TYPES.",
    )
    payload = JSONObjectField(
        required=False, help_text="A JSON object; its entries are the handler's arguments. Empty means {}."
    )
    queue = forms.CharField(
        required=False, widget=SuggestingInput(known_queues), help_text="Empty means the handler's queue."
    )
    priority = forms.ChoiceField(required=False, help_text="Jobs of higher priority run first.")
    max_retries = forms.IntegerField(
        required=False,
        help_text="0 never retries. Empty means the handler's number, or the setting MAX_RETRIES.",
    )
    idempotency_key = forms.CharField(
        required=False,
        strip=False,
        widget=forms.TextInput({"class": "vTextField"}),
        help_text="If a job has this key already, that job is shown and nothing is enqueued.",
    )
    run_at = forms.SplitDateTimeField(
        required=False, widget=AdminSplitDateTime(), help_text="Earliest start. Empty means at once."
    )
    meta = JSONObjectField(
        required=False,
        help_text="A JSON object with tags, for example for tracing. Names that start with _ are reserved.",
    )

    FIELDSETS = (
        (None, {"fields": ["type", "payload"]}),
        ("Options", {"fields": ["queue", "priority", "max_retries", "idempotency_key", "run_at", "meta"]}),
    )

    def __init__(self, *args: Any, may_prioritize: bool, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        labels = [str(priority.label) for priority in Priority if may_prioritize or priority < Priority.HIGH]
        field = cast(forms.ChoiceField, self.fields["priority"])
        field.choices = [("", "the handler's"), *zip(labels, labels, strict=True)]
        if not may_prioritize:
            field.help_text += " Your account may not choose high or critical."

    def clean_type(self) -> str:
        given: str = self.cleaned_data["type"]
        if given not in open_types():
            raise ValidationError(
                "No handler has this type, and EXTERNAL_JOB_TYPES does not list it. Choose a suggested one."
            )
        return given

    @sensitive_variables()
    def enqueue(self, user: Any) -> Job | None:
        """Enqueue what was typed; ``None`` when it was refused, and then the form has the errors.

        A key that leads to a job which ``user`` may not see is refused, so that nothing tells what the job has.
        """
        values = self.cleaned_data
        try:
            job = Job.objects.enqueue(
                values["type"],
                values["payload"],
                queue=values["queue"] or None,
                priority=values["priority"] or None,
                max_retries=values["max_retries"],
                idempotency_key=values["idempotency_key"] or None,
                run_at=values["run_at"],
                meta=values["meta"],
                enqueued_by=user.get_username(),
            )
        except InvalidJob as error:
            name = re.split(r"[.\[]", error.field, maxsplit=1)[0]
            inside = "" if name == error.field else f"{error.field}: "
            self.add_error(name if name in self.fields else None, inside + error.problem)
        except IdempotencyMismatch as error:
            holder = Job.objects.using(Job.objects.write_alias).filter(pk=error.job_id).first()
            if holder is not None and _may_see(user, holder):
                problem = f"A job with a different {error.different} has this key; choose another."
            else:
                problem = KEY_TAKEN
            self.add_error("idempotency_key", problem)
        else:
            if not job.replayed or _may_see(user, job):
                return job
            self.add_error("idempotency_key", KEY_TAKEN)
        return None


def _may_see(user: Any, job: Job) -> bool:
    return bool(user.has_perm("django_jobqueue.view_job")) and may_read(user, job)
