"""What each error asks of the developer of a relying application."""

from dataclasses import dataclass

from django.utils.translation import gettext_lazy as _

from sandbox.wording import Text


@dataclass(frozen=True)
class ErrorMeaning:
    """An error code in plain words, and what a relying application should do about it."""

    code: str
    title: Text
    meaning: Text
    advice: Text


ERRORS = (
    ErrorMeaning(
        "access_denied",
        _("Nothing was shared"),
        _(
            "The person said no, gave up, or could not be verified. Which of these it was stays between "
            "them and their wallet, and that is on purpose."
        ),
        _(
            "Accept the no. Offer another way to go on, and a button to try again. Never send the person "
            "back by yourself."
        ),
    ),
    ErrorMeaning(
        "invalid_request",
        _("The request was not right"),
        _("A parameter is missing, repeated, too long or wrong, or the nonce was already used."),
        _(
            "This is for your developers: log the description below. Asking again in the same way "
            "cannot help."
        ),
    ),
    ErrorMeaning(
        "unsupported_response_type",
        _("Another response type was asked for"),
        _("This service answers to response_type=vp_token and to nothing else."),
        _("Correct the request."),
    ),
    ErrorMeaning(
        "invalid_scope",
        _("The scope was not accepted"),
        _("There is no such scope, or the operator has not allowed it for your application."),
        _("Compare with scopes_supported in the discovery document, or ask the operator."),
    ),
    ErrorMeaning(
        "unauthorized_client",
        _("It is not your application’s to ask"),
        _("The request is in order, but names a claim that the operator has not allowed your application."),
        _("Ask for less, or ask the operator. The description names the claims."),
    ),
    ErrorMeaning(
        "invalid_request_object",
        _("The signed request was not accepted"),
        _("It has expired, is not valid yet, or is meant for another service."),
        _("Sign a request for every person who is sent, with aud set to the issuer. Compare your clock."),
    ),
    ErrorMeaning(
        "invalid_request_uri",
        _("The pushed request is gone"),
        _("It was pushed more than a minute ago, or was answered already."),
        _("Push the request and send the browser at once; push anew for every try, with a new nonce."),
    ),
    ErrorMeaning(
        "invalid_request_uri_method",
        _("Nothing is fetched in this way"),
        _("request_uri_method says something else than get or post."),
        _("Leave it out, or write get or post in lower case."),
    ),
    ErrorMeaning(
        "vp_formats_not_supported",
        _("There are no credentials of this format here"),
        _("The query asks only for credentials of other formats, a mobile driving licence for example."),
        _("Add a credential query of the format dc+sd-jwt, as one of the options in credential_sets."),
    ),
    ErrorMeaning(
        "invalid_transaction_data",
        _("The transaction was not accepted"),
        _("A value is not base64url of JSON, a field is missing or unknown, or the type is not allowed."),
        _("The description names the value and the field. docs/transaction-data.md has every field."),
    ),
    ErrorMeaning(
        "server_error",
        _("The service has a problem"),
        _("Something went wrong on the service’s side. Nothing was shared."),
        _("Tell the person it is not their fault, and let them try again in a while, with a new nonce."),
    ),
    ErrorMeaning(
        "temporarily_unavailable",
        _("The service is busy"),
        _("It could not answer at the moment. Nothing was shared."),
        _("Let the person try again in a few minutes, with a new nonce."),
    ),
)
