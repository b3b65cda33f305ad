"""Indexes by which callbacks and the sweep find attempts, built while the service runs."""

from django.db import migrations, models

from infra.database.concurrent_indexes import AddedConcurrently


class Migration(migrations.Migration):

    atomic = False

    dependencies = [
        ('wallet', '0002_identity_providers'),
    ]

    operations = [
        AddedConcurrently(
            model_name='identityverification',
            index=models.Index(fields=['provider', 'provider_reference'], name='wallet_verification_reference'),
        ),
        AddedConcurrently(
            model_name='identityverification',
            index=models.Index(condition=models.Q(('kept_by_provider', True)), fields=['id'], name='wallet_verification_kept_away'),
        ),
    ]
