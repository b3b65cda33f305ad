from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('wallet', '0016_subjects'),
    ]

    operations = [
        migrations.AddField(
            model_name='errand',
            name='details',
            field=models.JSONField(db_default=[], default=list, editable=False),
        ),
    ]
