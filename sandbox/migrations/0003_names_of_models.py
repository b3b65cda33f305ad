"""Letter is called MailboxEmail, and Step LoggedStep. Their tables keep their names, so nothing is run."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("sandbox", "0002_steps")]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.RenameModel("Letter", "MailboxEmail"),
                migrations.AlterModelTable("MailboxEmail", "sandbox_letter"),
                migrations.RenameModel("Step", "LoggedStep"),
                migrations.AlterModelTable("LoggedStep", "sandbox_step"),
            ]
        )
    ]
