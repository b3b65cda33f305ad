from django.db import migrations, models

class Migration(migrations.Migration):

    dependencies = [
        ('consent', '0009_minutes_ahead'),
    ]

    operations = [
        migrations.AddField(
            model_name='consent',
            name='told',
            field=models.JSONField(db_default=[], default=list, editable=False, verbose_name='told without sharing'),
        ),
    ]
