from django.db import models


class Effect(models.Model):
    """One effect of one run of a handler."""

    name = models.CharField(max_length=200)
    job = models.BigIntegerField(default=0)
    fencing_token = models.BigIntegerField(default=0)
    pid = models.IntegerField(default=0)

    class Meta:
        app_label = "support"
