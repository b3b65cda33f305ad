"""Relying parties and their requests, as version 0.2.0 has them, the operators’ roles and the shipped scopes.

Permission rows are made here by hand: Django makes them only after the last migration of a run, so on a
fresh database they do not exist yet. It finds these later and keeps them.
"""

import secrets

import django.core.validators
import django.db.models.deletion
import django.db.models.functions.text
import presentation.relying_parties.models.relying_parties
import presentation.requests.models
import presentation.scopes.models
import uuid
from django.db import migrations, models
from django.utils import timezone

READ = ("view",)

# Group → app → model → actions. Models that hold secrets or traces of browsers are in none.
ROLES = {
    "Relying parties": {
        "presentation": {
            "relyingparty": ("view", "add", "change"),
            "redirecturi": ("view", "add", "change", "delete"),
            "interaction": READ,
            "scope": ("view", "add", "change", "delete"),
        },
    },
    "Identity review": {
        "wallet": {
            "wallet": ("view", "change"),
            "identityverification": ("view", "change"),
            "identityverificationtransition": READ,
            "credential": ("view", "change"),
        },
        "infra": {"outgoingemail": ("view", "change")},
    },
    "Keys": {
        "keys": {"signingkey": ("view", "change"), "authority": READ},
    },
    "Audit (read only)": {
        "presentation": {"relyingparty": READ, "redirecturi": READ, "interaction": READ, "scope": READ},
        "consent": {"consent": READ},
        "wallet": {
            "wallet": READ,
            "identityverification": READ,
            "identityverificationtransition": READ,
            "credential": READ,
        },
        "keys": {"signingkey": READ, "authority": READ},
        "infra": {"outgoingemail": READ},
        "admin": {"logentry": READ},
    },
    "Support": {"presentation": {"interaction": ("look_up_holder",)}},
}

PREFIX = "urn:service:params:scope:verifiable-credentials:"
# The basic scope comes back with every `migrate`, see `restore_basic`; operators may change or delete the others.
SHIPPED = (
    ("basic", "Name and age over 18", ["given_name", "family_name", "age_equal_or_over.18"], []),
    ("age-over-18", "Age over 18 and nothing else", ["age_equal_or_over.18"], []),
    ("identity", "Date of birth and nationality", ["birth_date"], ["nationalities"]),
    ("contact", "Verified e-mail address", ["email"], []),
)


def make_roles(apps, schema_editor):
    """Makes the groups, or gives groups of these names exactly these permissions."""
    using = schema_editor.connection.alias
    group_model = apps.get_model("auth", "Group")
    for name, models_of_apps in ROLES.items():
        group, _created = group_model.objects.using(using).get_or_create(name=name)
        group.permissions.set(
            permission(apps, using, app_label, model_name, action)
            for app_label, models in models_of_apps.items()
            for model_name, actions in models.items()
            for action in actions
        )


def permission(apps, using, app_label, model_name, action):
    """The permission row, as `django.contrib.auth` would make it."""
    content_types = apps.get_model("contenttypes", "ContentType").objects.using(using)
    content_type, _created = content_types.get_or_create(app_label=app_label, model=model_name)
    options = apps.get_model(app_label, model_name)._meta
    own = dict(options.permissions)
    codename, title = (
        (action, own[action])
        if action in own
        else (f"{action}_{model_name}", f"Can {action} {options.verbose_name_raw}")
    )
    permissions = apps.get_model("auth", "Permission").objects.using(using)
    row, _created = permissions.get_or_create(
        content_type=content_type, codename=codename, defaults={"name": title}
    )
    return row


def add_scopes(apps, schema_editor):
    """Inserts those that are missing."""
    scopes = apps.get_model("presentation", "Scope").objects.using(schema_editor.connection.alias)
    for query_id, title, required, optional in SHIPPED:
        columns = {
            "query_id": query_id,
            "title": title,
            "required_claims": required,
            "optional_claims": optional,
            "stamp": secrets.randbelow(2**31),
            "changed_at": timezone.now(),
        }
        scopes.get_or_create(urn=PREFIX + query_id, defaults=columns)


class Migration(migrations.Migration):

    initial = True

    replaces = [
        ('presentation', '0001_release_0_1'),
        ('presentation', '0002_operator_roles'),
        ('presentation', '0003_minimum_assurance'),
        ('presentation', '0004_scopes'),
        ('presentation', '0005_shipped_scopes'),
        ('presentation', '0006_login_hint_left_out'),
        ('presentation', '0007_self_registered'),
        ('presentation', '0008_indexes_for_clearing'),
        ('presentation', '0009_figures_of_relying_parties'),
        ('presentation', '0010_support_role'),
        ('presentation', '0011_operators_of_emails'),
    ]

    dependencies = [
        ('infra', '0001_release_0_2'),
        ('keys', '0001_release_0_2'),
        ('consent', '0001_release_0_2'),
        ('wallet', '0001_release_0_2'),
        ('admin', '0003_logentry_add_action_flag_choices'),
        ('auth', '0012_alter_user_first_name_max_length'),
        ('contenttypes', '0002_remove_content_type_name'),
    ]

    operations = [
        migrations.CreateModel(
            name='ClientSecret',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('slot', models.PositiveSmallIntegerField(editable=False)),
                ('digest', models.CharField(editable=False, max_length=64)),
                ('created_at', models.DateTimeField(editable=False, verbose_name='made')),
                ('expires_at', models.DateTimeField(editable=False, verbose_name='ends')),
                ('ended_at', models.DateTimeField(editable=False, null=True, verbose_name='ended')),
                ('last_used_at', models.DateTimeField(editable=False, null=True, verbose_name='last used')),
            ],
            options={
                'verbose_name': 'client secret',
                'verbose_name_plural': 'client secrets',
                'ordering': ['-created_at', '-id'],
                'default_permissions': [],
            },
        ),
        migrations.CreateModel(
            name='Interaction',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False, verbose_name='ID')),
                ('redirect_uri', models.CharField(blank=True, editable=False, max_length=506, verbose_name='redirect URI')),
                ('response_uri', models.CharField(blank=True, editable=False, max_length=500, verbose_name='response URI')),
                ('browser', models.CharField(editable=False, max_length=64)),
                ('parameters', models.JSONField(editable=False)),
                ('sealed_transaction_data', models.BinaryField(null=True)),
                ('scopes', models.TextField(blank=True, db_default='', default='', editable=False)),
                ('request_hash', models.CharField(editable=False, max_length=64)),
                ('nonce_digest', models.CharField(editable=False, max_length=64)),
                ('outcome', models.CharField(blank=True, choices=[('', 'not answered yet'), ('token', 'token'), ('error', 'error')], default='', editable=False, max_length=5)),
                ('error', models.CharField(blank=True, editable=False, max_length=40)),
                ('created_at', models.DateTimeField(editable=False, verbose_name='asked')),
                ('expires_at', models.DateTimeField(db_index=True, editable=False, verbose_name='open until')),
                ('answered_at', models.DateTimeField(editable=False, null=True, verbose_name='answered')),
                ('consent', models.OneToOneField(editable=False, null=True, on_delete=django.db.models.deletion.PROTECT, to='consent.consent')),
                ('errand', models.ForeignKey(db_index=False, editable=False, null=True, on_delete=django.db.models.deletion.SET_NULL, to='wallet.errand')),
            ],
            options={
                'permissions': [('look_up_holder', 'Can look up a holder or a request, with a reason')],
            },
            bases=(presentation.requests.models.KeepsParameters, models.Model),
        ),
        migrations.CreateModel(
            name='PushedRequest',
            fields=[
                ('digest', models.CharField(editable=False, max_length=64, primary_key=True, serialize=False)),
                ('client_id', models.CharField(editable=False, max_length=100)),
                ('parameters', models.JSONField(editable=False)),
                ('sealed_transaction_data', models.BinaryField(null=True)),
                ('signed', models.BooleanField(editable=False)),
                ('expires_at', models.DateTimeField(db_index=True, editable=False)),
                ('used_at', models.DateTimeField(editable=False, null=True)),
            ],
            options={
                'abstract': False,
                'default_permissions': [],
            },
            bases=(presentation.requests.models.KeepsParameters, models.Model),
        ),
        migrations.CreateModel(
            name='RedirectURI',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('uri', models.CharField(max_length=500, verbose_name='redirect URI')),
            ],
            options={
                'verbose_name': 'redirect URI',
                'verbose_name_plural': 'redirect URIs',
                'ordering': ['id'],
            },
        ),
        migrations.CreateModel(
            name='RelyingParty',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('client_id', models.CharField(default=presentation.relying_parties.models.relying_parties.new_client_id, editable=False, max_length=100, unique=True, verbose_name='client ID')),
                ('name', models.CharField(help_text='As holders know it. Shown on the consent page and kept in receipts.', max_length=100, validators=[presentation.relying_parties.models.relying_parties.validate_legible], verbose_name='name')),
                ('logo', models.BinaryField(blank=True, default=b'', verbose_name='logo')),
                ('purpose', models.CharField(blank=True, help_text='Why it asks, in one sentence for holders: “to open your account”.', max_length=300, validators=[presentation.relying_parties.models.relying_parties.validate_legible], verbose_name='purpose')),
                ('privacy_policy_url', models.URLField(blank=True, max_length=500, validators=[django.core.validators.URLValidator(code='not_https', message='Enter an address that begins with https://.', schemes=['https'])], verbose_name='privacy policy')),
                ('terms_url', models.URLField(blank=True, max_length=500, validators=[django.core.validators.URLValidator(code='not_https', message='Enter an address that begins with https://.', schemes=['https'])], verbose_name='terms of use')),
                ('contact', models.EmailField(blank=True, help_text='Whom operators write to. Not shown to holders.', max_length=254, verbose_name='contact')),
                ('allowed_scopes', models.JSONField(default=list, verbose_name='allowed scopes')),
                ('allowed_claims', models.JSONField(blank=True, default=list, verbose_name='claims in a DCQL query')),
                ('allowed_transaction_data_types', models.JSONField(blank=True, default=list, verbose_name='allowed transaction data')),
                ('minimum_assurance', models.JSONField(blank=True, db_default=[], default=list, help_text='How well holders must be verified, as a list of trust framework and level, such as [“eidas substantial”]. One of them is enough. Any verified identity will do if it is empty.', verbose_name='minimum assurance')),
                ('wire_format', models.CharField(choices=[('string', 'the contract: vp_token is the SD-JWT VC string'), ('openid4vp-1.0', 'OpenID4VP 1.0: vp_token is a JSON object')], default='string', max_length=13, verbose_name='wire format')),
                ('requires_pushed_requests', models.BooleanField(default=False, help_text='Requests in the address of a browser are refused (RFC 9126).', verbose_name='only pushed requests')),
                ('requires_signed_requests', models.BooleanField(default=False, help_text='Requests that its key has not signed are refused (RFC 9101).', verbose_name='only signed requests')),
                ('may_omit_login_hint', models.BooleanField(db_default=False, default=False, help_text='Without it, the person says on the sign-in page which e-mail address is theirs.', verbose_name='may leave out login_hint')),
                ('request_uri_prefix', models.URLField(blank=True, help_text='Where it publishes them, if it does: one address, or all below one that ends with /.', max_length=500, verbose_name='address of signed requests')),
                ('grants', models.JSONField(blank=True, default=list, verbose_name='access tokens')),
                ('jwks', models.JSONField(blank=True, help_text='A JWK set of P-256 keys, each with a kid: what it signs its assertions with.', null=True, verbose_name='public keys')),
                ('jwks_uri', models.URLField(blank=True, help_text='Instead of the keys themselves; fetched when they are needed.', max_length=500, verbose_name='address of its public keys')),
                ('webhook_url', models.CharField(blank=True, help_text='Where it is told of events, by https. Nothing is sent before it has a secret.', max_length=500, verbose_name='address')),
                ('webhook_events', models.JSONField(blank=True, default=list, verbose_name='events')),
                ('state', models.CharField(choices=[('active', 'active'), ('suspended', 'suspended')], default='active', editable=False, max_length=9, verbose_name='state')),
                ('suspension_reason', models.CharField(blank=True, editable=False, max_length=300, verbose_name='reason for suspension')),
                ('notes', models.TextField(blank=True, help_text='For operators only.', max_length=5000, verbose_name='notes')),
                ('self_registered', models.BooleanField(db_default=False, default=False, editable=False, verbose_name='registered itself')),
                ('created_at', models.DateTimeField(auto_now_add=True, verbose_name='registered')),
            ],
            options={
                'verbose_name': 'relying party',
                'verbose_name_plural': 'relying parties',
                'ordering': ['name'],
            },
        ),
        migrations.CreateModel(
            name='RelyingPartyEvent',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('action', models.CharField(editable=False, max_length=200, verbose_name='what')),
                ('actor', models.CharField(editable=False, max_length=150, verbose_name='who')),
                ('at', models.DateTimeField(editable=False, verbose_name='when')),
            ],
            options={
                'ordering': ['-at', '-id'],
                'default_permissions': [],
            },
        ),
        migrations.CreateModel(
            name='RequestCount',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('hour', models.DateTimeField(db_index=True, editable=False)),
                ('asked', models.PositiveIntegerField(editable=False)),
                ('granted', models.PositiveIntegerField(editable=False)),
                ('declined', models.PositiveIntegerField(editable=False)),
                ('failed', models.PositiveIntegerField(editable=False)),
            ],
            options={
                'default_permissions': [],
            },
        ),
        migrations.CreateModel(
            name='ResponseURI',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('uri', models.CharField(max_length=500, verbose_name='response URI')),
            ],
            options={
                'verbose_name': 'response URI',
                'verbose_name_plural': 'response URIs',
                'ordering': ['id'],
                'default_permissions': [],
            },
        ),
        migrations.CreateModel(
            name='Scope',
            fields=[
                ('urn', models.CharField(help_text='What relying parties send, such as urn:example:scope:address. It cannot be changed later. Its last part is also the id of the credential query.', max_length=200, primary_key=True, serialize=False, verbose_name='URN')),
                ('query_id', models.CharField(editable=False, max_length=100, unique=True, verbose_name='id of its credential query')),
                ('title', models.CharField(help_text='For operators and developers, in a few words.', max_length=100, verbose_name='title')),
                ('required_claims', models.JSONField(default=list, verbose_name='required claims')),
                ('optional_claims', models.JSONField(blank=True, default=list, verbose_name='optional claims')),
                ('stamp', models.BigIntegerField(default=presentation.scopes.models.new_stamp, editable=False)),
                ('changed_at', models.DateTimeField(auto_now=True, verbose_name='changed')),
            ],
            options={
                'verbose_name': 'scope',
                'verbose_name_plural': 'scopes',
                'ordering': ['urn'],
            },
        ),
        migrations.CreateModel(
            name='UsedAssertion',
            fields=[
                ('digest', models.CharField(editable=False, max_length=64, primary_key=True, serialize=False)),
                ('expires_at', models.DateTimeField(db_index=True, editable=False)),
            ],
            options={
                'default_permissions': [],
            },
        ),
        migrations.CreateModel(
            name='WebhookEvent',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('type', models.CharField(choices=[('presentation.completed', 'presentation.completed'), ('presentation.denied', 'presentation.denied'), ('credential.revoked', 'credential.revoked')], editable=False, max_length=22, verbose_name='event')),
                ('subject', models.CharField(editable=False, max_length=40)),
                ('body', models.TextField(editable=False, verbose_name='body')),
                ('state', models.CharField(choices=[('waiting', 'waiting'), ('delivered', 'delivered'), ('given up', 'given up'), ('unwanted', 'no longer wanted')], default='waiting', editable=False, max_length=9, verbose_name='state')),
                ('created_at', models.DateTimeField(editable=False, verbose_name='happened')),
                ('due_at', models.DateTimeField(editable=False, verbose_name='next try')),
                ('give_up_at', models.DateTimeField(editable=False, verbose_name='tried until')),
                ('attempts', models.PositiveIntegerField(default=0, editable=False, verbose_name='tries')),
                ('tried_at', models.DateTimeField(editable=False, null=True, verbose_name='last try')),
                ('response_status', models.PositiveIntegerField(editable=False, null=True, verbose_name='response')),
                ('problem', models.CharField(blank=True, editable=False, max_length=200, verbose_name='problem')),
            ],
            options={
                'verbose_name': 'webhook event',
                'verbose_name_plural': 'webhook events',
                'ordering': ['-created_at', '-id'],
                'default_permissions': [],
            },
        ),
        migrations.CreateModel(
            name='WebhookSecret',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('sealed_secret', models.BinaryField()),
                ('created_at', models.DateTimeField(editable=False)),
                ('ends_at', models.DateTimeField(editable=False, null=True)),
            ],
            options={
                'ordering': ['-created_at'],
                'default_permissions': [],
            },
        ),
        migrations.CreateModel(
            name='Delivery',
            fields=[
                ('interaction', models.OneToOneField(editable=False, on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='delivery', serialize=False, to='presentation.interaction')),
                ('sealed_body', models.BinaryField(default=b'')),
                ('sealed_onward', models.BinaryField(default=b'')),
                ('expires_at', models.DateTimeField(editable=False)),
                ('tries', models.PositiveSmallIntegerField(default=0, editable=False)),
                ('taken_until', models.DateTimeField(editable=False, null=True)),
                ('left_here', models.BooleanField(default=False, editable=False)),
                ('refused', models.BooleanField(default=False, editable=False)),
                ('held_until', models.DateTimeField(editable=False, null=True)),
                ('delivered_at', models.DateTimeField(editable=False, null=True)),
            ],
            options={
                'default_permissions': [],
            },
        ),
        migrations.CreateModel(
            name='WebhookEndpoint',
            fields=[
                ('relying_party', models.OneToOneField(editable=False, on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='webhook_endpoint', serialize=False, to='presentation.relyingparty')),
                ('next_call_at', models.DateTimeField(editable=False)),
                ('failures', models.PositiveIntegerField(default=0, editable=False)),
                ('failing_since', models.DateTimeField(editable=False, null=True)),
                ('gone_url', models.CharField(default='', editable=False, max_length=500)),
            ],
            options={
                'abstract': False,
                'default_permissions': [],
            },
        ),
        migrations.AddConstraint(
            model_name='relyingparty',
            constraint=models.CheckConstraint(condition=models.Q(('jwks__isnull', True), ('jwks_uri', ''), _connector='OR'), name='presentation_client_keys_here_or_there'),
        ),
        migrations.AddConstraint(
            model_name='relyingparty',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('state', 'active'), ('suspension_reason', '')), models.Q(('state', 'suspended'), models.Q(('suspension_reason', ''), _negated=True)), _connector='OR'), name='presentation_relying_party_suspended_with_reason'),
        ),
        migrations.AddConstraint(
            model_name='relyingparty',
            constraint=models.CheckConstraint(condition=models.Q(('wire_format__in', ['string', 'openid4vp-1.0'])), name='presentation_relying_party_wire_format_known'),
        ),
        migrations.AddConstraint(
            model_name='relyingparty',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('client_id', ''), _negated=True), models.Q(('client_id__contains', ':'), _negated=True)), name='presentation_client_id_without_prefix'),
        ),
        migrations.AddConstraint(
            model_name='relyingparty',
            constraint=models.CheckConstraint(condition=models.Q(('name', ''), _negated=True), name='presentation_relying_party_named'),
        ),
        migrations.AddConstraint(
            model_name='relyingparty',
            constraint=models.UniqueConstraint(django.db.models.functions.text.Lower('name'), name='presentation_relying_party_name_once', violation_error_message='A relying party with this name is registered already.'),
        ),
        migrations.AddField(
            model_name='redirecturi',
            name='relying_party',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='redirect_uris', to='presentation.relyingparty'),
        ),
        migrations.AddField(
            model_name='interaction',
            name='relying_party',
            field=models.ForeignKey(db_index=False, editable=False, on_delete=django.db.models.deletion.CASCADE, related_name='interactions', to='presentation.relyingparty'),
        ),
        migrations.AddField(
            model_name='clientsecret',
            name='relying_party',
            field=models.ForeignKey(editable=False, on_delete=django.db.models.deletion.CASCADE, related_name='client_secrets', to='presentation.relyingparty'),
        ),
        migrations.AddField(
            model_name='relyingpartyevent',
            name='relying_party',
            field=models.ForeignKey(editable=False, on_delete=django.db.models.deletion.CASCADE, related_name='done_by_command', to='presentation.relyingparty'),
        ),
        migrations.AddField(
            model_name='requestcount',
            name='relying_party',
            field=models.ForeignKey(db_index=False, editable=False, on_delete=django.db.models.deletion.CASCADE, related_name='request_counts', to='presentation.relyingparty'),
        ),
        migrations.AddField(
            model_name='responseuri',
            name='relying_party',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='response_uris', to='presentation.relyingparty'),
        ),
        migrations.AddConstraint(
            model_name='scope',
            constraint=models.CheckConstraint(condition=models.Q(('urn', ''), _negated=True), name='presentation_scope_named'),
        ),
        migrations.AddField(
            model_name='webhookevent',
            name='relying_party',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='webhook_events_told', to='presentation.relyingparty'),
        ),
        migrations.AddField(
            model_name='webhooksecret',
            name='relying_party',
            field=models.ForeignKey(editable=False, on_delete=django.db.models.deletion.CASCADE, related_name='webhook_secrets', to='presentation.relyingparty'),
        ),
        migrations.AddIndex(
            model_name='delivery',
            index=models.Index(condition=models.Q(models.Q(('sealed_body', b''), _negated=True), models.Q(('sealed_onward', b''), _negated=True), _connector='OR'), fields=['expires_at'], name='presentation_delivery_kept'),
        ),
        migrations.AddConstraint(
            model_name='delivery',
            constraint=models.CheckConstraint(condition=models.Q(('delivered_at', None), ('sealed_body', b''), _connector='OR'), name='presentation_delivered_answer_is_gone'),
        ),
        migrations.AddConstraint(
            model_name='redirecturi',
            constraint=models.UniqueConstraint(fields=('relying_party', 'uri'), name='presentation_redirect_uri_once', violation_error_message='This redirect URI is registered already.'),
        ),
        migrations.AddConstraint(
            model_name='redirecturi',
            constraint=models.CheckConstraint(condition=models.Q(('uri__contains', ':'), models.Q(('uri__contains', '#'), _negated=True), models.Q(('uri__contains', '*'), _negated=True), models.Q(('uri__contains', ' '), _negated=True), models.Q(('uri__contains', '\\'), _negated=True)), name='presentation_redirect_uri_exact'),
        ),
        migrations.AddIndex(
            model_name='interaction',
            index=models.Index(fields=['relying_party', 'nonce_digest'], name='presentation_interaction_asked'),
        ),
        migrations.AddIndex(
            model_name='interaction',
            index=models.Index(condition=models.Q(('outcome', 'token'), _negated=True), fields=['expires_at'], name='presentation_requests_ended'),
        ),
        migrations.AddIndex(
            model_name='interaction',
            index=models.Index(condition=models.Q(('errand__isnull', False)), fields=['errand'], name='presentation_requests_sent_on'),
        ),
        migrations.AddIndex(
            model_name='interaction',
            index=models.Index(condition=models.Q(('sealed_transaction_data__isnull', False)), fields=['id'], name='presentation_sealed_requests'),
        ),
        migrations.AddConstraint(
            model_name='interaction',
            constraint=models.UniqueConstraint(condition=models.Q(('outcome', 'token')), fields=('relying_party', 'nonce_digest'), name='presentation_nonce_presented_once'),
        ),
        migrations.AddConstraint(
            model_name='interaction',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('outcome', ''), ('answered_at__isnull', True)), models.Q(models.Q(('outcome', ''), _negated=True), ('answered_at__isnull', False)), _connector='OR'), name='presentation_interaction_answered_once'),
        ),
        migrations.AddConstraint(
            model_name='interaction',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('redirect_uri', ''), models.Q(('response_uri', ''), _negated=True)), models.Q(models.Q(('redirect_uri', ''), _negated=True), ('response_uri', '')), _connector='OR'), name='presentation_interaction_answered_somewhere'),
        ),
        migrations.AddConstraint(
            model_name='clientsecret',
            constraint=models.UniqueConstraint(condition=models.Q(('ended_at', None)), fields=('relying_party', 'slot'), name='presentation_one_live_client_secret_per_slot'),
        ),
        migrations.AddConstraint(
            model_name='clientsecret',
            constraint=models.CheckConstraint(condition=models.Q(('slot__in', [0, 1])), name='presentation_client_secret_slot_known'),
        ),
        migrations.AddConstraint(
            model_name='clientsecret',
            constraint=models.CheckConstraint(condition=models.Q(('expires_at__gt', models.F('created_at'))), name='presentation_client_secret_lives'),
        ),
        migrations.AddConstraint(
            model_name='relyingpartyevent',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('actor', ''), _negated=True), models.Q(('action', ''), _negated=True)), name='presentation_event_says_who_and_what'),
        ),
        migrations.AddConstraint(
            model_name='requestcount',
            constraint=models.UniqueConstraint(fields=('relying_party', 'hour'), name='presentation_requests_counted_once'),
        ),
        migrations.AddConstraint(
            model_name='responseuri',
            constraint=models.UniqueConstraint(fields=('relying_party', 'uri'), name='presentation_response_uri_once', violation_error_message='This response URI is registered already.'),
        ),
        migrations.AddConstraint(
            model_name='responseuri',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('uri__startswith', 'https://'), ('uri__startswith', 'http://'), _connector='OR'), models.Q(('uri__contains', '#'), _negated=True), models.Q(('uri__contains', ' '), _negated=True), models.Q(('uri__contains', '\\'), _negated=True)), name='presentation_response_uri_exact'),
        ),
        migrations.AddIndex(
            model_name='webhookevent',
            index=models.Index(condition=models.Q(('state', 'waiting')), fields=['relying_party', 'due_at'], name='presentation_webhooks_due'),
        ),
        migrations.AddIndex(
            model_name='webhookevent',
            index=models.Index(condition=models.Q(('state', 'delivered'), _negated=True), fields=['state'], name='presentation_webhooks_unsent'),
        ),
        migrations.AddIndex(
            model_name='webhookevent',
            index=models.Index(fields=['-created_at', '-id'], name='presentation_webhooks_newest'),
        ),
        migrations.AddConstraint(
            model_name='webhookevent',
            constraint=models.UniqueConstraint(fields=('type', 'subject'), name='presentation_webhook_event_told_once'),
        ),
        migrations.AddConstraint(
            model_name='webhookevent',
            constraint=models.CheckConstraint(condition=models.Q(('state__in', ['waiting', 'delivered', 'given up', 'unwanted']), ('type__in', ['presentation.completed', 'presentation.denied', 'credential.revoked'])), name='presentation_webhook_event_known'),
        ),
        migrations.AddIndex(
            model_name='webhooksecret',
            index=models.Index(condition=models.Q(('ends_at__isnull', False)), fields=['ends_at'], name='presentation_secrets_ending'),
        ),
        migrations.RunPython(add_scopes, migrations.RunPython.noop),
        migrations.RunPython(make_roles, migrations.RunPython.noop),
    ]
