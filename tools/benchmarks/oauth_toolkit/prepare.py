"""Fill the toolkit's database: one application, some signed-in users. Prints them as JSON."""

import json
import sys

import django
from django.conf import settings

SECRET = "s" * 43
REDIRECT_URI = "https://relying-party.example/callback"


def prepare(users: int) -> dict[str, object]:
    """Migrate, register, sign in. Returns what the browsers need."""
    from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY, get_user_model
    from django.contrib.sessions.backends.db import SessionStore
    from django.core.management import call_command
    from oauth2_provider.models import get_application_model

    call_command("migrate", verbosity=0, interactive=False)
    application = get_application_model().objects.create(
        name="Acme Bank",
        client_type="confidential",
        authorization_grant_type="authorization-code",
        redirect_uris=REDIRECT_URI,
    )
    for hashed in (True, False):
        get_application_model().objects.create(
            client_id=f"{'hashed' if hashed else 'plain'}-client",
            client_secret=SECRET,
            hash_client_secret=hashed,
            client_type="confidential",
            authorization_grant_type="client-credentials",
        )
    cookies = []
    for number in range(users):
        user = get_user_model().objects.create_user(f"holder{number}", f"holder{number}@example.org")
        session = SessionStore()
        session[SESSION_KEY] = str(user.pk)
        session[BACKEND_SESSION_KEY] = "django.contrib.auth.backends.ModelBackend"
        session[HASH_SESSION_KEY] = user.get_session_auth_hash()
        session.create()
        cookies.append({settings.SESSION_COOKIE_NAME: session.session_key})
    return {"client_id": application.client_id, "redirect_uri": REDIRECT_URI, "cookies": cookies}


if __name__ == "__main__":
    django.setup()
    json.dump(prepare(int(sys.argv[1])), sys.stdout)
