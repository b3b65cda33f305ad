"""Wallets, as version 0.1.0 has them.

A database of version 0.1.0 has run all that this replaces. An older one is brought to 0.1.0 first, see
docs/operate.md.
"""

import django.db.models.deletion
import uuid
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    replaces = [
        ('wallet', '0001_initial'),
        ('wallet', '0002_status_lists'),
        ('wallet', '0003_names_of_fields'),
        ('wallet', '0004_sign_in_links'),
    ]

    dependencies = [
        ('keys', '0001_release_0_1'),
    ]

    operations = [
        migrations.CreateModel(
            name='KnownBrowser',
            fields=[
                ('key', models.CharField(editable=False, max_length=64, primary_key=True, serialize=False)),
                ('expires_at', models.DateTimeField(db_index=True, editable=False)),
            ],
            options={
                'default_permissions': [],
            },
        ),
        migrations.CreateModel(
            name='LoginLink',
            fields=[
                ('digest', models.CharField(editable=False, max_length=64, primary_key=True, serialize=False)),
                ('email', models.EmailField(editable=False, max_length=254)),
                ('expires_at', models.DateTimeField(db_index=True, editable=False)),
                ('used_at', models.DateTimeField(editable=False, null=True)),
            ],
            options={
                'default_permissions': [],
            },
        ),
        migrations.CreateModel(
            name='Errand',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('browser', models.CharField(editable=False, max_length=64)),
                ('email', models.EmailField(editable=False, max_length=254)),
                ('on_behalf_of', models.CharField(blank=True, editable=False, max_length=100)),
                ('return_to', models.CharField(editable=False, max_length=200)),
                ('leave_to', models.CharField(editable=False, max_length=200)),
                ('fresh_since', models.DateTimeField(editable=False, null=True)),
                ('code_sent_at', models.DateTimeField(editable=False, null=True)),
                ('link_until', models.DateTimeField(editable=False, null=True)),
                ('created_at', models.DateTimeField(editable=False)),
                ('expires_at', models.DateTimeField(db_index=True, editable=False)),
            ],
            options={
                'default_permissions': [],
                'indexes': [models.Index(fields=['browser', '-created_at'], name='wallet_errands_of_browser')],
            },
        ),
        migrations.CreateModel(
            name='IdentityVerification',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False, verbose_name='ID')),
                ('state', models.CharField(choices=[('created', 'created'), ('started', 'started'), ('submitted', 'submitted'), ('processing', 'processing'), ('resubmit', 'to be submitted again'), ('review', 'in review by a person'), ('approved', 'approved'), ('declined', 'declined'), ('error', 'provider error'), ('abandoned', 'abandoned'), ('cancelled', 'cancelled'), ('expired', 'expired')], default='created', editable=False, max_length=10)),
                ('provider', models.CharField(editable=False, max_length=100)),
                ('provider_reference', models.CharField(blank=True, editable=False, max_length=200, verbose_name='provider’s reference')),
                ('reason', models.CharField(blank=True, editable=False, max_length=40)),
                ('submissions', models.PositiveSmallIntegerField(default=0, editable=False)),
                ('sealed_claims', models.BinaryField(null=True)),
                ('created_at', models.DateTimeField(editable=False, verbose_name='begun')),
                ('changed_at', models.DateTimeField(editable=False, verbose_name='last change')),
                ('errand', models.ForeignKey(editable=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='wallet.errand')),
            ],
            options={
                'ordering': ['-created_at'],
                'default_permissions': ['view', 'change'],
            },
        ),
        migrations.CreateModel(
            name='IdentityVerificationTransition',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('from_state', models.CharField(blank=True, editable=False, max_length=10)),
                ('to_state', models.CharField(editable=False, max_length=10)),
                ('actor', models.CharField(editable=False, max_length=150, verbose_name='who')),
                ('reason', models.CharField(blank=True, editable=False, max_length=200, verbose_name='why')),
                ('at', models.DateTimeField(editable=False, verbose_name='when')),
                ('verification', models.ForeignKey(editable=False, on_delete=django.db.models.deletion.CASCADE, related_name='transitions', to='wallet.identityverification')),
            ],
            options={
                'ordering': ['at', 'id'],
                'default_permissions': ['view'],
            },
        ),
        migrations.CreateModel(
            name='LoginCode',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('digest', models.CharField(editable=False, max_length=64)),
                ('tries_left', models.PositiveSmallIntegerField(editable=False)),
                ('own_allowance', models.BooleanField(db_default=False, default=False, editable=False)),
                ('sent_at', models.DateTimeField(editable=False)),
                ('expires_at', models.DateTimeField(db_index=True, editable=False)),
                ('used_at', models.DateTimeField(editable=False, null=True)),
                ('errand', models.OneToOneField(editable=False, on_delete=django.db.models.deletion.CASCADE, related_name='code', to='wallet.errand')),
            ],
            options={
                'default_permissions': [],
            },
        ),
        migrations.CreateModel(
            name='StatusEvent',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('action', models.CharField(choices=[('invalidated', 'invalidated'), ('suspended', 'suspended'), ('reinstated', 'reinstated')], editable=False, max_length=11, verbose_name='what')),
                ('subject', models.CharField(choices=[('presented', 'presented credential'), ('credential', 'credential'), ('wallet', 'wallet'), ('key', 'everything a key signed')], editable=False, max_length=10, verbose_name='of')),
                ('subject_id', models.CharField(editable=False, max_length=40, verbose_name='ID')),
                ('count', models.PositiveIntegerField(editable=False, verbose_name='presented credentials hit')),
                ('actor', models.CharField(editable=False, max_length=150, verbose_name='who')),
                ('reason', models.CharField(editable=False, max_length=200, verbose_name='why')),
                ('at', models.DateTimeField(editable=False, verbose_name='when')),
            ],
            options={
                'verbose_name': 'status event',
                'verbose_name_plural': 'status events',
                'ordering': ['-at', '-id'],
                'default_permissions': [],
                'indexes': [models.Index(fields=['-at', '-id'], name='wallet_status_event_newest')],
                'constraints': [models.CheckConstraint(condition=models.Q(('action__in', ['invalidated', 'suspended', 'reinstated']), ('subject__in', ['presented', 'credential', 'wallet', 'key'])), name='wallet_status_event_known'), models.CheckConstraint(condition=models.Q(models.Q(('actor', ''), _negated=True), models.Q(('reason', ''), _negated=True)), name='wallet_status_event_says_who_and_why')],
            },
        ),
        migrations.CreateModel(
            name='StatusList',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('slot', models.PositiveSmallIntegerField(editable=False)),
                ('size', models.PositiveIntegerField(default=1048576, editable=False)),
                ('opened_at', models.DateTimeField(editable=False)),
                ('closed_at', models.DateTimeField(editable=False, null=True)),
                ('retired_at', models.DateTimeField(editable=False, null=True)),
                ('checked_at', models.DateTimeField(editable=False, null=True)),
                ('signed_at', models.DateTimeField(editable=False, null=True)),
                ('kid', models.UUIDField(editable=False, null=True)),
                ('content', models.CharField(blank=True, editable=False, max_length=64)),
                ('token', models.TextField(blank=True, editable=False)),
            ],
            options={
                'default_permissions': [],
                'indexes': [models.Index(condition=models.Q(('retired_at', None)), fields=['id'], name='wallet_status_lists_published')],
                'constraints': [models.UniqueConstraint(condition=models.Q(('closed_at', None)), fields=('slot',), name='wallet_one_open_status_list_per_slot'), models.CheckConstraint(condition=models.Q(('slot__in', [0, 1])), name='wallet_status_list_slot_known'), models.CheckConstraint(condition=models.Q(('retired_at', None), ('closed_at__isnull', False), _connector='OR'), name='wallet_retired_status_list_is_closed')],
            },
        ),
        migrations.CreateModel(
            name='Wallet',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False, verbose_name='ID')),
                ('email', models.EmailField(editable=False, max_length=254, unique=True, verbose_name='e-mail address')),
                ('state', models.CharField(choices=[('active', 'active'), ('suspended', 'suspended')], default='active', editable=False, max_length=9)),
                ('suspension_reason', models.CharField(blank=True, editable=False, max_length=200, verbose_name='reason for suspension')),
                ('created_at', models.DateTimeField(editable=False, verbose_name='opened')),
            ],
            options={
                'ordering': ['-created_at'],
                'default_permissions': ['view', 'change'],
                'indexes': [models.Index(fields=['-created_at'], name='wallet_newest'), models.Index(condition=models.Q(('state', 'suspended')), fields=['id'], name='wallets_suspended')],
                'constraints': [models.CheckConstraint(condition=models.Q(('state__in', ['active', 'suspended'])), name='wallet_state_known')],
            },
        ),
        migrations.AddField(
            model_name='identityverification',
            name='wallet',
            field=models.ForeignKey(editable=False, on_delete=django.db.models.deletion.CASCADE, related_name='verifications', to='wallet.wallet'),
        ),
        migrations.CreateModel(
            name='HolderSession',
            fields=[
                ('digest', models.CharField(editable=False, max_length=64, primary_key=True, serialize=False)),
                ('signed_in_at', models.DateTimeField(editable=False)),
                ('last_seen_at', models.DateTimeField(editable=False)),
                ('expires_at', models.DateTimeField(db_index=True, editable=False)),
                ('wallet', models.ForeignKey(editable=False, on_delete=django.db.models.deletion.CASCADE, related_name='sessions', to='wallet.wallet')),
            ],
            options={
                'default_permissions': [],
            },
        ),
        migrations.CreateModel(
            name='Credential',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False, verbose_name='ID')),
                ('state', models.CharField(choices=[('valid', 'valid'), ('suspended', 'suspended'), ('revoked', 'revoked')], default='valid', editable=False, max_length=9)),
                ('sealed_identity', models.BinaryField()),
                ('issued_at', models.DateTimeField(editable=False, verbose_name='issued')),
                ('expires_at', models.DateTimeField(db_index=True, editable=False, verbose_name='ends')),
                ('verification', models.ForeignKey(editable=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='wallet.identityverification')),
                ('wallet', models.OneToOneField(editable=False, on_delete=django.db.models.deletion.CASCADE, related_name='credential', to='wallet.wallet')),
            ],
            options={
                'ordering': ['-issued_at'],
                'default_permissions': ['view', 'change'],
            },
        ),
        migrations.CreateModel(
            name='StatusEntry',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('idx', models.PositiveIntegerField(editable=False)),
                ('reference', models.UUIDField(editable=False, null=True, verbose_name='receipt')),
                ('status', models.PositiveSmallIntegerField(choices=[(0, 'valid'), (1, 'invalid'), (2, 'suspended')], default=0, editable=False, verbose_name='status of its own')),
                ('expires_at', models.DateTimeField(editable=False, null=True, verbose_name='ends')),
                ('credential', models.ForeignKey(db_index=False, editable=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='entries', to='wallet.credential')),
                ('signing_key', models.ForeignKey(db_constraint=False, db_index=False, editable=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='keys.signingkey', verbose_name='signed by')),
                ('status_list', models.ForeignKey(db_constraint=False, db_index=False, editable=False, on_delete=django.db.models.deletion.PROTECT, related_name='entries', to='wallet.statuslist')),
            ],
            options={
                'verbose_name': 'presented credential',
                'verbose_name_plural': 'presented credentials',
                'ordering': ['-expires_at', '-id'],
                'default_permissions': [],
                'indexes': [models.Index(condition=models.Q(('expires_at__isnull', False)), fields=['expires_at'], name='wallet_status_entries_ending'), models.Index(condition=models.Q(('credential__isnull', False)), fields=['credential'], name='wallet_status_entries_of'), models.Index(condition=models.Q(('status', 0), _negated=True), fields=['status_list'], name='wallet_status_entries_changed')],
                'constraints': [models.UniqueConstraint(fields=('status_list', 'idx'), name='wallet_status_entry_given_once'), models.CheckConstraint(condition=models.Q(('status__in', [0, 1, 2])), name='wallet_status_entry_known'), models.CheckConstraint(condition=models.Q(models.Q(('credential__isnull', False), ('expires_at__isnull', False), ('signing_key__isnull', False)), models.Q(('credential', None), ('expires_at', None), ('reference', None), ('signing_key', None), ('status', 0)), _connector='OR'), name='wallet_swept_status_entry_is_blank')],
            },
        ),
        migrations.AddIndex(
            model_name='identityverification',
            index=models.Index(fields=['state', 'changed_at'], name='wallet_verification_idle'),
        ),
        migrations.AddIndex(
            model_name='identityverification',
            index=models.Index(fields=['wallet', '-created_at'], name='wallet_verification_newest'),
        ),
        migrations.AddConstraint(
            model_name='identityverification',
            constraint=models.CheckConstraint(condition=models.Q(('state__in', ['created', 'started', 'submitted', 'processing', 'resubmit', 'review', 'approved', 'declined', 'error', 'abandoned', 'cancelled', 'expired'])), name='wallet_verification_state_known'),
        ),
        migrations.AddConstraint(
            model_name='identityverification',
            constraint=models.UniqueConstraint(condition=models.Q(('state__in', ['created', 'started', 'submitted', 'processing', 'resubmit', 'review'])), fields=('wallet',), name='wallet_one_open_verification'),
        ),
        migrations.AddConstraint(
            model_name='identityverification',
            constraint=models.CheckConstraint(condition=models.Q(('sealed_claims__isnull', True), ('state', 'review'), _connector='OR'), name='wallet_claims_kept_only_in_review'),
        ),
        migrations.AddIndex(
            model_name='credential',
            index=models.Index(condition=models.Q(('state', 'suspended')), fields=['id'], name='wallet_credentials_suspended'),
        ),
        migrations.AddConstraint(
            model_name='credential',
            constraint=models.CheckConstraint(condition=models.Q(('state__in', ['valid', 'suspended', 'revoked'])), name='wallet_credential_state_known'),
        ),
    ]
