from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('wallet', '0005_passkeys'),
    ]

    operations = [
        migrations.AddField(
            model_name='wallet',
            name='share_emails',
            field=models.BooleanField(db_default=False, default=False, editable=False),
        ),
    ]
