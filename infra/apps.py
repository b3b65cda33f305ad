from django.apps import AppConfig
from django.db.backends.signals import connection_created
from django.db.models.signals import post_migrate


class InfraConfig(AppConfig):
    name = "infra"
    verbose_name = "Infrastructure"

    def ready(self) -> None:
        """Registers the system checks and the receivers that check each new database connection."""
        from infra import checks  # noqa: F401 (registers itself)
        from infra.database import clocks, database_mark, poolers

        connection_created.connect(poolers.refuse_unknown_pooler)
        connection_created.connect(clocks.refuse_wrong_clock)
        connection_created.connect(database_mark.compare_first_connection)
        post_migrate.connect(database_mark.write, sender=self)
