"""The tables of `infra`, as version 0.2.0 has them, and the trigger that keeps the audit record."""

import django.db.models.deletion
import uuid
from django.conf import settings
from django.db import migrations, models

# PostgreSQL only, because production runs on nothing else. The hash chain finds what a trigger cannot refuse:
# the owner of the table may drop it. `manage.py flush` truncates all tables, which a sandbox may do.
REFUSE = """
CREATE OR REPLACE FUNCTION infra_auditline_is_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'TRUNCATE' AND NOT EXISTS (SELECT 1 FROM keys_databasemark WHERE environment = 'production') THEN
        RETURN NULL;
    END IF;
    RAISE EXCEPTION 'The audit record is append-only.' USING ERRCODE = 'insufficient_privilege';
END $$;
CREATE TRIGGER infra_auditline_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON infra_auditline
    FOR EACH STATEMENT EXECUTE FUNCTION infra_auditline_is_append_only();
"""


def refuse(apps, schema_editor):
    if schema_editor.connection.vendor == 'postgresql':
        schema_editor.execute(REFUSE)


class Migration(migrations.Migration):

    initial = True

    replaces = [
        ('infra', '0001_initial'),
        ('infra', '0002_last_run'),
        ('infra', '0003_audit_record'),
        ('infra', '0004_second_factor'),
        ('infra', '0005_outgoing_emails'),
    ]

    dependencies = [
        ('auth', '0012_alter_user_first_name_max_length'),
    ]

    operations = [
        migrations.CreateModel(
            name='Allowance',
            fields=[
                ('key', models.CharField(editable=False, max_length=64, primary_key=True, serialize=False)),
                ('count', models.PositiveIntegerField(editable=False)),
                ('expires_at', models.DateTimeField(db_index=True, editable=False)),
            ],
            options={
                'db_table': 'wallet_allowance',
                'default_permissions': [],
            },
        ),
        migrations.CreateModel(
            name='LastRun',
            fields=[
                ('command', models.CharField(editable=False, max_length=40, primary_key=True, serialize=False)),
                ('at', models.DateTimeField(editable=False)),
            ],
            options={
                'default_permissions': [],
            },
        ),
        migrations.CreateModel(
            name='SecondFactor',
            fields=[
                ('operator', models.OneToOneField(db_constraint=False, editable=False, on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='second_factor', serialize=False, to=settings.AUTH_USER_MODEL)),
                ('sealed_secret', models.BinaryField()),
                ('enrolment', models.CharField(editable=False, max_length=32)),
                ('used_step', models.BigIntegerField(editable=False)),
                ('set_up_at', models.DateTimeField(editable=False)),
            ],
            options={
                'default_permissions': [],
            },
        ),
        migrations.CreateModel(
            name='AuditLine',
            fields=[
                ('seq', models.BigIntegerField(editable=False, primary_key=True, serialize=False, verbose_name='number')),
                ('text', models.TextField(editable=False, verbose_name='text')),
                ('hash', models.CharField(editable=False, max_length=64, verbose_name='SHA-256')),
                ('at', models.DateTimeField(db_index=True, editable=False, verbose_name='when')),
                ('operator_id', models.BigIntegerField(db_index=True, editable=False, null=True, verbose_name='operator’s ID')),
                ('action', models.CharField(editable=False, max_length=40, verbose_name='action')),
                ('about', models.CharField(editable=False, max_length=200, verbose_name='about')),
            ],
            options={
                'verbose_name': 'line of the audit record',
                'verbose_name_plural': 'audit record',
                'ordering': ['-seq'],
                'default_permissions': [],
                'indexes': [models.Index(fields=['about', '-seq'], name='infra_audit_about')],
            },
        ),
        migrations.CreateModel(
            name='DatabaseMark',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('environment', models.CharField(editable=False, max_length=10, verbose_name='environment')),
                ('marked_at', models.DateTimeField(editable=False, verbose_name='marked')),
                ('only', models.BooleanField(default=True, editable=False)),
            ],
            options={
                'verbose_name': 'database mark',
                'verbose_name_plural': 'database marks',
                'db_table': 'keys_databasemark',
                'default_permissions': [],
                'constraints': [models.UniqueConstraint(fields=('only',), name='keys_one_database_mark'), models.CheckConstraint(condition=models.Q(('only', True)), name='keys_database_mark_is_the_only'), models.CheckConstraint(condition=models.Q(('environment__in', ['sandbox', 'production'])), name='keys_database_mark_known')],
            },
        ),
        migrations.CreateModel(
            name='OutgoingEmail',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False, verbose_name='ID')),
                ('purpose', models.CharField(editable=False, max_length=40, verbose_name='purpose')),
                ('urgent', models.BooleanField(default=False, editable=False, verbose_name='urgent')),
                ('recipient', models.CharField(db_index=True, editable=False, max_length=64)),
                ('sealed_letter', models.BinaryField(default=b'')),
                ('state', models.CharField(choices=[('waiting', 'waiting'), ('sent', 'sent'), ('refused', 'refused'), ('too late', 'too late'), ('dropped', 'dropped')], default='waiting', editable=False, max_length=8, verbose_name='state')),
                ('reason', models.CharField(blank=True, editable=False, max_length=60, verbose_name='reason')),
                ('tries', models.PositiveIntegerField(default=0, editable=False, verbose_name='tries')),
                ('created_at', models.DateTimeField(editable=False, verbose_name='written')),
                ('due_at', models.DateTimeField(editable=False, verbose_name='next try')),
                ('expires_at', models.DateTimeField(editable=False, verbose_name='sent until')),
                ('tried_at', models.DateTimeField(editable=False, null=True, verbose_name='last try')),
                ('leased_until', models.DateTimeField(editable=False, null=True)),
                ('ended_at', models.DateTimeField(editable=False, null=True, verbose_name='ended')),
            ],
            options={
                'verbose_name': 'e-mail',
                'verbose_name_plural': 'e-mails',
                'ordering': ['-created_at', '-id'],
                'default_permissions': ['view', 'change'],
                'indexes': [models.Index(condition=models.Q(('state', 'waiting')), fields=['urgent', 'due_at'], name='infra_emails_waiting'), models.Index(condition=models.Q(('ended_at__isnull', False)), fields=['ended_at'], name='infra_emails_ended'), models.Index(condition=models.Q(('state', 'refused')), fields=['expires_at'], name='infra_emails_refused'), models.Index(fields=['-created_at', '-id'], name='infra_emails_newest')],
                'constraints': [models.CheckConstraint(condition=models.Q(('state__in', ['waiting', 'sent', 'refused', 'too late', 'dropped'])), name='infra_email_state_known'), models.CheckConstraint(condition=models.Q(models.Q(('ended_at', None), ('state', 'waiting')), models.Q(models.Q(('state', 'waiting'), _negated=True), ('ended_at__isnull', False)), _connector='OR'), name='infra_email_waits_or_ended')],
            },
        ),
        migrations.CreateModel(
            name='RecoveryCode',
            fields=[
                ('digest', models.CharField(editable=False, max_length=64, primary_key=True, serialize=False)),
                ('factor', models.ForeignKey(editable=False, on_delete=django.db.models.deletion.CASCADE, related_name='recovery_codes', to='infra.secondfactor')),
            ],
            options={
                'default_permissions': [],
            },
        ),
        migrations.RunPython(refuse, migrations.RunPython.noop),
    ]
