from django.db import migrations, models

class Migration(migrations.Migration):

    dependencies = [
        ('consent', '0008_requesters_asked_to_delete_and_reported'),
    ]

    operations = [
        migrations.AddField(
            model_name='consent',
            name='minutes_ahead',
            field=models.SmallIntegerField(editable=False, null=True, verbose_name='minutes ahead of UTC, for ages'),
        ),
    ]
