"""Consent records, as version 0.2.0 has them."""

import django.db.models.deletion
import uuid
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    replaces = [
        ('consent', '0001_release_0_1'),
        ('consent', '0002_scopes'),
        ('consent', '0003_more_time_and_registration'),
        ('consent', '0004_fresh_since'),
        ('consent', '0005_searched_receipts'),
        ('consent', '0006_without_a_person'),
        ('consent', '0007_one_index_less'),
    ]

    dependencies = [
        ('wallet', '0001_release_0_2'),
    ]

    operations = [
        migrations.CreateModel(
            name='Consent',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False, verbose_name='ID')),
                ('requester_id', models.CharField(editable=False, max_length=100, verbose_name='client ID of the requester')),
                ('requester', models.JSONField(editable=False)),
                ('claims', models.JSONField(editable=False)),
                ('optional_claims', models.JSONField(db_default=[], default=list, editable=False)),
                ('switched_on', models.JSONField(db_default=[], default=list, editable=False, verbose_name='optional claims shared')),
                ('alternatives', models.BooleanField(db_default=False, default=False, editable=False)),
                ('requester_since', models.DateField(editable=False, null=True, verbose_name='requester registered')),
                ('requester_is_unchecked', models.BooleanField(db_default=False, default=False, editable=False, verbose_name='requester registered itself')),
                ('requester_sought', models.TextField(db_default='', default='', editable=False)),
                ('transactions', models.JSONField(editable=False)),
                ('sealed_transactions', models.BinaryField(null=True)),
                ('request_hash', models.CharField(editable=False, max_length=64, verbose_name='hash of the request')),
                ('return_to', models.CharField(editable=False, max_length=200)),
                ('decision', models.CharField(choices=[('asked', 'not answered'), ('granted', 'shared'), ('declined', 'not shared')], default='asked', editable=False, max_length=8, verbose_name='answer')),
                ('asked_at', models.DateTimeField(editable=False, verbose_name='asked')),
                ('expires_at', models.DateTimeField(editable=False, verbose_name='open until')),
                ('extendable_until', models.DateTimeField(editable=False, null=True, verbose_name='extendable until')),
                ('decided_at', models.DateTimeField(editable=False, null=True, verbose_name='answered')),
                ('fresh_since', models.DateTimeField(editable=False, null=True)),
                ('undelivered_at', models.DateTimeField(editable=False, null=True, verbose_name='found undeliverable')),
                ('email_due', models.BooleanField(db_default=False, default=False, editable=False)),
                ('erased_at', models.DateTimeField(editable=False, null=True, verbose_name='transactions erased')),
                ('wallet', models.ForeignKey(db_index=False, editable=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='consents', to='wallet.wallet')),
            ],
            options={
                'verbose_name': 'consent',
                'verbose_name_plural': 'consents',
                'indexes': [models.Index(condition=models.Q(('decided_at__isnull', False)), fields=['wallet', '-decided_at', '-id'], name='consent_receipts_in_order'), models.Index(fields=['-asked_at'], name='consent_newest_first'), models.Index(fields=['wallet', 'requester_id', '-decided_at'], name='consent_last_shared_with'), models.Index(condition=models.Q(('decision', 'granted'), ('email_due', True)), fields=['decided_at'], name='consent_share_emails_due'), models.Index(condition=models.Q(('decision', 'asked')), fields=['expires_at'], name='consent_unanswered_by_expiry'), models.Index(condition=models.Q(('sealed_transactions__isnull', False)), fields=['asked_at'], name='consent_transactions_by_age')],
                'constraints': [models.CheckConstraint(condition=models.Q(models.Q(('decision', 'asked'), ('decided_at__isnull', True)), models.Q(('decision__in', ['granted', 'declined']), ('decided_at__isnull', False)), _connector='OR'), name='consent_decided_once'), models.CheckConstraint(condition=models.Q(('undelivered_at', None), ('decision', 'granted'), _connector='OR'), name='consent_undelivered_was_granted'), models.CheckConstraint(condition=models.Q(('erased_at', None), ('sealed_transactions', None), _connector='OR'), name='consent_erased_transactions_are_gone')],
            },
        ),
    ]
