from django.apps import AppConfig


class WalletSandboxConfig(AppConfig):
    name = "wallet.sandbox"
    label = "wallet_sandbox"
    verbose_name = "Wallet (sandbox)"
    default_auto_field = "django.db.models.BigAutoField"
