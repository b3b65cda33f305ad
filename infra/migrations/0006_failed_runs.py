from django.db import migrations, models
from django.utils.timezone import now


def begin_to_watch(apps, schema_editor):
    """Of an existing database: these two commands were not recorded before, which must not look like a failure."""
    if apps.get_model('infra', 'DatabaseMark').objects.exists():
        for command in ('rotate_signing_keys', 'sign_audit_record'):
            apps.get_model('infra', 'LastRun').objects.get_or_create(command=command, defaults={'at': now()})


class Migration(migrations.Migration):

    dependencies = [
        ('infra', '0001_release_0_2'),
    ]

    operations = [
        migrations.AddField(
            model_name='lastrun',
            name='failures',
            field=models.PositiveIntegerField(db_default=0, editable=False),
        ),
        migrations.RunPython(begin_to_watch, migrations.RunPython.noop),
    ]
