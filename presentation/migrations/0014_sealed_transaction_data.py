"""Columns for sealed transaction data. Instant on a table of any size.

Rows from before keep theirs in `parameters`, where it is still read: pushed requests live for half an hour,
interactions that nobody answers are deleted a day after they expired, and answering one empties it.
"""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("presentation", "0013_addresses_that_are_called")]

    operations = [
        migrations.AddField(
            model_name=name,
            name="sealed_transaction_data",
            field=models.BinaryField(editable=False, null=True),
        )
        for name in ("interaction", "pushedrequest")
    ]
