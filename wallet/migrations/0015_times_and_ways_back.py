from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('wallet', '0014_audit_entries_in_the_audit_record'),
    ]

    operations = [
        migrations.AddField(
            model_name='errand',
            name='begin_again',
            field=models.CharField(db_default='', default='', editable=False, max_length=200),
        ),
        migrations.AddField(
            model_name='holdersession',
            name='time_zone',
            field=models.CharField(db_default='', default='', editable=False, max_length=64),
        ),
        migrations.AddField(
            model_name='identityverification',
            name='begin_again',
            field=models.CharField(db_default='', default='', editable=False, max_length=200),
        ),
        migrations.AddField(
            model_name='identityverification',
            name='came_from',
            field=models.CharField(db_default='', default='', editable=False, max_length=100),
        ),
    ]
