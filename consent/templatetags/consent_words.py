"""Stored sentences with a place for the name of the requester, as the page shows them."""

from django import template
from django.utils.safestring import SafeString
from django.utils.translation import gettext

from consent.approval import in_html
from consent.blocks import Rows
from consent.question import Requester

register = template.Library()


@register.simple_tag
def introduction(rows: Rows, requester: Requester) -> SafeString:
    """The sentence above the rows, such as “Acme Bank says you are on this device.”"""
    return in_html(gettext(rows.introduction), {"requester": requester.name})
