import uuid

from django.db import migrations, models

class Migration(migrations.Migration):

    dependencies = [
        ('consent', '0001_release_0_2'),
    ]

    operations = [
        migrations.AddField(
            model_name='consent',
            name='deletion_asked_at',
            field=models.DateTimeField(editable=False, null=True, verbose_name='deletion asked'),
        ),
        migrations.CreateModel(
            name='Report',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False, verbose_name='ID')),
                ('requester_id', models.CharField(editable=False, max_length=100, verbose_name='client ID of the requester')),
                ('reason', models.CharField(choices=[('too_much', 'It asks for more than it needs'), ('impostor', 'It is not who it says it is'), ('misuse', 'It uses my details for something else, or passes them on'), ('not_deleted', 'It did not delete my details although I asked'), ('other', 'Something else')], editable=False, max_length=11, verbose_name='reason')),
                ('sealed_text', models.BinaryField(null=True)),
                ('reported_at', models.DateTimeField(editable=False, verbose_name='reported')),
            ],
            options={
                'verbose_name': 'report',
                'verbose_name_plural': 'reports',
                'indexes': [models.Index(fields=['reported_at'], name='consent_reports_by_age')],
            },
        ),
    ]
