from django.apps import AppConfig
from django.db.backends.signals import connection_created
from django.db.models.signals import post_migrate


class InfraConfig(AppConfig):
    name = "infra"
    verbose_name = "Infrastructure"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Registers the system checks, and has each new connection to the database looked at."""
        from infra import checks  # noqa: F401 (registers itself)
        from infra.database import database_mark, hung_database, internals, poolers

        internals.tell()
        connection_created.connect(hung_database.watch_opened)
        connection_created.connect(poolers.refuse_unknown_pooler)
        connection_created.connect(database_mark.compare_first_connection)
        post_migrate.connect(database_mark.write, sender=self)
