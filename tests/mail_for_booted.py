"""A mail server with STARTTLS that accepts everything, for a machine of `tests.booted`.

python -m tests.mail_for_booted CERTIFICATE KEY PORT
"""

import signal
import ssl
import sys

from aiosmtpd.controller import Controller

from tests.wallet.mail_server import MailServer


def serve(certificate: str, key: str, port: int) -> None:
    """Serves until this process is ended."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    Controller(
        MailServer(), hostname="127.0.0.1", port=port, tls_context=context, require_starttls=True
    ).start()
    signal.sigwait([signal.SIGTERM])


if __name__ == "__main__":
    serve(sys.argv[1], sys.argv[2], int(sys.argv[3]))
