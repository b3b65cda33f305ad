"""Steps of the requests of self-registered relying parties, for the desk of their developers."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('presentation', '0019_certified_client_ids'),
        ('sandbox', '0001_release_0_2'),
    ]

    operations = [
        migrations.CreateModel(
            name='Step',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('interaction', models.UUIDField(editable=False, null=True)),
                ('at', models.DateTimeField(db_index=True, editable=False)),
                ('reference', models.CharField(editable=False, max_length=8)),
                ('route', models.CharField(editable=False, max_length=40)),
                ('method', models.CharField(editable=False, max_length=7)),
                ('status', models.PositiveSmallIntegerField(editable=False, null=True)),
                ('error', models.CharField(editable=False, max_length=60)),
                ('sentence', models.CharField(editable=False, max_length=300)),
                ('answer', models.CharField(editable=False, max_length=300)),
                ('relying_party', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='presentation.relyingparty')),
            ],
            options={
                'abstract': False,
                'default_permissions': [],
            },
        ),
    ]
