from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('wallet', '0015_times_and_ways_back'),
    ]

    operations = [
        migrations.AddField(
            model_name='errand',
            name='details',
            field=models.JSONField(db_default=[], default=list, editable=False),
        ),
    ]
