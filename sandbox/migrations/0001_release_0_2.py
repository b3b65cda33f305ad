"""What plays the other side, as version 0.2.0 has it."""

import django.db.models.deletion
import uuid
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    replaces = [
        ('sandbox', '0001_initial'),
    ]

    dependencies = [
        ('presentation', '0001_release_0_2'),
        ('wallet', '0001_release_0_2'),
    ]

    operations = [
        migrations.CreateModel(
            name='PickedOutcome',
            fields=[
                ('verification', models.OneToOneField(editable=False, on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='+', serialize=False, to='wallet.identityverification')),
                ('outcome', models.CharField(editable=False, max_length=30)),
                ('picked_at', models.DateTimeField(editable=False)),
            ],
            options={
                'abstract': False,
                'default_permissions': [],
            },
        ),
        migrations.CreateModel(
            name='PlaygroundAnswer',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('code_digest', models.CharField(editable=False, max_length=43, unique=True)),
                ('handle', models.CharField(db_index=True, editable=False, max_length=43)),
                ('sealed_form', models.BinaryField()),
                ('expires_at', models.DateTimeField(db_index=True, editable=False)),
            ],
            options={
                'abstract': False,
                'default_permissions': [],
            },
        ),
        migrations.CreateModel(
            name='SelfRegistration',
            fields=[
                ('relying_party', models.OneToOneField(editable=False, on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='self_registration', serialize=False, to='presentation.relyingparty')),
                ('owner', models.EmailField(db_index=True, editable=False, max_length=254)),
                ('expires_at', models.DateTimeField(db_index=True, editable=False)),
            ],
            options={
                'abstract': False,
                'default_permissions': [],
            },
        ),
        migrations.CreateModel(
            name='Letter',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('recipient', models.EmailField(editable=False, max_length=254)),
                ('subject', models.CharField(editable=False, max_length=200)),
                ('text', models.TextField(editable=False)),
                ('sent_at', models.DateTimeField(editable=False)),
            ],
            options={
                'default_permissions': [],
                'indexes': [models.Index(fields=['recipient', '-id'], name='sandbox_newest_letter')],
            },
        ),
    ]
