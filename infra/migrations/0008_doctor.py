from datetime import timedelta

from django.db import migrations, models
from django.utils.timezone import now


def begin_to_watch(apps, schema_editor):
    """Of an existing database: the doctor is due at once, and must not look like a command that fails."""
    if apps.get_model('infra', 'DatabaseMark').objects.exists():
        an_hour_ago = now() - timedelta(hours=1)
        apps.get_model('infra', 'LastRun').objects.get_or_create(command='doctor', defaults={'at': an_hour_ago})


class Migration(migrations.Migration):

    dependencies = [
        ('infra', '0007_job_leases'),
    ]

    operations = [
        migrations.CreateModel(
            name='Diagnosis',
            fields=[
                ('name', models.CharField(editable=False, max_length=40, primary_key=True, serialize=False)),
                ('state', models.PositiveSmallIntegerField(editable=False)),
                ('seen', models.TextField(editable=False)),
                ('todo', models.TextField(editable=False)),
                ('at', models.DateTimeField(editable=False)),
            ],
            options={
                'default_permissions': [],
            },
        ),
        migrations.RunPython(begin_to_watch, migrations.RunPython.noop),
    ]
