"""The model Errand is called RedirectTask. The table and its columns keep their names, so no table is altered.

Django renames the content type where it meets `RenameModel` itself, so that stands outside.
"""

import django.db.models.deletion
from django.db import migrations, models

TASK = "wallet.redirecttask"


class Migration(migrations.Migration):
    # The first migration of presentation refers to the model by its old name, so it comes before.
    dependencies = [
        ("wallet", "0019_times_of_sign_in_are_told_once"),
        ("presentation", "0001_release_0_2"),
    ]

    operations = [
        migrations.AlterModelTable("Errand", "wallet_errand"),
        migrations.RenameModel("Errand", "RedirectTask"),
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.RenameField("LoginCode", "errand", "redirect_task"),
                migrations.AlterField(
                    "LoginCode",
                    "redirect_task",
                    models.OneToOneField(
                        db_column="errand_id",
                        editable=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="code",
                        to=TASK,
                    ),
                ),
                migrations.RenameField("IdentityVerification", "errand", "redirect_task"),
                migrations.AlterField(
                    "IdentityVerification",
                    "redirect_task",
                    models.ForeignKey(
                        db_column="errand_id",
                        editable=False,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=TASK,
                    ),
                ),
            ]
        )
    ]
