"""The text by which receipts are searched, and the index that lists them, built while the service runs."""

from typing import Any

from django.db import migrations, models

from consent.question import sought
from infra.database.concurrent_indexes import AddedConcurrently, RemovedConcurrently

BATCH = 1000


def fill(apps: Any, schema_editor: Any) -> None:
    """Fills in the text of earlier questions, in batches, each in a transaction of its own."""
    rows = apps.get_model('consent', 'Consent').objects.order_by('pk')
    batch = list(rows.only('requester')[:BATCH])
    while batch:
        for row in batch:
            row.requester_sought = sought(f"{row.requester.get('name', '')}\n{row.requester.get('domain', '')}")
        rows.model.objects.bulk_update(batch, ['requester_sought'])
        batch = list(rows.filter(pk__gt=batch[-1].pk).only('requester')[:BATCH])


class Migration(migrations.Migration):

    atomic = False

    dependencies = [
        ('consent', '0004_fresh_since'),
    ]

    operations = [
        migrations.AddField(
            model_name='consent',
            name='requester_sought',
            field=models.TextField(db_default='', default='', editable=False),
        ),
        AddedConcurrently(
            model_name='consent',
            index=models.Index(condition=models.Q(('decided_at__isnull', False)), fields=['wallet', '-decided_at', '-id'], name='consent_receipts_in_order'),
        ),
        migrations.AddField(
            model_name='consent',
            name='email_due',
            field=models.BooleanField(db_default=False, default=False, editable=False),
        ),
        AddedConcurrently(
            model_name='consent',
            index=models.Index(condition=models.Q(('decision', 'granted'), ('email_due', True)), fields=['decided_at'], name='consent_share_emails_due'),
        ),
        RemovedConcurrently(
            model_name='consent',
            name='consent_receipts_of_wallet',
        ),
        migrations.RunPython(fill, migrations.RunPython.noop, elidable=True),
    ]
