"""Wallets, as version 0.2.0 has them."""

import django.db.models.deletion
import uuid
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    replaces = [
        ('wallet', '0001_release_0_1'),
        ('wallet', '0002_identity_providers'),
        ('wallet', '0003_indexes_for_providers'),
        ('wallet', '0004_browsers_and_open_errands'),
        ('wallet', '0005_passkeys'),
        ('wallet', '0006_share_emails'),
        ('wallet', '0007_closing'),
        ('wallet', '0008_addresses_and_recoveries'),
        ('wallet', '0009_wallet_language'),
        ('wallet', '0010_extendable_errands'),
        ('wallet', '0011_status_words'),
        ('wallet', '0012_indexes_for_clearing'),
        ('wallet', '0013_emails_in_the_outbox'),
    ]

    dependencies = [
        ('keys', '0001_release_0_2'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Credential',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False, verbose_name='ID')),
                ('state', models.CharField(choices=[('valid', 'valid'), ('suspended', 'suspended'), ('revoked', 'revoked')], default='valid', editable=False, max_length=9)),
                ('sealed_identity', models.BinaryField()),
                ('issued_at', models.DateTimeField(editable=False, verbose_name='issued')),
                ('expires_at', models.DateTimeField(db_index=True, editable=False, verbose_name='ends')),
                ('revoked_at', models.DateTimeField(editable=False, null=True, verbose_name='revoked')),
                ('erased_at', models.DateTimeField(editable=False, null=True, verbose_name='erased')),
                ('notice', models.CharField(blank=True, db_default='', default='', editable=False, max_length=10)),
                ('notice_until', models.DateTimeField(editable=False, null=True)),
            ],
            options={
                'ordering': ['-issued_at'],
                'default_permissions': ['view', 'change'],
            },
        ),
        migrations.CreateModel(
            name='KnownBrowser',
            fields=[
                ('key', models.CharField(editable=False, max_length=64, primary_key=True, serialize=False)),
                ('address', models.CharField(db_default='', default='', editable=False, max_length=64)),
                ('expires_at', models.DateTimeField(db_index=True, editable=False)),
            ],
            options={
                'abstract': False,
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
                ('outgoing', models.UUIDField(editable=False, null=True)),
            ],
            options={
                'abstract': False,
                'default_permissions': [],
            },
        ),
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
        migrations.CreateModel(
            name='AuditEntry',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('at', models.DateTimeField(db_index=True, editable=False, verbose_name='when')),
                ('operator_id', models.BigIntegerField(editable=False, verbose_name='operator’s ID')),
                ('action', models.CharField(choices=[('claims_seen', 'claims seen'), ('picture_seen', 'picture seen'), ('claimed', 'claimed'), ('released', 'released'), ('closing_asked', 'wallet to be closed'), ('closing_undone', 'wallet kept'), ('move_stopped', 'move of a wallet stopped')], editable=False, max_length=20, verbose_name='action')),
                ('subject', models.CharField(editable=False, max_length=40, verbose_name='subject')),
                ('subject_id', models.UUIDField(editable=False, verbose_name='subject’s ID')),
            ],
            options={
                'verbose_name_plural': 'audit entries',
                'ordering': ['-at', '-id'],
                'default_permissions': [],
                'indexes': [models.Index(fields=['subject_id', '-at'], name='wallet_audit_of_subject')],
            },
        ),
        migrations.CreateModel(
            name='Errand',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('browser', models.CharField(editable=False, max_length=64)),
                ('email', models.EmailField(editable=False, max_length=254)),
                ('asks_address', models.BooleanField(db_default=False, default=False, editable=False)),
                ('requester_domain', models.CharField(db_default='', default='', editable=False, max_length=253)),
                ('requester_logo', models.CharField(db_default='', default='', editable=False, max_length=200)),
                ('on_behalf_of', models.CharField(blank=True, editable=False, max_length=100)),
                ('asks_for', models.JSONField(db_default=[], default=list, editable=False)),
                ('assurance', models.JSONField(db_default=[], default=list, editable=False)),
                ('return_to', models.CharField(editable=False, max_length=200)),
                ('leave_to', models.CharField(editable=False, max_length=200)),
                ('renewal', models.BooleanField(db_default=False, default=False, editable=False)),
                ('fresh_since', models.DateTimeField(editable=False, null=True)),
                ('code_sent_at', models.DateTimeField(editable=False, null=True)),
                ('link_until', models.DateTimeField(editable=False, null=True)),
                ('created_at', models.DateTimeField(editable=False)),
                ('expires_at', models.DateTimeField(db_index=True, editable=False)),
                ('extendable_until', models.DateTimeField(editable=False, null=True)),
            ],
            options={
                'default_permissions': [],
                'indexes': [models.Index(fields=['browser', '-created_at'], name='wallet_errands_of_browser')],
            },
        ),
        migrations.CreateModel(
            name='IdentityMark',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('digest', models.CharField(db_index=True, editable=False, max_length=64)),
                ('credential', models.ForeignKey(editable=False, on_delete=django.db.models.deletion.CASCADE, related_name='marks', to='wallet.credential')),
            ],
            options={
                'default_permissions': [],
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
                ('sealed_memory', models.BinaryField(null=True)),
                ('asking_until', models.DateTimeField(editable=False, null=True)),
                ('asked_at', models.DateTimeField(editable=False, null=True)),
                ('returned_at', models.DateTimeField(editable=False, null=True)),
                ('kept_by_provider', models.BooleanField(db_default=False, default=False, editable=False)),
                ('created_at', models.DateTimeField(editable=False, verbose_name='begun')),
                ('changed_at', models.DateTimeField(editable=False, verbose_name='last change')),
                ('notice_due', models.CharField(blank=True, db_default='', default='', editable=False, max_length=10)),
                ('notice_until', models.DateTimeField(editable=False, null=True)),
                ('claimed_at', models.DateTimeField(editable=False, null=True, verbose_name='claimed')),
                ('approved_by', models.ForeignKey(db_index=False, editable=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('claimed_by', models.ForeignKey(db_index=False, editable=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('errand', models.ForeignKey(editable=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='wallet.errand')),
                ('proposed_by', models.ForeignKey(db_index=False, editable=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ['-created_at'],
                'default_permissions': ['view', 'change'],
            },
        ),
        migrations.CreateModel(
            name='Evidence',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('method', models.CharField(editable=False, max_length=30, verbose_name='method')),
                ('trust_framework', models.CharField(editable=False, max_length=200, verbose_name='trust framework')),
                ('assurance_level', models.CharField(blank=True, editable=False, max_length=200, verbose_name='assurance level')),
                ('verified_by', models.CharField(editable=False, max_length=200, verbose_name='verified by')),
                ('verified_at', models.DateTimeField(editable=False, verbose_name='verified')),
                ('document_kind', models.CharField(blank=True, editable=False, max_length=30, verbose_name='document')),
                ('issuing_country', models.CharField(blank=True, editable=False, max_length=2, verbose_name='issuing country')),
                ('document_expires_on', models.DateField(editable=False, null=True, verbose_name='document expires')),
                ('verification', models.OneToOneField(editable=False, on_delete=django.db.models.deletion.CASCADE, related_name='evidence', to='wallet.identityverification')),
            ],
            options={
                'default_permissions': [],
            },
        ),
        migrations.AddField(
            model_name='credential',
            name='verification',
            field=models.ForeignKey(editable=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='wallet.identityverification'),
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
                ('outgoing', models.UUIDField(editable=False, null=True)),
                ('errand', models.OneToOneField(editable=False, on_delete=django.db.models.deletion.CASCADE, related_name='code', to='wallet.errand')),
            ],
            options={
                'abstract': False,
                'default_permissions': [],
            },
        ),
        migrations.CreateModel(
            name='Recovery',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False, verbose_name='ID')),
                ('state', models.CharField(choices=[('asked', 'waits for the identity check'), ('refused', 'no wallet to move'), ('waiting', 'waits for the move'), ('stopped', 'stopped'), ('moved', 'moved')], default='asked', editable=False, max_length=8)),
                ('named', models.CharField(blank=True, editable=False, max_length=64)),
                ('reason', models.CharField(blank=True, editable=False, max_length=200, verbose_name='why')),
                ('decided_by', models.CharField(blank=True, editable=False, max_length=150, verbose_name='who')),
                ('asked_at', models.DateTimeField(editable=False, verbose_name='asked')),
                ('matched_at', models.DateTimeField(editable=False, null=True, verbose_name='wallet found')),
                ('due_at', models.DateTimeField(editable=False, null=True, verbose_name='moves')),
                ('ended_at', models.DateTimeField(editable=False, null=True, verbose_name='ended')),
                ('notices', models.PositiveSmallIntegerField(default=0, editable=False)),
                ('notified_at', models.DateTimeField(editable=False, null=True)),
                ('notice_until', models.DateTimeField(editable=False, null=True)),
                ('outgoing', models.UUIDField(editable=False, null=True)),
                ('verification', models.ForeignKey(editable=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='wallet.identityverification')),
            ],
            options={
                'verbose_name': 'recovery',
                'verbose_name_plural': 'recoveries',
                'ordering': ['-asked_at'],
                'default_permissions': [],
            },
        ),
        migrations.CreateModel(
            name='StatusEvent',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('action', models.CharField(choices=[('invalidated', 'invalidated'), ('suspended', 'suspended'), ('reinstated', 'reinstated')], editable=False, max_length=11, verbose_name='what')),
                ('subject', models.CharField(choices=[('presented', 'presented credential'), ('credential', 'credential'), ('wallet', 'wallet'), ('key', 'everything a key signed')], editable=False, max_length=10, verbose_name='subject')),
                ('subject_id', models.CharField(editable=False, max_length=40, verbose_name='ID')),
                ('count', models.PositiveIntegerField(editable=False, verbose_name='credentials affected')),
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
            name='StopLink',
            fields=[
                ('digest', models.CharField(editable=False, max_length=64, primary_key=True, serialize=False)),
                ('expires_at', models.DateTimeField(db_index=True, editable=False)),
                ('recovery', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='links', to='wallet.recovery')),
            ],
            options={
                'abstract': False,
                'default_permissions': [],
            },
        ),
        migrations.CreateModel(
            name='Wallet',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False, verbose_name='ID')),
                ('email', models.EmailField(editable=False, max_length=254, unique=True, verbose_name='e-mail address')),
                ('state', models.CharField(choices=[('active', 'active'), ('suspended', 'suspended')], default='active', editable=False, max_length=9)),
                ('suspension_reason', models.CharField(blank=True, editable=False, max_length=200, verbose_name='reason for suspension')),
                ('share_emails', models.BooleanField(db_default=False, default=False, editable=False)),
                ('language', models.CharField(blank=True, db_default='', default='', editable=False, max_length=10)),
                ('created_at', models.DateTimeField(editable=False, verbose_name='opened')),
                ('passkey_offered_at', models.DateTimeField(editable=False, null=True)),
                ('closes_at', models.DateTimeField(editable=False, null=True, verbose_name='closes')),
                ('closed_at', models.DateTimeField(editable=False, null=True, verbose_name='closed')),
            ],
            options={
                'ordering': ['-created_at'],
                'default_permissions': ['view', 'change'],
                'indexes': [models.Index(fields=['-created_at'], name='wallet_newest'), models.Index(condition=models.Q(('state', 'suspended')), fields=['id'], name='wallets_suspended')],
                'constraints': [models.CheckConstraint(condition=models.Q(('state__in', ['active', 'suspended'])), name='wallet_state_known')],
            },
        ),
        migrations.AddField(
            model_name='recovery',
            name='new',
            field=models.ForeignKey(editable=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='recoveries_asked', to='wallet.wallet', verbose_name='wallet of the new address'),
        ),
        migrations.AddField(
            model_name='recovery',
            name='old',
            field=models.ForeignKey(editable=False, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='recoveries', to='wallet.wallet', verbose_name='wallet that moves'),
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
        migrations.AddField(
            model_name='identityverification',
            name='wallet',
            field=models.ForeignKey(editable=False, on_delete=django.db.models.deletion.CASCADE, related_name='verifications', to='wallet.wallet'),
        ),
        migrations.CreateModel(
            name='HolderSession',
            fields=[
                ('digest', models.CharField(editable=False, max_length=64, primary_key=True, serialize=False)),
                ('public_id', models.UUIDField(default=uuid.uuid4, editable=False, null=True)),
                ('browser_name', models.CharField(db_default='', default='', editable=False, max_length=20)),
                ('system_name', models.CharField(db_default='', default='', editable=False, max_length=20)),
                ('first_signed_in_at', models.DateTimeField(editable=False, null=True)),
                ('signed_in_at', models.DateTimeField(editable=False)),
                ('last_seen_at', models.DateTimeField(editable=False)),
                ('expires_at', models.DateTimeField(db_index=True, editable=False)),
                ('wallet', models.ForeignKey(editable=False, on_delete=django.db.models.deletion.CASCADE, related_name='sessions', to='wallet.wallet')),
            ],
            options={
                'abstract': False,
                'default_permissions': [],
            },
        ),
        migrations.CreateModel(
            name='FormerAddress',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('email', models.EmailField(db_index=True, editable=False, max_length=254)),
                ('undo_digest', models.CharField(blank=True, db_index=True, editable=False, max_length=64)),
                ('left_at', models.DateTimeField(editable=False)),
                ('expires_at', models.DateTimeField(db_index=True, editable=False)),
                ('closed_at', models.DateTimeField(editable=False, null=True)),
                ('told_at', models.DateTimeField(editable=False, null=True)),
                ('notice_until', models.DateTimeField(editable=False, null=True)),
                ('wallet', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='former_addresses', to='wallet.wallet')),
            ],
            options={
                'abstract': False,
                'default_permissions': [],
            },
        ),
        migrations.CreateModel(
            name='EmailChange',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('browser', models.CharField(editable=False, max_length=64)),
                ('email', models.EmailField(editable=False, max_length=254)),
                ('digest', models.CharField(editable=False, max_length=64)),
                ('tries_left', models.PositiveSmallIntegerField(editable=False)),
                ('expires_at', models.DateTimeField(db_index=True, editable=False)),
                ('used_at', models.DateTimeField(editable=False, null=True)),
                ('outgoing', models.UUIDField(editable=False, null=True)),
                ('wallet', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='email_change', to='wallet.wallet')),
            ],
            options={
                'abstract': False,
                'default_permissions': [],
            },
        ),
        migrations.AddField(
            model_name='credential',
            name='wallet',
            field=models.OneToOneField(editable=False, on_delete=django.db.models.deletion.CASCADE, related_name='credential', to='wallet.wallet'),
        ),
        migrations.CreateModel(
            name='WalletClosure',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False, verbose_name='ID')),
                ('wallet', models.UUIDField(db_index=True, editable=False, verbose_name='wallet')),
                ('reason', models.CharField(choices=[('own_wish', 'the holder closed it'), ('asked_us', 'the holder asked for it, by letter or in person'), ('duplicate', 'the person has another wallet'), ('deceased', 'the holder has died'), ('abuse', 'the wallet was abused'), ('legal', 'the law or an authority demands it')], editable=False, max_length=10, verbose_name='reason')),
                ('operator_id', models.BigIntegerField(editable=False, null=True, verbose_name='operator’s ID')),
                ('asked_at', models.DateTimeField(editable=False, verbose_name='asked')),
                ('closes_at', models.DateTimeField(editable=False, verbose_name='closes')),
                ('undone_at', models.DateTimeField(editable=False, null=True, verbose_name='undone')),
                ('undone_by', models.BigIntegerField(editable=False, null=True, verbose_name='undone by operator')),
                ('closed_at', models.DateTimeField(editable=False, null=True, verbose_name='closed')),
                ('finished_at', models.DateTimeField(editable=False, null=True, verbose_name='everything erased')),
                ('sealed_address', models.BinaryField(null=True)),
                ('notice_due', models.CharField(blank=True, default='', editable=False, max_length=10)),
                ('taken_until', models.DateTimeField(editable=False, null=True)),
            ],
            options={
                'verbose_name': 'closed wallet',
                'verbose_name_plural': 'closed wallets',
                'ordering': ['-asked_at'],
                'default_permissions': [],
                'indexes': [models.Index(condition=models.Q(('finished_at', None), ('undone_at', None)), fields=['closes_at'], name='wallet_closures_open')],
                'constraints': [models.UniqueConstraint(condition=models.Q(('undone_at', None)), fields=('wallet',), name='wallet_closed_once_unless_undone'), models.CheckConstraint(condition=models.Q(('undone_at', None), ('closed_at', None), _connector='OR'), name='wallet_closure_undone_or_closed')],
            },
        ),
        migrations.CreateModel(
            name='Picture',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('kind', models.CharField(choices=[('front', 'front of the document'), ('back', 'back of the document'), ('face', 'face')], editable=False, max_length=5)),
                ('sealed_jpeg', models.BinaryField()),
                ('uploaded_at', models.DateTimeField(editable=False)),
                ('verification', models.ForeignKey(editable=False, on_delete=django.db.models.deletion.CASCADE, related_name='pictures', to='wallet.identityverification')),
            ],
            options={
                'default_permissions': [],
                'constraints': [models.UniqueConstraint(fields=('verification', 'kind'), name='wallet_picture_once')],
            },
        ),
        migrations.CreateModel(
            name='StatusEntry',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('idx', models.PositiveIntegerField(editable=False)),
                ('reference', models.UUIDField(editable=False, null=True, verbose_name='receipt')),
                ('status', models.PositiveSmallIntegerField(choices=[(0, 'valid'), (1, 'invalid'), (2, 'suspended')], default=0, editable=False, verbose_name='own status')),
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
                'indexes': [models.Index(condition=models.Q(('expires_at__isnull', False)), fields=['expires_at'], name='wallet_status_entries_ending'), models.Index(condition=models.Q(('credential__isnull', False)), fields=['credential'], name='wallet_status_entries_of'), models.Index(condition=models.Q(('status', 0), _negated=True), fields=['status_list'], name='wallet_status_entries_changed'), models.Index(condition=models.Q(('expires_at', None)), fields=['status_list', 'idx'], name='wallet_status_entries_blank')],
                'constraints': [models.UniqueConstraint(fields=('status_list', 'idx'), name='wallet_status_entry_given_once'), models.CheckConstraint(condition=models.Q(('status__in', [0, 1, 2])), name='wallet_status_entry_known'), models.CheckConstraint(condition=models.Q(models.Q(('credential__isnull', False), ('expires_at__isnull', False), ('signing_key__isnull', False)), models.Q(('credential', None), ('expires_at', None), ('reference', None), ('signing_key', None), ('status', 0)), _connector='OR'), name='wallet_swept_status_entry_is_blank')],
            },
        ),
        migrations.AddIndex(
            model_name='recovery',
            index=models.Index(condition=models.Q(('state', 'waiting')), fields=['due_at'], name='wallet_moves_due'),
        ),
        migrations.AddIndex(
            model_name='recovery',
            index=models.Index(condition=models.Q(('state', 'asked')), fields=['asked_at'], name='wallet_recoveries_asked'),
        ),
        migrations.AddIndex(
            model_name='recovery',
            index=models.Index(condition=models.Q(('ended_at__isnull', False)), fields=['ended_at'], name='wallet_recoveries_ended'),
        ),
        migrations.AddConstraint(
            model_name='recovery',
            constraint=models.CheckConstraint(condition=models.Q(('state__in', ['asked', 'refused', 'waiting', 'stopped', 'moved'])), name='wallet_recovery_state_known'),
        ),
        migrations.AddConstraint(
            model_name='recovery',
            constraint=models.UniqueConstraint(condition=models.Q(('state', 'waiting')), fields=('old',), name='wallet_one_recovery_of_a_wallet'),
        ),
        migrations.AddConstraint(
            model_name='recovery',
            constraint=models.UniqueConstraint(condition=models.Q(('state__in', ['asked', 'waiting'])), fields=('new',), name='wallet_one_recovery_by_a_wallet'),
        ),
        migrations.AddIndex(
            model_name='identityverification',
            index=models.Index(fields=['state', 'changed_at'], name='wallet_verification_idle'),
        ),
        migrations.AddIndex(
            model_name='identityverification',
            index=models.Index(fields=['changed_at'], name='wallet_verification_oldest'),
        ),
        migrations.AddIndex(
            model_name='identityverification',
            index=models.Index(fields=['wallet', '-created_at'], name='wallet_verification_newest'),
        ),
        migrations.AddIndex(
            model_name='identityverification',
            index=models.Index(fields=['provider', 'provider_reference'], name='wallet_verification_reference'),
        ),
        migrations.AddIndex(
            model_name='identityverification',
            index=models.Index(condition=models.Q(('kept_by_provider', True)), fields=['id'], name='wallet_verification_kept_away'),
        ),
        migrations.AddConstraint(
            model_name='identityverification',
            constraint=models.CheckConstraint(condition=models.Q(('proposed_by__isnull', True), ('approved_by__isnull', True), models.Q(('proposed_by', models.F('approved_by')), _negated=True), _connector='OR'), name='wallet_approved_by_two'),
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
        migrations.AddIndex(
            model_name='credential',
            index=models.Index(condition=models.Q(('erased_at', None)), fields=['expires_at'], name='wallet_identities_to_erase'),
        ),
        migrations.AddIndex(
            model_name='credential',
            index=models.Index(condition=models.Q(('erased_at', None), ('state', 'revoked')), fields=['revoked_at'], name='wallet_revoked_to_erase'),
        ),
        migrations.AddIndex(
            model_name='credential',
            index=models.Index(condition=models.Q(('erased_at__isnull', False)), fields=['erased_at'], name='wallet_identities_erased'),
        ),
        migrations.AddConstraint(
            model_name='credential',
            constraint=models.CheckConstraint(condition=models.Q(('state__in', ['valid', 'suspended', 'revoked'])), name='wallet_credential_state_known'),
        ),
    ]
