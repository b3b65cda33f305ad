"""The errand of an interaction is called its redirect task. The column keeps its name, so nothing is run."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("presentation", "0019_certified_client_ids"),
        ("wallet", "0020_redirect_tasks"),
    ]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.RemoveIndex("Interaction", "presentation_requests_sent_on"),
                migrations.RenameField("Interaction", "errand", "redirect_task"),
                migrations.AlterField(
                    "Interaction",
                    "redirect_task",
                    models.ForeignKey(
                        db_column="errand_id",
                        db_index=False,
                        editable=False,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        to="wallet.redirecttask",
                    ),
                ),
                migrations.AddIndex(
                    "Interaction",
                    models.Index(
                        condition=models.Q(("redirect_task__isnull", False)),
                        fields=["redirect_task"],
                        name="presentation_requests_sent_on",
                    ),
                ),
            ]
        )
    ]
