"""What holders read about the data that this app keeps of them, by the “what” of the entry in `retention`."""

from django.utils.translation import gettext_lazy as _

from infra.retention import ForPeople

_OPEN = ForPeople(
    _("A request while it is open: your e-mail address, and what is asked for. Payments are encrypted."),
    _("To show it to you, and to send your answer."),
    _("Until you answer; otherwise a day after it ended"),
)
PEOPLE = {
    "open request: its transaction data": _OPEN,
    "open request: e-mail address, nonce, `state` and the other parameters": _OPEN,
    "pushed request: its transaction data": _OPEN,
    "pushed request: the other parameters": _OPEN,
    "answered request that gave a token": ForPeople(
        _("That a request was answered, with its receipt"),
        _("So that the same request cannot be answered twice."),
        _("400 days"),
    ),
    "answer that is posted, and where the browser goes next": ForPeople(
        _("Your answer, until it has arrived. Encrypted."),
        _("To send it again if it did not arrive."),
        _("Five minutes at most"),
    ),
    "webhook": ForPeople(
        _("Notes to applications that a request was answered or taken back. They say neither who nor what."),
        _("To send them again if they did not arrive."),
        _("30 days"),
    ),
}
