"""Seal what records say of transactions, a batch per database transaction; run it again if it was interrupted.

Type and title stay in clear. The hash of the value as received is not known of these records, so it is empty.
Going back puts the content in clear again; what was erased or forgotten meanwhile stays gone.
"""

import json

from django.db import migrations, transaction

from keys.sealing import seal, unseal

BATCH = 500
CONTEXT = "consent_consent.sealed_transactions:{pk}"


def sealed(pk, said, _content):
    if "blocks" not in said[0]:
        return None
    plain = json.dumps(said, ensure_ascii=False).encode()
    clear = [{"kind": one["kind"], "title": one["title"], "hash": ""} for one in said]
    return {"transactions": clear, "sealed_transactions": seal(plain, context=CONTEXT.format(pk=pk))}


def opened(pk, said, content):
    if "blocks" in said[0]:
        return None
    if content:
        shown = json.loads(unseal(content, context=CONTEXT.format(pk=pk)))
    else:
        gone = {"blocks": [], "consequential": False}
        shown = [{"kind": one["kind"], "title": one["title"], **gone} for one in said]
    return {"transactions": shown, "sealed_transactions": None}


def every_record(change):
    """What goes through all records with transactions, in the order of their ids."""

    def run(apps, schema_editor):
        alias = schema_editor.connection.alias
        records = apps.get_model("consent", "Consent").objects.using(alias)
        rows = records.exclude(transactions=[]).order_by("pk")
        rows = rows.values_list("pk", "transactions", "sealed_transactions")
        batch = list(rows[:BATCH])
        while batch:
            with transaction.atomic(using=alias):
                for pk, said, content in batch:
                    if changes := change(pk, said, content):
                        records.filter(pk=pk).update(**changes)
            batch = list(rows.filter(pk__gt=batch[-1][0])[:BATCH])

    return run


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("consent", "0005_transactions_by_age")]

    operations = [migrations.RunPython(every_record(sealed), every_record(opened))]
