from django.apps import AppConfig
from django.db.models.signals import pre_migrate


class SandboxConfig(AppConfig):
    name = "sandbox"
    verbose_name = "Sandbox"

    def ready(self) -> None:
        """Registers the system checks, and the receiver that refuses an older database."""
        from sandbox import checks  # noqa: F401 (registers itself)
        from sandbox.older_database import refuse

        pre_migrate.connect(refuse, sender=self)
