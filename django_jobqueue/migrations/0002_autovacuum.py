from django.db import migrations


def tune(apps, schema_editor):
    from django_jobqueue.vendors import vendor_for

    table = apps.get_model("django_jobqueue", "Job")._meta.db_table
    vendor_for(schema_editor.connection).tune_table(schema_editor, table)


class Migration(migrations.Migration):
    dependencies = [("django_jobqueue", "0001_initial")]

    operations = [migrations.RunPython(tune, migrations.RunPython.noop)]
