"""Seal what records say of transactions, a batch per database transaction; run it again if it was interrupted.

Type and title stay in clear. The hash of the value as received is not known of these records, so it is empty.
Going back puts the content in clear again; what was erased or forgotten meanwhile stays gone.
"""

import json

from django.db import migrations, transaction

from infra.sealing import seal, unseal

BATCH = 500
CONTEXT = "consent_consent.sealed_transactions:{pk}"


def sealed(pk, said, _content):
    """The content and what stays in clear; None when that was done before."""
    if "blocks" not in said[0]:
        return None
    plain = json.dumps(said, ensure_ascii=False).encode()
    clear = [{"kind": one["kind"], "title": one["title"], "hash": ""} for one in said]
    return clear, seal(plain, context=CONTEXT.format(pk=pk))


def opened(pk, said, content):
    """The same backwards."""
    if "blocks" in said[0]:
        return None
    if content:
        return json.loads(unseal(content, context=CONTEXT.format(pk=pk))), None
    gone = {"blocks": [], "consequential": False}
    return [{"kind": one["kind"], "title": one["title"], **gone} for one in said], None


def every_record(change):
    """What goes through all records with transactions, in the order of their ids."""

    def run(apps, schema_editor):
        connection = schema_editor.connection
        records = apps.get_model("consent", "Consent")
        rows = records.objects.using(connection.alias).exclude(transactions=[]).order_by("pk")
        rows = rows.values_list("pk", "transactions", "sealed_transactions")
        batch = list(rows[:BATCH])
        while batch:
            changes = [(pk, change(pk, said, content)) for pk, said, content in batch]
            write(connection, records, [(*columns, pk) for pk, columns in changes if columns])
            batch = list(rows.filter(pk__gt=batch[-1][0])[:BATCH])

    return run


def write(connection, records, changes):
    """All changes of a batch at once: one by one through the ORM they take several times as long."""
    table = connection.ops.quote_name(records._meta.db_table)
    statement = f"UPDATE {table} SET transactions = %s, sealed_transactions = %s WHERE id = %s"
    fields = [records._meta.get_field(name) for name in ("transactions", "sealed_transactions", "id")]
    with transaction.atomic(using=connection.alias), connection.cursor() as cursor:
        cursor.executemany(
            statement,
            [
                [field.get_db_prep_save(value, connection) for field, value in zip(fields, row, strict=True)]
                for row in changes
            ],
        )


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("consent", "0005_transactions_by_age")]

    operations = [migrations.RunPython(every_record(sealed), every_record(opened))]
