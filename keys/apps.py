from django.apps import AppConfig


class KeysConfig(AppConfig):
    name = "keys"
    verbose_name = "Signing keys"

    def ready(self) -> None:
        """Registers the system checks, and the check of the keys in a database that has no mark."""
        from infra.database import database_mark
        from keys import checks  # noqa: F401 (registers itself)
        from keys.environment import keys_of_another

        database_mark.register(keys_of_another)
