"""Letter is called MailboxEmail, and Step LoggedStep. Their tables keep their names, so no table is altered."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("sandbox", "0002_steps")]

    operations = [
        migrations.AlterModelTable("Letter", "sandbox_letter"),
        migrations.RenameModel("Letter", "MailboxEmail"),
        migrations.AlterModelTable("Step", "sandbox_step"),
        migrations.RenameModel("Step", "LoggedStep"),
    ]
