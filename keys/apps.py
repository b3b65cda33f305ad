from django.apps import AppConfig
from django.db.backends.signals import connection_created
from django.db.models.signals import post_migrate


class KeysConfig(AppConfig):
    name = "keys"
    verbose_name = "Signing keys"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from infra.database.poolers import refuse_unknown_pooler
        from keys import checks, database_mark  # noqa: F401 (checks register themselves)

        connection_created.connect(refuse_unknown_pooler)
        connection_created.connect(database_mark.compare_first_connection)
        post_migrate.connect(database_mark.write, sender=self)
