"""Keys, as version 0.2.0 has them."""

import uuid
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    replaces = [
        ('keys', '0001_release_0_1'),
    ]

    dependencies = [
    ]

    operations = [
        migrations.CreateModel(
            name='Authority',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('root_pem', models.TextField(editable=False, verbose_name='root, PEM')),
                ('issuing_pem', models.TextField(editable=False, verbose_name='issuing CA, PEM')),
                ('sealed_root_key', models.BinaryField()),
                ('sealed_issuing_key', models.BinaryField()),
                ('created_at', models.DateTimeField(editable=False, verbose_name='made')),
                ('only', models.BooleanField(default=True, editable=False)),
            ],
            options={
                'verbose_name': 'certificate authority',
                'verbose_name_plural': 'certificate authorities',
                'constraints': [models.UniqueConstraint(fields=('only',), name='keys_one_authority'), models.CheckConstraint(condition=models.Q(('only', True)), name='keys_authority_is_the_only')],
            },
        ),
        migrations.CreateModel(
            name='KeyEvent',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('action', models.CharField(choices=[('staged', 'staged'), ('certified', 'certified'), ('activated', 'activated'), ('retired', 'retired'), ('withdrawn', 'withdrawn'), ('destroyed', 'private key destroyed'), ('exported', 'all keys exported'), ('imported', 'all keys imported'), ('resealed', 'everything sealed anew'), ('forgotten', 'values under a lost sealing key emptied')], editable=False, max_length=9, verbose_name='what')),
                ('kid', models.UUIDField(editable=False, null=True, verbose_name='key')),
                ('actor', models.CharField(editable=False, max_length=150, verbose_name='who')),
                ('reason', models.CharField(editable=False, max_length=200, verbose_name='why')),
                ('at', models.DateTimeField(editable=False, verbose_name='when')),
            ],
            options={
                'verbose_name': 'key event',
                'verbose_name_plural': 'key events',
                'ordering': ['-at', '-id'],
                'default_permissions': [],
                'indexes': [models.Index(fields=['-at', '-id'], name='keys_event_newest')],
                'constraints': [models.CheckConstraint(condition=models.Q(('action__in', ['staged', 'certified', 'activated', 'retired', 'withdrawn', 'destroyed', 'exported', 'imported', 'resealed', 'forgotten'])), name='keys_event_action_known'), models.CheckConstraint(condition=models.Q(models.Q(('actor', ''), _negated=True), models.Q(('reason', ''), _negated=True)), name='keys_event_says_who_and_why')],
            },
        ),
        migrations.CreateModel(
            name='SigningKey',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False, verbose_name='key id (kid)')),
                ('state', models.CharField(choices=[('staged', 'staged: next to sign'), ('active', 'active: signs'), ('retired', 'retired: published, no longer signs'), ('withdrawn', 'withdrawn: not published')], default='staged', editable=False, max_length=9, verbose_name='state')),
                ('store', models.CharField(choices=[('software', 'in the database, encrypted'), ('pkcs11', 'in the hardware module')], default='software', editable=False, max_length=8, verbose_name='private key')),
                ('sealed_private_key', models.BinaryField()),
                ('public_key', models.BinaryField()),
                ('chain_pem', models.TextField(blank=True, editable=False, verbose_name='certificates, PEM')),
                ('staged_at', models.DateTimeField(editable=False, verbose_name='staged')),
                ('certified_at', models.DateTimeField(editable=False, null=True, verbose_name='certified')),
                ('activated_at', models.DateTimeField(editable=False, null=True, verbose_name='activated')),
                ('retired_at', models.DateTimeField(editable=False, null=True, verbose_name='retired')),
                ('withdrawn_at', models.DateTimeField(editable=False, null=True, verbose_name='withdrawn')),
                ('destroyed_at', models.DateTimeField(editable=False, null=True, verbose_name='destroyed in its module')),
                ('reason', models.CharField(blank=True, editable=False, max_length=200, verbose_name='reason for the withdrawal')),
            ],
            options={
                'verbose_name': 'signing key',
                'verbose_name_plural': 'signing keys',
                'ordering': ['-staged_at'],
                'constraints': [models.UniqueConstraint(condition=models.Q(('state', 'active')), fields=('state',), name='keys_one_active_signing_key'), models.UniqueConstraint(condition=models.Q(('state', 'staged')), fields=('state',), name='keys_one_staged_signing_key'), models.CheckConstraint(condition=models.Q(models.Q(('activated_at', None), ('state', 'staged'), ('withdrawn_at', None)), models.Q(('activated_at__isnull', False), ('retired_at', None), ('state', 'active'), ('withdrawn_at', None)), models.Q(('activated_at__isnull', False), ('retired_at__isnull', False), ('state', 'retired'), ('withdrawn_at', None)), models.Q(('state', 'withdrawn'), ('withdrawn_at__isnull', False), models.Q(('reason', ''), _negated=True)), _connector='OR'), name='keys_signing_key_state_fits_times'), models.CheckConstraint(condition=models.Q(models.Q(('certified_at', None), ('chain_pem', '')), models.Q(models.Q(('chain_pem', ''), _negated=True), ('certified_at__isnull', False)), _connector='OR'), name='keys_certified_key_has_chain'), models.CheckConstraint(condition=models.Q(models.Q(('state__in', ['active', 'retired']), _negated=True), models.Q(('chain_pem', ''), _negated=True), _connector='OR'), name='keys_active_key_is_certified'), models.CheckConstraint(condition=models.Q(models.Q(('sealed_private_key', b''), ('store', 'pkcs11')), models.Q(('store', 'software'), models.Q(models.Q(('state__in', ['staged', 'active']), _negated=True), models.Q(('sealed_private_key', b''), _negated=True), _connector='OR')), _connector='OR'), name='keys_private_key_is_in_its_store'), models.CheckConstraint(condition=models.Q(('destroyed_at', None), models.Q(('state__in', ['retired', 'withdrawn']), ('store', 'pkcs11')), _connector='OR'), name='keys_only_ended_key_is_destroyed')],
            },
        ),
    ]
