from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('infra', '0006_failed_runs'),
    ]

    operations = [
        migrations.AddField(
            model_name='lastrun',
            name='leased_until',
            field=models.DateTimeField(editable=False, null=True),
        ),
    ]
