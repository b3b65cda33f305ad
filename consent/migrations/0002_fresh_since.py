from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('consent', '0001_release_0_1'),
    ]

    operations = [
        migrations.AddField(
            model_name='consent',
            name='fresh_since',
            field=models.DateTimeField(editable=False, null=True),
        ),
    ]
