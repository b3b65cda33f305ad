from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('presentation', '0014_pushed_requests_know_their_interactions'),
    ]

    operations = [
        migrations.AddField(
            model_name='relyingparty',
            name='initiate_login_uri',
            field=models.URLField(blank=True, db_default='', default='', help_text='Where holders begin again after a long identity check, by https on a host of answers.', max_length=500, verbose_name='address where requests begin'),
        ),
    ]
