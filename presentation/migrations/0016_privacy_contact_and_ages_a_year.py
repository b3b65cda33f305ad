from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('presentation', '0015_where_requests_begin'),
    ]

    operations = [
        migrations.AddField(
            model_name='relyingparty',
            name='privacy_contact',
            field=models.EmailField(blank=True, db_default='', default='', help_text='Whom holders ask to delete what they shared. Shown to them.', max_length=254, verbose_name='privacy contact'),
        ),
        migrations.AddField(
            model_name='relyingparty',
            name='most_ages_a_year',
            field=models.PositiveSmallIntegerField(blank=True, help_text='How many ages beside 18 it may learn from one person in a year. Further requests cannot be met.', null=True, verbose_name='different ages a year'),
        ),
    ]
