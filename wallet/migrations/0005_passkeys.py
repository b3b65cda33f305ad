import django.db.models.deletion
import uuid
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('wallet', '0004_browsers_and_open_errands'),
    ]

    operations = [
        migrations.CreateModel(
            name='PasskeyChallenge',
            fields=[
                ('digest', models.CharField(editable=False, max_length=64, primary_key=True, serialize=False)),
                ('purpose', models.CharField(editable=False, max_length=10)),
                ('bound_to', models.CharField(editable=False, max_length=64)),
                ('subject', models.CharField(blank=True, editable=False, max_length=36)),
                ('expires_at', models.DateTimeField(db_index=True, editable=False)),
            ],
            options={
                'abstract': False,
                'default_permissions': [],
            },
        ),
        migrations.AddField(
            model_name='wallet',
            name='passkey_offered_at',
            field=models.DateTimeField(editable=False, null=True),
        ),
        migrations.CreateModel(
            name='Passkey',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('name', models.CharField(editable=False, max_length=60)),
                ('credential_id', models.CharField(editable=False, max_length=1364, unique=True)),
                ('public_key', models.BinaryField()),
                ('sign_count', models.BigIntegerField(editable=False)),
                ('transports', models.JSONField(default=list, editable=False)),
                ('backed_up', models.BooleanField(editable=False)),
                ('created_at', models.DateTimeField(editable=False)),
                ('last_used_at', models.DateTimeField(editable=False, null=True)),
                ('wallet', models.ForeignKey(editable=False, on_delete=django.db.models.deletion.CASCADE, related_name='passkeys', to='wallet.wallet')),
            ],
            options={
                'ordering': ['created_at', 'id'],
                'default_permissions': [],
            },
        ),
    ]
