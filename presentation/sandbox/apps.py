from typing import Any

from django.apps import AppConfig


class PresentationSandboxConfig(AppConfig):
    name = "presentation.sandbox"
    label = "presentation_sandbox"
    verbose_name = "Presentation (sandbox)"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """What the sandbox keeps is cleared with everything else, and its checks are made."""
        from presentation.clearing import clearing
        from presentation.sandbox import checks  # noqa: F401 (registers itself)
        from presentation.sandbox.playground import posted_answers
        from presentation.sandbox.self_service import self_registrations

        def clear(sender: Any, signal: Any, **facts: Any) -> None:
            self_registrations.clear(**facts)
            posted_answers.clear(**facts)

        clearing.connect(clear, weak=False, dispatch_uid="sandbox")
