"""The index of consents by wallet goes: another index begins with the wallet too."""

import django.db.models.deletion
from django.db import migrations, models

from infra.database.concurrent_indexes import WithoutItsIndexConcurrently


class Migration(migrations.Migration):

    atomic = False

    dependencies = [
        ('consent', '0006_without_a_person'),
    ]

    operations = [
        WithoutItsIndexConcurrently(
            model_name='consent',
            name='wallet',
            field=models.ForeignKey(db_index=False, editable=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='consents', to='wallet.wallet'),
        ),
    ]
