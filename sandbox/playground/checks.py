"""What each check of the playground's verifier means, and where it is written."""

from dataclasses import dataclass

from django.utils.translation import gettext_lazy as _

from sandbox.wording import Text


@dataclass(frozen=True)
class Check:
    """One thing that is verified: its name in the verifier, in words, why, and where it is written."""

    id: str
    title: Text
    why: Text
    source: str


@dataclass(frozen=True)
class Group:
    """The checks that answer one question."""

    question: Text
    checks: tuple[Check, ...]


CHECKS = (
    Group(
        _("Is it the answer to our request?"),
        (
            Check(
                "state",
                _("The state is the one we sent"),
                _("An answer to a request that this browser never made could be somebody else’s."),
                "RFC 6749 §10.12",
            ),
            Check(
                "wire-format",
                _("The answer has the form we registered for"),
                _("A string or a JSON object: the operator sets it, and the answer may not choose."),
                "OpenID4VP 1.0 §8.1",
            ),
            Check(
                "response-iss",
                _("The answer says who sent it"),
                _("In the OpenID4VP wire format, and in errors; it tells answers of several services apart."),
                "RFC 9207 §2.4",
            ),
            Check(
                "structure",
                _("The token can be taken apart"),
                _("A JWT of the issuer, disclosures, and a Key Binding JWT, with ~ between them."),
                "RFC 9901 §4",
            ),
        ),
    ),
    Group(
        _("Who issued it?"),
        (
            Check(
                "discovery",
                _("Discovery names the issuer we trust"),
                _("The address we asked and the issuer it names must be the same."),
                "RFC 8414 §3.3",
            ),
            Check(
                "iss",
                _("The token names that issuer"),
                _("Trust is ours to give: the token cannot bring its own issuer."),
                "SD-JWT VC §2.2.2",
            ),
            Check(
                "typ",
                _("It is an SD-JWT credential"),
                _("The type keeps tokens made for something else from passing as a credential."),
                "SD-JWT VC §2.2.1",
            ),
            Check(
                "alg",
                _("It is signed by ES256"),
                _("Accept the algorithms you expect, never simply what the header says."),
                "RFC 8725 §3.1",
            ),
            Check(
                "kid",
                _("The signing key is in the key set"),
                _("Keys change. Fetch the set again, once, when you do not know the key."),
                "RFC 7517 §4.5",
            ),
            Check(
                "issuer-signature",
                _("The issuer’s signature fits"),
                _("Nobody has changed a letter since the issuer signed."),
                "RFC 9901 §7.1",
            ),
            Check(
                "x5c",
                _("The certificates are the published ones"),
                _("The chain travels in the header, without its root."),
                "RFC 7515 §4.1.6",
            ),
            Check(
                "certificate-key",
                _("The first certificate is about this key"),
                _("Otherwise the chain would vouch for somebody else’s key."),
                "RFC 7517 §4.7",
            ),
            Check(
                "certificate-chain",
                _("The chain leads to a root we trust"),
                _("Each certificate is in date and signed by the next. Get the root once, by a safe way."),
                "RFC 5280 §6",
            ),
        ),
    ),
    Group(
        _("Is it what we asked for, and still good?"),
        (
            Check(
                "vct",
                _("It is an identity credential"),
                _("The type of the credential says what its claims mean."),
                "SD-JWT VC §2.2.2.1",
            ),
            Check(
                "exp",
                _("It has begun and not ended"),
                _("Presentations here live for a day at most. Verify them when they arrive."),
                "RFC 7519 §4.1.4",
            ),
            Check(
                "sd-alg",
                _("The digests are made with SHA-256"),
                _("An unknown hash cannot be checked, so it is refused."),
                "RFC 9901 §4.1.1",
            ),
            Check(
                "disclosures-form",
                _("The disclosures are well formed"),
                _("Salt, name and value; and nothing that hides or replaces another claim."),
                "RFC 9901 §7.1",
            ),
            Check(
                "digests-once",
                _("No digest is there twice"),
                _("One disclosure must not be able to stand in two places."),
                "RFC 9901 §7.1",
            ),
            Check(
                "disclosures-referenced",
                _("Every disclosure is the issuer’s"),
                _("Its hash stands among the signed digests, also through another disclosure."),
                "RFC 9901 §7.1",
            ),
            Check(
                "claims",
                _("It discloses what we asked for, and nothing else"),
                _("Do not rely on the wallet for this: look whether the claims you need are there."),
                "OpenID4VP 1.0 §8.6",
            ),
        ),
    ),
    Group(
        _("Was it made just now, by its holder, for us?"),
        (
            Check(
                "kb-typ",
                _("There is a Key Binding JWT"),
                _("It shows that whoever presents the credential holds its key."),
                "RFC 9901 §7.3",
            ),
            Check(
                "kb-signature",
                _("It is signed by the holder’s key"),
                _("The issuer wrote that key into the credential; only this one counts."),
                "RFC 9901 §7.3",
            ),
            Check(
                "kb-iat",
                _("It was made a moment ago"),
                _("Five minutes are plenty for a redirect."),
                "RFC 9901 §7.3",
            ),
            Check(
                "kb-aud",
                _("It was made for us"),
                _("A token for another application must not open doors here."),
                "RFC 9901 §7.3",
            ),
            Check(
                "kb-nonce",
                _("It carries our nonce"),
                _("This is the answer to this very request, not a copy of an earlier one."),
                "RFC 9901 §7.3",
            ),
            Check(
                "kb-sd-hash",
                _("It covers exactly these disclosures"),
                _("Nothing was added or taken away after the holder signed."),
                "RFC 9901 §4.3.1",
            ),
            Check(
                "transaction-data",
                _("It is bound to our transaction"),
                _("One hash for each string we sent, in our order; none if we sent none."),
                "OpenID4VP 1.0 §8.4",
            ),
        ),
    ),
    Group(
        _("Was it taken back?"),
        (
            Check(
                "status",
                _("The issuer’s status list says it is valid"),
                _("Its holder or the issuer may take it back at any time. No answer counts as a no."),
                "Token Status List §8.3",
            ),
        ),
    ),
)
