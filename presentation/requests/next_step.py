"""The next step of an interaction, computed from facts, and the rows that the step needs.

The step is not stored. Each HTTP request computes it once. What a credential would present for the request
(OpenID4VP 1.0 §6.4) is computed only after sign-in and shown only to the holder (§15.4.1).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from enum import StrEnum, auto
from functools import lru_cache
from itertools import chain, combinations
from typing import Any

from django.conf import settings
from django.db import transaction
from django.urls import reverse
from django.utils import timezone
from django.utils.timezone import localdate

from consent import decisions, transactions
from consent.models import Consent
from consent.question import Requester
from keys.issuer_key import active_issuer_key
from presentation.dcql import conditions, evaluation
from presentation.dcql.evaluation import Offer, Selection, covered, select_for_anyone
from presentation.dcql.queries import Query
from presentation.models import Interaction, RelyingParty
from presentation.requests import interactions, sign_in_time
from presentation.requests.authorization_request import AuthorizationRequest, offered
from presentation.requests.fast_path.writing import write_question
from presentation.requests.interactions import OpenInteraction
from presentation.requests.more_time import longest_end
from presentation.requests.sign_in_time import CODE_LIVES
from presentation.transaction_data import entries
from wallet import redirect_tasks
from wallet.account import fresh, pairwise
from wallet.credential import credentials, days
from wallet.credential.claims import SUBJECT, ClaimPath, values_of_verification
from wallet.credential.details import MEMBERS
from wallet.credential.evidence import Assurance, Verification, at_least
from wallet.credential.inference import questions_of
from wallet.models import Credential, HolderSession, Wallet
from wallet.providers import registry
from wallet.sign_in import sessions

FRESH_FACTOR = fresh.FRESH_FOR  # how old a sign-in may be when a request has a payment


class Step(StrEnum):
    """What must happen next in an interaction. The log and the metrics use these words."""

    SIGN_IN = auto()
    ENROLL = auto()
    CONSENT = auto()
    UNAVAILABLE = auto()
    REFUSE = auto()
    ANSWER = auto()


@dataclass(frozen=True)
class Match:
    """A holder's valid credential, and the claims that the request selects."""

    credential: Credential
    selection: Selection
    # Whether another credential might have given another answer that the request accepts as well.
    reveals_possible_answers: bool = False
    told: tuple[ClaimPath, ...] = ()  # the claims of which the answer tells something without sharing them


@dataclass(frozen=True)
class NextStep:
    """A step, with the match that it was computed from.

    With ANSWER, `match` is None if the credential no longer matches. Ages in it are those of the day when the
    holder was asked.
    """

    step: Step
    match: Match | None = None


def next_step(
    opened: OpenInteraction,
    session: HolderSession | None,
    *,
    now: datetime,
    by_code: bool = False,
    agrees: bool = False,
) -> NextStep:
    """The next step of this interaction for the holder of the session; raises `AuthorizationError`.

    agrees: the holder says yes to the open question, and nothing is stored of it yet. by_code: a holder whose
    sign-in is too old for a payment confirms with a code, and not with a passkey on the consent page.
    """
    consent = opened.row.consent
    if consent is not None and consent.decision == Consent.Decision.DECLINED:
        return NextStep(Step.REFUSE)
    request = opened.request
    if session is None or request.login_hint not in ("", session.wallet.email):
        return NextStep(Step.SIGN_IN)
    if request.needs_passkey and not session.by_passkey:
        return NextStep(Step.SIGN_IN)
    too_old = _signed_in_too_long_ago(opened, session, now=now)
    if too_old and (by_code or agrees or not _confirms_on_page(request, consent, session)):
        return NextStep(Step.SIGN_IN)
    if _demands_another(opened, session.wallet):  # nobody proves who they are in vain
        return NextStep(Step.UNAVAILABLE)
    credential = credentials.valid_credential(session.wallet, now=now)
    if credential is None:
        possible = _possible(request) is not None and reachable(request, opened.relying_party)
        return NextStep(Step.ENROLL if possible else Step.UNAVAILABLE)
    with interactions.our_fault():
        found_assurance = credentials.assurance(credential)  # opens the credential
        details = credentials.details_of(credential)
    enough = suffices(request, opened.relying_party, found_assurance)
    if not (enough and any(details.issuperset(needed) for needed in _details_needed(request))):
        return NextStep(Step.ENROLL if reachable(request, opened.relying_party) else Step.UNAVAILABLE)
    if consent is None or _asks_somebody_else(consent, request, session):
        match = _match(opened, credential, today=days.of_ages(now, settings.AGE_TIME_ZONE))
        if match and _learns_too_much(opened, session, (*match.selection.claims, *match.told), now=now):
            match = None
        return NextStep(Step.CONSENT if match else Step.UNAVAILABLE, match)
    if decisions.granted_for(
        consent, request_hash=opened.row.request_hash, wallet=session.wallet, agrees=agrees
    ):
        match = _match(opened, credential, today=days.as_asked(consent.asked_at, consent.minutes_ahead))
        if agrees and opened.relying_party.most_ages_a_year is not None:
            return NextStep(Step.CONSENT)  # the yes is stored first: of parallel ones, each counts the others
        if _learns_too_much(opened, session, decisions.told_by(consent), now=now):
            match = None
        return NextStep(Step.ANSWER, match)
    if consent.decision == Consent.Decision.ASKED:
        with interactions.our_fault():
            transactions.shown(consent)  # no page could show what does not unseal
    return NextStep(Step.CONSENT)


def _learns_too_much(
    opened: OpenInteraction, session: HolderSession, paths: Iterable[ClaimPath], *, now: datetime
) -> bool:
    """Whether the relying party would learn about more different ages in a year than an operator allows."""
    party, ages = opened.relying_party, _ages(paths)
    if party.most_ages_a_year is None or not ages:
        return False
    since = days.of_ages(now, settings.AGE_TIME_ZONE) - timedelta(days=365)
    answers = decisions.answers_to(party.client_id, session.wallet, now=now)
    learned = _ages(answer.path for answer in answers if answer.day > since)
    return len(ages | learned) > party.most_ages_a_year


def _ages(paths: Iterable[ClaimPath]) -> set[ClaimPath]:
    """The ages among them that count: that of the basic scope does not."""
    return {path for path in paths if path[0] == "age_equal_or_over"} - {("age_equal_or_over", "18")}


def _asks_somebody_else(consent: Consent, request: AuthorizationRequest, session: HolderSession) -> bool:
    """Whether an open question was put to another holder, who then signed out: it is not theirs any more.

    Only without `login_hint`. An answered question stays that of the holder who answered.
    """
    unanswered = consent.decision == Consent.Decision.ASKED
    return not request.login_hint and unanswered and consent.wallet_id != session.wallet_id


def _confirms_on_page(request: AuthorizationRequest, consent: Consent | None, session: HolderSession) -> bool:
    """Whether the consent page asks for a passkey in place of a sign-in before it; only for a payment."""
    if not any(value.consequential for value in request.transaction_data):
        return False
    undecided = consent is None or consent.decision == Consent.Decision.ASKED
    return undecided and session.wallet.passkeys.exists()


def earliest_sign_in(opened: OpenInteraction, *, now: datetime) -> datetime | None:
    """The holder must have signed in at or after this moment; None if any time will do.

    With a payment, and where OpenID Connect asks for it (Core 1.0 §3.1.2.1).
    """
    request, began = opened.request, opened.row.created_at
    moments = []
    if any(value.consequential for value in request.transaction_data):
        moments.append(began - FRESH_FACTOR)
    if (longest := request.longest_since_sign_in) is not None:
        collected_by = now + CODE_LIVES
        moments.append(sign_in_time.earliest(longest, began=began, now=now, collected_by=collected_by))
    return max(moments, default=None)


def _signed_in_too_long_ago(opened: OpenInteraction, session: HolderSession, *, now: datetime) -> bool:
    """Whether the holder has to prove a factor again: because of the time, or because it was told already."""
    earliest, request = earliest_sign_in(opened, now=now), opened.request
    if earliest is not None and session.signed_in_at < earliest:
        return True
    if not request.tells_sign_in_time or sessions.may_tell_time(session, opened.row.id):
        return False
    longest, collected_by = request.longest_since_sign_in, now + CODE_LIVES
    return not sign_in_time.hour_will_do(session.signed_in_at, longest, collected_by=collected_by)


def _good_from(opened: OpenInteraction, step: Step, *, now: datetime) -> datetime | None:
    """`fresh_since` of the redirect task: with the step SIGN_IN, no sign-in that there is will do.

    Otherwise a session that is only too old for OpenID Connect would lead from the task straight back.
    """
    request = opened.request
    depends_on_time = request.tells_sign_in_time or request.longest_since_sign_in is not None
    return now if depends_on_time and step is Step.SIGN_IN else earliest_sign_in(opened, now=now)


def insert_step_rows(opened: OpenInteraction, following: NextStep, *, now: datetime) -> bool:
    """Inserts the row that the step needs, if it is missing: the consent, or the redirect task of the wallet.

    A new interaction is inserted in the same transaction. False if the interaction was changed meanwhile, by
    another tab: then nothing is stored.
    """
    row, step = opened.row, following.step
    if opened.is_new and step is Step.CONSENT and following.match is not None:
        row.consent = _question(opened, following.match, now=now)
        write_question(row.consent, row)
        return True
    before = {"consent": row.consent_id, "redirect_task": row.redirect_task_id}
    with transaction.atomic():
        if step is Step.CONSENT and following.match is not None:
            _ask(opened, following.match, now=now)
        elif step in (Step.SIGN_IN, Step.ENROLL):
            _open_task(opened, step, now=now)
        if opened.is_new:
            row.save(force_insert=True)
            return True
        after = {"consent": row.consent_id, "redirect_task": row.redirect_task_id}
        unchanged = Interaction.objects.filter(id=row.id, outcome=Interaction.Outcome.NONE, **before)
        stored = before == after or unchanged.update(**after) == 1
        transaction.set_rollback(not stored)
    return stored


def _ask(opened: OpenInteraction, match: Match, *, now: datetime) -> None:
    """Inserts the question. One that was put to another holder ends before this one is asked."""
    row = opened.row
    if row.consent is None or decisions.withdraw(row.consent.id, now=now):
        row.consent = _question(opened, match, now=now)
        row.consent.save(force_insert=True)


def _open_task(opened: OpenInteraction, step: Step, *, now: datetime) -> None:
    """Inserts the redirect task of the wallet; one that is there already demands the sign-in."""
    row, party = opened.row, opened.relying_party
    fresh_since = _good_from(opened, step, now=now)
    if row.redirect_task is not None:
        if step is Step.SIGN_IN:
            redirect_tasks.demand_sign_in(row.redirect_task.id, fresh_since=fresh_since)
        return
    check = reachable(opened.request, party) or IdentityNeeded()
    selection = _possible(opened.request)
    row.redirect_task = redirect_tasks.open_redirect_task(
        browser=row.browser,
        email=opened.request.login_hint,
        asks_address=not opened.request.login_hint,
        on_behalf_of=party.name,
        requester_domain=opened.return_address.destination,
        requester_logo=party.logo_url,
        begin_again=party.initiate_login_uri and reverse("begin_again", args=[party.client_id]),
        return_to=interactions.path_of(row),
        leave_to=reverse("leave", args=[row.id]),
        asks_for=[".".join(path) for path in selection.claims] if selection else [],
        assurance=check.assurances,
        details=check.details,
        fresh_since=fresh_since,
        needs_passkey=opened.request.needs_passkey,
        now=now,
        lifetime=row.expires_at - now,
        extendable_until=longest_end(opened),
    )


def _question(opened: OpenInteraction, match: Match, *, now: datetime) -> Consent:
    """A new consent that asks the holder of the matching credential; not stored yet."""
    row, transaction_data = opened.row, opened.request.transaction_data
    selection = match.selection
    return decisions.question(
        wallet=match.credential.wallet,
        requester_id=opened.relying_party.client_id,
        requester=_requester(opened, recognises=SUBJECT in selection.claims),
        claims=selection.claims,
        optional=selection.optional,
        told=match.told,
        alternatives=match.reveals_possible_answers,
        transactions=[entries.display(value) for value in transaction_data],
        transaction_hashes=[value.hash for value in transaction_data],
        minutes_ahead=days.minutes_ahead(now, settings.AGE_TIME_ZONE),
        request_hash=row.request_hash,
        return_to=interactions.path_of(row),
        now=now,
        expires_at=row.expires_at,
        extendable_until=longest_end(opened),
        requester_since=localdate(opened.relying_party.created_at, UTC),
        requester_is_unchecked=opened.relying_party.self_registered,
        fresh_since=earliest_sign_in(opened, now=now),
    )


def _requester(opened: OpenInteraction, *, recognises: bool) -> Requester:
    """recognises: whether it asks for the number to recognise the holder by."""
    party, address = opened.relying_party, opened.return_address
    return Requester(
        name=party.name,
        domain=address.destination,
        logo_url=party.logo_url if party.logo else "",  # the busiest path: no call for nothing
        purpose=party.purpose,
        privacy_policy_url=party.privacy_policy_url,
        terms_url=party.terms_url,
        receiver=address.destination if address.posted else "",
        sector=party.recognises_in if recognises else "",
        recognised_by="\n".join(party.names_in_sector()) if recognises else "",
        number_once="" if recognises else opened.request.number_once,
    )


def _match(opened: OpenInteraction, credential: Credential, *, today: date) -> Match | None:
    """The match with this credential, with its values on the day `today`; None if it does not match.

    Raises `ServerError` or `TemporarilyUnavailableError` if the keys that this needs cannot be used.
    """
    query, subject = opened.request.query, ""
    with interactions.our_fault():
        offer, selection, same_for_everyone = _best(query, _authorities(query))
        same_for_everyone = same_for_everyone and credentials.has_whole_birth_date(credential)
        told: tuple[ClaimPath, ...] = ()
        if not same_for_everyone:
            if evaluation.demands_value(query, SUBJECT):
                subject = _known_subject(opened, credential.wallet)
            whole = credentials.whole(credential, offer.claims, today=today, subject=subject)
            selection = evaluation.select(query, offer, whole)
            told = _told_beside(query, offer, whole, selection) if selection else ()
    if not selection or not _binds_all(opened.request, selection):
        return None
    return Match(credential, selection, not same_for_everyone and evaluation.has_alternatives(query), told)


def _known_subject(opened: OpenInteraction, wallet: Wallet) -> str:
    """The number by which the relying party recognises this holder; empty if it has none, or may not."""
    party = opened.relying_party
    return pairwise.existing_number(wallet, party.recognises_in) if party.may_recognise else ""


def _demands_another(opened: OpenInteraction, wallet: Wallet) -> bool:
    """Whether the request demands a number to recognise the holder by that is not this holder's."""
    if not opened.request.demanded_subjects:
        return False
    with interactions.our_fault():
        subject = _known_subject(opened, wallet)
    return not all(subject and subject in subjects for subjects in opened.request.demanded_subjects)


def _told_beside(
    query: Query, offer: Offer, whole: Mapping[str, Any], selection: Selection
) -> tuple[ClaimPath, ...]:
    """The claims of which the answer tells something although it does not share them for certain."""
    shared = set(selection.claims) - set(selection.optional)
    told = (
        path
        for condition in conditions.told_beside(query, offer, whole, selection)
        for claim in covered(condition.path, offer.claims)
        for path in questions_of(claim, condition.values)
    )
    return tuple(dict.fromkeys(path for path in told if path not in shared))


def _possible(request: AuthorizationRequest) -> Selection | None:
    """The best selection that any credential could give; None if none could match. Raises as `_match`."""
    query = request.query
    with interactions.our_fault():
        _offer, selection, _same = _best(query, _authorities(query))
    return selection if selection and _binds_all(request, selection) else None


def _binds_all(request: AuthorizationRequest, selection: Selection) -> bool:
    """Whether the selection answers, for each transaction, a credential query that it names (§8.4)."""
    answered = set(selection.query_ids)
    return all(answered.intersection(value.credential_ids) for value in request.transaction_data)


def _authorities(query: Query) -> frozenset[str]:
    """The key ids of our credentials' authority; looked up only if the query names authorities."""
    named = any(credential_query.authority_key_ids is not None for credential_query in query.credentials)
    return active_issuer_key(now=timezone.now()).authority_key_ids if named else frozenset()


@lru_cache(maxsize=100)  # each presentation needs it twice, and there are few scopes
def _best(query: Query, authority_key_ids: frozenset[str]) -> tuple[Offer, Selection | None, bool]:
    """What can be offered for a query, the best possible selection, and whether all credentials give it.

    Ignores the wanted values, so it does not matter that `1` and `True` are equal as cache keys.
    """
    offer = offered(query, authority_key_ids)
    return offer, select_for_anyone(query, offer), evaluation.same_for_everyone(query, offer)


def is_demanded(request: AuthorizationRequest, party: RelyingParty) -> bool:
    """Whether the request or the relying party demands an assurance, so that not every identity will do."""
    if party.minimum_assurance:
        return True
    asks = (claim for query in request.query.in_our_format for claim in query.claims)
    if not any(claim.path[0] == "verification" for claim in asks):
        return False
    return select_for_anyone(request.query, offered(request.query), {"verification": {}}) is None


def suffices(request: AuthorizationRequest, party: RelyingParty, assurance: Assurance | None) -> bool:
    """Whether an identity verified with this assurance will do; None if that was not written down."""
    if not is_demanded(request, party):
        return True
    return assurance is not None and _reaches(party, assurance) and _is_accepted(request.query, assurance)


@dataclass(frozen=True)
class IdentityNeeded:
    """What an identity check has to bring: one of these assurances, if there are any, and all the details."""

    assurances: tuple[Assurance, ...] = ()
    details: tuple[str, ...] = ()


def reachable(request: AuthorizationRequest, party: RelyingParty) -> IdentityNeeded | None:
    """The check that a configured provider can make and the request accepts; None if there is none."""
    demanded = is_demanded(request, party)
    for details in _details_needed(request):
        able = registry.reaching((), details).values()
        offered = dict.fromkeys(assurance for provider in able for assurance in provider.assurances)
        assurances = tuple(
            assurance for assurance in offered if demanded and suffices(request, party, assurance)
        )
        if assurances or (not demanded and (able or not details)):
            return IdentityNeeded(assurances, details)
    return None


def _details_needed(request: AuthorizationRequest) -> tuple[tuple[str, ...], ...]:
    """The combinations of details any of which lets the request be met, the fewest first."""
    query = request.query
    asks = (
        claim
        for credential_query in query.in_our_format
        for claim in (*credential_query.claims, *credential_query.optional)
    )
    if MEMBERS.keys().isdisjoint(claim.path[0] for claim in asks):
        return ((),)
    with interactions.our_fault():
        return _combinations(query, _authorities(query))


@lru_cache(maxsize=100)
def _combinations(query: Query, authority_key_ids: frozenset[str]) -> tuple[tuple[str, ...], ...]:
    offer = offered(query, authority_key_ids)

    def will_do(details: tuple[str, ...]) -> bool:
        there = [path for path in offer.claims if path[0] not in MEMBERS or path[0] in details]
        return select_for_anyone(query, replace(offer, claims=there)) is not None

    chosen = chain.from_iterable(combinations(MEMBERS, number) for number in range(len(MEMBERS) + 1))
    return tuple(filter(will_do, chosen))


def _is_accepted(query: Query, assurance: Assurance) -> bool:
    """Whether a holder could match the query who was verified with this assurance today."""
    certain_claims = values_of_verification(Verification(assurance, localdate(), "in_person"))
    return select_for_anyone(query, offered(query), certain_claims) is not None


def _reaches(party: RelyingParty, assurance: Assurance) -> bool:
    minimums = [Assurance.parse(text) for text in party.minimum_assurance]
    return not minimums or any(at_least(minimum, assurance) for minimum in minimums)
