from django.apps import AppConfig


class KeysConfig(AppConfig):
    name = "keys"
    verbose_name = "Signing keys"

    def ready(self) -> None:
        """Registers the system checks."""
        from keys import checks  # noqa: F401 (registers itself)
