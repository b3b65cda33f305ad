from django.db import migrations


class Migration(migrations.Migration):
    """Made the mark of the database, whose model is in `infra` now; databases have this migration noted."""

    dependencies = [
        ('keys', '0005_names_of_fields'),
    ]

    operations = [
    ]
