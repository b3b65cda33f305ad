from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('infra', '0001_initial'),
    ]

    operations = [
        migrations.CreateModel(
            name='LastRun',
            fields=[
                ('command', models.CharField(editable=False, max_length=40, primary_key=True, serialize=False)),
                ('at', models.DateTimeField(editable=False)),
            ],
            options={
                'default_permissions': [],
            },
        ),
    ]
