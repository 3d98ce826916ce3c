"""The protocol as OpenAPI, by drf-spectacular (the extra ``openapi``).

Importing this package teaches drf-spectacular the calls, so that they stand in the project's own schema;
``document`` is the schema of the protocol alone.
"""

from django_jobqueue.api.schema.generate import document

__all__ = ["document"]
