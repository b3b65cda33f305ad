"""What the parameters of a request are for, in words for developers; and the type of such words."""

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

Text = str | Promise

PARAMETERS: dict[str, Text] = {
    "response_type": _("Always vp_token: what you want back is a presentation."),
    "client_id": _("Who you are. You get it when your application is registered."),
    "redirect_uri": _("Where the answer goes. It must equal a registered one, letter by letter."),
    "response_mode": _("How the answer comes back, where it is not in the fragment."),
    "response_uri": _("Where the answer is posted, in the place of redirect_uri. Registered as well."),
    "scope": _("What you ask for. Each scope stands for a fixed list of claims; a space between several."),
    "login_hint": _("The person’s e-mail address: the wallet opens for them, and for nobody else."),
    "nonce": _(
        "Fresh randomness, at least 16 characters. It is signed into the token, so that an old answer "
        "cannot be shown to you again. Remember it until the answer comes, and use it once."
    ),
    "state": _("Yours, optional, and returned unchanged: it tells you which request came back."),
    "client_metadata": _("A fresh key to encrypt the answer to. Its private half stays with you."),
    "transaction_data": _(
        "What else the person agrees to, as base64url of JSON. They see it in plain words, and its hash is "
        "signed into the token. Remember the very string."
    ),
}
