from django.db import migrations, models
from django.utils import timezone


def have_been_told(apps, schema_editor):
    """Nobody gets an e-mail about an identity that ended or was revoked before there were such e-mails."""
    credentials = apps.get_model("wallet", "Credential").objects
    credentials.filter(expires_at__lte=timezone.now()).update(notice="ended")
    credentials.filter(state="revoked").update(notice="revoked")


class Migration(migrations.Migration):

    dependencies = [
        ('wallet', '0002_identity_providers'),
    ]

    operations = [
        migrations.AddField(
            model_name='credential',
            name='erased_at',
            field=models.DateTimeField(editable=False, null=True, verbose_name='erased'),
        ),
        migrations.AddField(
            model_name='credential',
            name='notice',
            field=models.CharField(blank=True, db_default='', default='', editable=False, max_length=10),
        ),
        migrations.AddField(
            model_name='credential',
            name='notice_until',
            field=models.DateTimeField(editable=False, null=True),
        ),
        migrations.AddField(
            model_name='credential',
            name='revoked_at',
            field=models.DateTimeField(editable=False, null=True, verbose_name='revoked'),
        ),
        migrations.AddField(
            model_name='errand',
            name='renewal',
            field=models.BooleanField(db_default=False, default=False, editable=False),
        ),
        migrations.AddField(
            model_name='identityverification',
            name='notice_due',
            field=models.CharField(blank=True, db_default='', default='', editable=False, max_length=10),
        ),
        migrations.AddField(
            model_name='identityverification',
            name='notice_until',
            field=models.DateTimeField(editable=False, null=True),
        ),
        migrations.RunPython(have_been_told, migrations.RunPython.noop),
    ]
