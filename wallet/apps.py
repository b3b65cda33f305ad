from django.apps import AppConfig


class WalletConfig(AppConfig):
    name = "wallet"
    verbose_name = "Wallets and identity"

    def ready(self) -> None:
        """Registers the system checks, and the function that counts for `keys` what a signing key signed."""
        from keys.rotation import states
        from wallet import checks  # noqa: F401 (registers itself)
        from wallet.status_lists.standing import signed_by

        states.count_credentials = signed_by
