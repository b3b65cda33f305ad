"""The model Evidence is called IdentityEvidence. Its table keeps its name, so no table is altered."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("wallet", "0020_redirect_tasks")]

    operations = [
        migrations.AlterModelTable("Evidence", "wallet_evidence"),
        migrations.RenameModel("Evidence", "IdentityEvidence"),
    ]
