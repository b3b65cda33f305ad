from django.db import migrations
from django.utils.timezone import now

from infra.audit import chain
from infra.audit.recording import LOCK


def move(apps, schema_editor):
    """Appends the entries to the audit record, with their own times in the reasons of the lines."""
    entries = apps.get_model('wallet', 'AuditEntry').objects.order_by('at', 'id')
    lines = apps.get_model('infra', 'AuditLine').objects
    if schema_editor.connection.vendor == 'postgresql':  # instances of the release before append lines meanwhile
        schema_editor.execute(f'SELECT pg_advisory_xact_lock({LOCK})')
    last = lines.order_by('-seq').values_list('seq', 'hash').first()
    head = chain.Head(*last) if last else None
    for entry in entries.iterator(chunk_size=1000):
        line = chain.line(
            head,
            at=now(),
            operator_id=entry.operator_id,
            action=entry.action,
            about=f'wallet.{entry.subject}:{entry.subject_id}',
            reason=f'at {entry.at.isoformat(timespec="seconds")}, before the audit record',
        )
        lines.create(**line._asdict())
        head = chain.Head(line.seq, line.hash)
    apps.get_model('contenttypes', 'ContentType').objects.filter(app_label='wallet', model='auditentry').delete()


class Migration(migrations.Migration):
    """Moves the audit entries, to which 0.2.0 adds none, into the audit record.

    The table stays for instances of 0.2.0 that run beside this release; the next release drops it.
    """

    dependencies = [
        ('contenttypes', '0002_remove_content_type_name'),
        ('infra', '0006_failed_runs'),
        ('wallet', '0001_release_0_2'),
    ]

    operations = [
        migrations.RunPython(move, migrations.RunPython.noop),
        migrations.SeparateDatabaseAndState(state_operations=[migrations.DeleteModel('AuditEntry')]),
    ]
