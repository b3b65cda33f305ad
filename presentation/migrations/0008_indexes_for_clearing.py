"""Indexes by which `clear_expired` finds what goes after a day, and one of errands without empty entries."""

import django.db.models.deletion
from django.db import migrations, models

from infra.database.concurrent_indexes import AddedConcurrently, WithoutItsIndexConcurrently


class Migration(migrations.Migration):

    atomic = False

    dependencies = [
        ('presentation', '0007_self_registered'),
    ]

    operations = [
        AddedConcurrently(
            model_name='interaction',
            index=models.Index(condition=models.Q(('outcome', 'token'), _negated=True), fields=['expires_at'], name='presentation_requests_ended'),
        ),
        AddedConcurrently(
            model_name='interaction',
            index=models.Index(condition=models.Q(('errand__isnull', False)), fields=['errand'], name='presentation_requests_sent_on'),
        ),
        AddedConcurrently(
            model_name='webhooksecret',
            index=models.Index(condition=models.Q(('ends_at__isnull', False)), fields=['ends_at'], name='presentation_secrets_ending'),
        ),
        WithoutItsIndexConcurrently(
            model_name='interaction',
            name='errand',
            field=models.ForeignKey(db_index=False, editable=False, null=True, on_delete=django.db.models.deletion.SET_NULL, to='wallet.errand'),
        ),
    ]
