"""The last language a holder used, for e-mails that no page sends."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('wallet', '0008_addresses_and_recoveries'),
    ]

    operations = [
        migrations.AddField(
            model_name='wallet',
            name='language',
            field=models.CharField(blank=True, db_default='', default='', editable=False, max_length=10),
        ),
    ]
