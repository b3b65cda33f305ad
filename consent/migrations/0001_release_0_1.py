"""Consent records, as version 0.1.0 has them.

A database of version 0.1.0 has run all that this replaces. An older one is brought to 0.1.0 first, see
docs/operate.md.
"""

import django.db.models.deletion
import uuid
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    replaces = [
        ('consent', '0001_initial'),
        ('consent', '0002_undelivered'),
        ('consent', '0003_names_of_fields'),
        ('consent', '0004_sealed_transactions'),
        ('consent', '0005_transactions_by_age'),
        ('consent', '0006_seal_transactions'),
    ]

    dependencies = [
        ('wallet', '0001_release_0_1'),
    ]

    operations = [
        migrations.CreateModel(
            name='Consent',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False, verbose_name='ID')),
                ('requester_id', models.CharField(editable=False, max_length=100, verbose_name='client ID of the requester')),
                ('requester', models.JSONField(editable=False)),
                ('claims', models.JSONField(editable=False)),
                ('transactions', models.JSONField(editable=False)),
                ('sealed_transactions', models.BinaryField(null=True)),
                ('request_hash', models.CharField(editable=False, max_length=64, verbose_name='hash of the request')),
                ('return_to', models.CharField(editable=False, max_length=200)),
                ('decision', models.CharField(choices=[('asked', 'not answered'), ('granted', 'shared'), ('declined', 'not shared')], default='asked', editable=False, max_length=8, verbose_name='answer')),
                ('asked_at', models.DateTimeField(editable=False, verbose_name='asked')),
                ('expires_at', models.DateTimeField(editable=False, verbose_name='open until')),
                ('decided_at', models.DateTimeField(editable=False, null=True, verbose_name='answered')),
                ('undelivered_at', models.DateTimeField(editable=False, null=True, verbose_name='found undeliverable')),
                ('erased_at', models.DateTimeField(editable=False, null=True, verbose_name='transactions erased')),
                ('wallet', models.ForeignKey(editable=False, on_delete=django.db.models.deletion.PROTECT, related_name='consents', to='wallet.wallet')),
            ],
            options={
                'verbose_name': 'consent',
                'verbose_name_plural': 'consents',
                'indexes': [models.Index(fields=['wallet', '-decided_at'], name='consent_receipts_of_wallet'), models.Index(fields=['-asked_at'], name='consent_newest_first'), models.Index(fields=['wallet', 'requester_id', '-decided_at'], name='consent_last_shared_with'), models.Index(condition=models.Q(('decision', 'asked')), fields=['expires_at'], name='consent_unanswered_by_expiry'), models.Index(condition=models.Q(('sealed_transactions__isnull', False)), fields=['asked_at'], name='consent_transactions_by_age')],
                'constraints': [models.CheckConstraint(condition=models.Q(models.Q(('decision', 'asked'), ('decided_at__isnull', True)), models.Q(('decision__in', ['granted', 'declined']), ('decided_at__isnull', False)), _connector='OR'), name='consent_decided_once'), models.CheckConstraint(condition=models.Q(('undelivered_at', None), ('decision', 'granted'), _connector='OR'), name='consent_undelivered_was_granted'), models.CheckConstraint(condition=models.Q(('erased_at', None), ('sealed_transactions', None), _connector='OR'), name='consent_erased_transactions_are_gone')],
            },
        ),
    ]
