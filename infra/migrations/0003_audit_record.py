from django.db import migrations, models

# PostgreSQL only, because production runs on nothing else. The hash chain finds what a trigger cannot refuse:
# the owner of the table may drop it. `manage.py flush` truncates all tables, which a sandbox may do.
REFUSE = """
CREATE FUNCTION infra_auditline_is_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'TRUNCATE' AND NOT EXISTS (SELECT 1 FROM keys_databasemark WHERE environment = 'production') THEN
        RETURN NULL;
    END IF;
    RAISE EXCEPTION 'The audit record is append-only.' USING ERRCODE = 'insufficient_privilege';
END $$;
CREATE TRIGGER infra_auditline_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON infra_auditline
    FOR EACH STATEMENT EXECUTE FUNCTION infra_auditline_is_append_only();
"""
ALLOW = """
DROP TRIGGER infra_auditline_append_only ON infra_auditline;
DROP FUNCTION infra_auditline_is_append_only();
"""


def refuse(apps, schema_editor):
    if schema_editor.connection.vendor == 'postgresql':
        schema_editor.execute(REFUSE)


def allow(apps, schema_editor):
    if schema_editor.connection.vendor == 'postgresql':
        schema_editor.execute(ALLOW)


class Migration(migrations.Migration):

    dependencies = [
        ('infra', '0002_last_run'),
    ]

    operations = [
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
        migrations.RunPython(refuse, allow),
    ]
