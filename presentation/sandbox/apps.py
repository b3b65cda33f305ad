from django.apps import AppConfig


class PresentationSandboxConfig(AppConfig):
    name = "presentation.sandbox"
    label = "presentation_sandbox"
    verbose_name = "Presentation (sandbox)"
