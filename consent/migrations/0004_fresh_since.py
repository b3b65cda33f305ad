from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('consent', '0003_more_time_and_registration'),
    ]

    operations = [
        migrations.AddField(
            model_name='consent',
            name='fresh_since',
            field=models.DateTimeField(editable=False, null=True),
        ),
    ]
