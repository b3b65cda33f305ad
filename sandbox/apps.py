from typing import Any

from django.apps import AppConfig
from django.db.models.signals import pre_migrate


class SandboxConfig(AppConfig):
    name = "sandbox"
    verbose_name = "Sandbox"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """What the sandbox keeps is cleared with everything else, and an older database is refused."""
        from presentation.clearing import clearing
        from sandbox import checks  # noqa: F401 (registers itself)
        from sandbox.older_database import refuse
        from sandbox.playground import posted_answers
        from sandbox.self_service import self_registrations

        def clear(sender: Any, signal: Any, **facts: Any) -> None:
            self_registrations.clear(**facts)
            posted_answers.clear(**facts)

        clearing.connect(clear, weak=False, dispatch_uid="sandbox")
        pre_migrate.connect(refuse, sender=self)
