from django.apps import AppConfig


class ConsentConfig(AppConfig):
    name = "consent"
    verbose_name = "Consent"

    def ready(self) -> None:
        """Registers how receipts go along when a wallet is merged into another."""
        from consent.receipts import bring_receipts
        from wallet.account import merging

        merging.register(bring_receipts)
