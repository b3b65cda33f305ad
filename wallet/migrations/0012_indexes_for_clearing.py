"""Indexes by which `clear_expired` finds identities, checks and recoveries, built while the service runs."""

from django.db import migrations, models

from infra.database.concurrent_indexes import AddedConcurrently


class Migration(migrations.Migration):

    atomic = False

    dependencies = [
        ('wallet', '0011_status_words'),
    ]

    operations = [
        AddedConcurrently(
            model_name='statusentry',
            index=models.Index(condition=models.Q(('expires_at', None)), fields=['status_list', 'idx'], name='wallet_status_entries_blank'),
        ),
        AddedConcurrently(
            model_name='credential',
            index=models.Index(condition=models.Q(('erased_at', None)), fields=['expires_at'], name='wallet_identities_to_erase'),
        ),
        AddedConcurrently(
            model_name='credential',
            index=models.Index(condition=models.Q(('erased_at', None), ('state', 'revoked')), fields=['revoked_at'], name='wallet_revoked_to_erase'),
        ),
        AddedConcurrently(
            model_name='credential',
            index=models.Index(condition=models.Q(('erased_at__isnull', False)), fields=['erased_at'], name='wallet_identities_erased'),
        ),
        AddedConcurrently(
            model_name='identityverification',
            index=models.Index(fields=['changed_at'], name='wallet_verification_oldest'),
        ),
        AddedConcurrently(
            model_name='recovery',
            index=models.Index(condition=models.Q(('state', 'asked')), fields=['asked_at'], name='wallet_recoveries_asked'),
        ),
        AddedConcurrently(
            model_name='recovery',
            index=models.Index(condition=models.Q(('ended_at__isnull', False)), fields=['ended_at'], name='wallet_recoveries_ended'),
        ),
    ]
