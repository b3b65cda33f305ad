"""The URLs under `wallet/`."""

from django.urls import path

from wallet.account.address import views as address_pages
from wallet.account.closing import views as closing_pages
from wallet.account.download import views as download_pages
from wallet.account.recovery import views as recovery_pages
from wallet.account.views import home, security
from wallet.identity.views import identity as identity_pages
from wallet.identity.views import messages as identity_messages
from wallet.identity.views import other_wallet
from wallet.identity.views import upload as identity_upload
from wallet.passkeys.views import own as own_passkeys
from wallet.passkeys.views import sign_in as passkeys
from wallet.sign_in import views

REDIRECT_TASK = "errands/<uuid:redirect_task_id>"

urlpatterns = [
    path("", home.home, name="wallet_home"),
    path("share-emails/", home.switch_share_emails, name="wallet_share_emails"),
    path("security/", security.security, name="wallet_security"),
    path("security/browsers/sign-out/", security.end_all, name="wallet_browsers_end_all"),
    path("security/browsers/<uuid:public_id>/sign-out/", security.end, name="wallet_browsers_end"),
    path("data/", download_pages.data, name="wallet_data"),
    path("data/json/", download_pages.save, {"kind": "json"}, name="wallet_data_json"),
    path("data/html/", download_pages.save, {"kind": "html"}, name="wallet_data_html"),
    path("close/", closing_pages.close, name="wallet_close"),
    path("close/keep/", closing_pages.keep_wallet, name="wallet_close_keep"),
    path("security/address/", address_pages.begin, name="wallet_email_change"),
    path("security/address/confirm/", address_pages.confirm, name="wallet_email_change_confirm"),
    path("security/address/changed/", address_pages.changed, name="wallet_email_change_done"),
    path("address-undo/<str:secret>/", address_pages.undo, name="wallet_email_change_undo"),
    path("lost-mailbox/", recovery_pages.begin, name="wallet_recovery"),
    path("lost-mailbox/old-address/", recovery_pages.ask, name="wallet_recovery_ask"),
    path("lost-mailbox/move/", recovery_pages.state, name="wallet_recovery_state"),
    path("lost-mailbox/check/", recovery_pages.check, name="wallet_recovery_check"),
    path("lost-mailbox/stop/", recovery_pages.stop_here, name="wallet_recovery_stop_here"),
    path("move-stop/<str:secret>/", recovery_pages.stop, name="wallet_recovery_stop"),
    path("sign-in/", views.front_door, name="wallet_front_door"),
    path("sign-out/", views.sign_out, name="wallet_sign_out"),
    path("signed-out/", views.signed_out, name="wallet_signed_out"),
    path(f"{REDIRECT_TASK}/sign-in/", views.sign_in, name="wallet_sign_in"),
    path(f"{REDIRECT_TASK}/code/", views.code, name="wallet_code"),
    path("link/<str:secret>/", views.link, name="wallet_link"),
    path(f"{REDIRECT_TASK}/switch/", views.switch, name="wallet_switch"),
    path(f"{REDIRECT_TASK}/sign-out/", views.sign_out, name="wallet_errand_sign_out"),
    path(f"{REDIRECT_TASK}/signed-out/", views.signed_out, name="wallet_errand_signed_out"),
    path("passkeys/add/", own_passkeys.add, name="wallet_passkey_add"),
    path("passkeys/no-thanks/", own_passkeys.close_offer, name="wallet_passkey_close_offer"),
    path("passkeys/<uuid:passkey_id>/name/", own_passkeys.rename, name="wallet_passkey_rename"),
    path("passkeys/<uuid:passkey_id>/remove/", own_passkeys.remove, name="wallet_passkey_remove"),
    path("passkeys/sign-in/", passkeys.sign_in_at_front_door, name="wallet_passkey_front_door"),
    path("passkeys/options/add/", passkeys.options_to_add, name="wallet_passkey_options_add"),
    path("passkeys/options/sign-in/", passkeys.options_at_front_door, name="wallet_passkey_options"),
    path(
        "passkeys/options/confirm/<uuid:subject>/",
        passkeys.options_to_confirm,
        name="wallet_passkey_options_confirm",
    ),
    path(f"{REDIRECT_TASK}/passkey/", passkeys.sign_in, name="wallet_passkey_sign_in"),
    path(
        f"{REDIRECT_TASK}/passkey/options/",
        passkeys.options_on_redirect_task,
        name="wallet_passkey_options_errand",
    ),
    path(f"{REDIRECT_TASK}/identity/", identity_pages.identity, name="wallet_identity"),
    path(f"{REDIRECT_TASK}/identity/start/", identity_pages.begin, name="wallet_identity_start"),
    path(f"{REDIRECT_TASK}/identity/continue/", identity_pages.go_on, name="wallet_identity_continue"),
    path(f"{REDIRECT_TASK}/identity/cancel/", identity_pages.cancel, name="wallet_identity_cancel"),
    path(f"{REDIRECT_TASK}/identity/in-person/", identity_pages.in_person, name="wallet_identity_in_person"),
    path(f"{REDIRECT_TASK}/identity/upload/", identity_upload.upload, name="wallet_identity_upload"),
    path(
        f"{REDIRECT_TASK}/identity/other-wallet/",
        other_wallet.page,
        name="wallet_identity_other_wallet",
    ),
    path("identity/", identity_pages.own_identity, name="wallet_own_identity"),
    path("identity/<uuid:verification_id>/return/", identity_pages.back, name="wallet_identity_return"),
    path("identity/<slug:name>/", identity_messages.unknown, name="wallet_identity_messages"),
    path("identity/<slug:name>/return/", identity_messages.returned, name="wallet_identity_returned"),
    path("identity/<slug:name>/callback/", identity_messages.callback, name="wallet_identity_callback"),
    path("identity/<slug:name>/callback/<path:path>", identity_messages.callback),
]
