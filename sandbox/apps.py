from django.apps import AppConfig


class SandboxConfig(AppConfig):
    name = "sandbox"
    verbose_name = "Sandbox"

    def ready(self) -> None:
        """Registers the system checks."""
        from sandbox import checks  # noqa: F401 (registers itself)
