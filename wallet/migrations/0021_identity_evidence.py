"""The model Evidence is called IdentityEvidence. Its table keeps its name, so nothing is run."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("wallet", "0020_redirect_tasks")]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.RenameModel("Evidence", "IdentityEvidence"),
                migrations.AlterModelTable("IdentityEvidence", "wallet_evidence"),
            ]
        )
    ]
