"""Requests that pages of other sites make a browser send: none may change anything."""

from tools.mutants.mutant import mutant

_CHECK, _TESTS = "config/cross_site.py", "config/test_cross_site.py"
_RULE = 'return fetch_site == "same-origin" if fetch_site is not None else origin == own_origin\n'
_RULED = f"{_TESTS}::test_nothing_but_the_two_exact_values_passes"
_REFUSED = f"{_TESTS}::test_a_browser_that_says_anything_else_is_refused_even_with_our_origin"
_ORIGINS = f"{_TESTS}::test_without_fetch_metadata_every_other_origin_is_refused"
_EVERYWHERE = f"{_TESTS}::test_every_address_refuses_what_another_site_sends_unless_it_is_only_read_or_open"
_DECIDING = "presentation/requests/test_deciding.py"
_POSTED = "presentation/requests/test_direct_post.py"

MUTANTS = (
    mutant(
        "cross-site: a page of another host of our domain",
        _CHECK,
        'fetch_site == "same-origin"',
        'fetch_site in ("same-origin", "same-site")',
        _REFUSED,
    ),
    mutant(
        "cross-site: no page",
        _CHECK,
        'fetch_site == "same-origin"',
        'fetch_site in ("same-origin", "none")',
        _REFUSED,
    ),
    mutant(
        "cross-site: our origin against what Sec-Fetch-Site says",
        _CHECK,
        _RULE,
        'return fetch_site == "same-origin" or origin == own_origin\n',
        _REFUSED,
    ),
    mutant(
        "cross-site: a list of values that begins well",
        _CHECK,
        'fetch_site == "same-origin"',
        'fetch_site.split(",")[0] == "same-origin"',
        _REFUSED,
    ),
    mutant(
        "cross-site: a browser that says nothing",
        _CHECK,
        "else origin == own_origin\n",
        "else origin in (None, own_origin)\n",
        _ORIGINS,
        _RULED,
    ),
    mutant(
        "cross-site: an origin that hides itself",
        _CHECK,
        "else origin == own_origin\n",
        'else origin in ("null", own_origin)\n',
        _ORIGINS,
    ),
    mutant(
        "cross-site: an origin that begins as ours",
        _CHECK,
        "else origin == own_origin\n",
        'else (origin or "").startswith(own_origin)\n',
        _ORIGINS,
    ),
    mutant(
        "cross-site: the host that a client names is ours",
        _CHECK,
        "own_origin=settings.BASE_URL",
        'own_origin=f"{request.scheme}://{request.get_host()}"',
        f"{_TESTS}::test_our_origin_is_that_of_the_settings_and_not_what_a_client_says",
    ),
    mutant(
        "cross-site: another method",
        _CHECK,
        '"OPTIONS", "TRACE"))',
        '"OPTIONS", "TRACE", "DELETE"))',
        _EVERYWHERE,
    ),
    mutant(
        "cross-site: a form of the admin without its token",
        _CHECK,
        "            return self.admin.process_view(request, view, arguments, named)\n",
        "            pass\n",
        f"{_TESTS}::test_the_admin_has_djangos_check_and_no_other",
    ),
    mutant(
        "cross-site: a decision of another site",
        "presentation/views.py",
        '@require_http_methods(["GET", "POST"])\ndef resume(',
        '@csrf_exempt\n@require_http_methods(["GET", "POST"])\ndef resume(',
        f"{_DECIDING}::test_a_form_of_another_site_decides_nothing",
    ),
    mutant(
        "cross-site: an answer is posted again by another site",
        "presentation/views.py",
        '@require_http_methods(["GET", "POST"])\ndef delivery(',
        '@csrf_exempt\n@require_http_methods(["GET", "POST"])\ndef delivery(',
        f"{_POSTED}::test_trying_again_takes_a_form_of_our_page",
    ),
    mutant(
        "cross-site: a form of another site is not shown why it was refused",
        "config/cross_site.py",
        "        return views.cross_site(request)\n",
        "        return HttpResponse(status=403)\n",
        f"{_TESTS}::test_the_page_says_why_nothing_was_done_and_leads_back",
    ),
)
