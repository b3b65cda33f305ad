"""What operators may do, and what is written down of it."""

from tools.mutants.mutant import mutant

_OPERATIONS = "infra/admin/operations.py"

MUTANTS = (
    mutant(
        "operator: reaches the admin with the password alone",
        "operators/site.py",
        "return super().has_permission(request) and second_factor.is_proved(request)",
        "return bool(super().has_permission(request) or second_factor.is_proved(request))",
        "operators/test_second_factor.py::test_with_the_password_alone_no_address_of_the_admin_is_reached",
    ),
    mutant(
        "operator: a code of the app is good twice",
        "infra/second_factors.py",
        "used_step__lt=step",
        "used_step__lte=step",
        "operators/test_second_factor.py::test_the_code_of_the_app_opens_the_admin_once",
    ),
    mutant(
        "single sign-on: the state of another browser",
        "operators/single_sign_on/views.py",
        'not secrets.compare_digest(memory["state"].encode(), state.encode())',
        "not state",
        "operators/test_single_sign_on.py::test_a_state_is_good_once_and_only_in_the_browser_that_began",
    ),
    mutant(
        "single sign-on: a group that is gone leaves its role",
        "operators/single_sign_on/accounts.py",
        "user.groups.set(roles)",
        "user.groups.add(*roles)",
        "operators/test_single_sign_on.py::test_roles_follow_the_groups_at_every_sign_in",
    ),
    mutant(
        "single sign-on: an account with a password is taken over",
        "operators/single_sign_on/accounts.py",
        "(not account.is_active or account.has_usable_password())",
        "not account.is_active",
        "operators/test_single_sign_on.py::test_an_account_that_was_closed_or_given_a_password_is_not_signed_in",
    ),
    mutant(
        "single sign-on: every sign-in counts as a second factor",
        "operators/single_sign_on/views.py",
        "value in sso_provider.settings.second_factor for",
        "value for",
        "operators/test_single_sign_on.py::test_the_second_factor_of_this_service_is_asked_for_unless_the_provider_proved_one",
    ),
    mutant(
        "operator: a page that no line of the audit record names",
        "operators/site.py",
        'seen(view, request, response, str(kwargs.get("object_id", "")))',
        "pass",
        "operators/test_admin_record.py::test_each_look_at_a_wallet_is_one_line_without_the_address_that_was_searched_for",
    ),
    mutant(
        "audit record: a line that does not follow the one before",
        "infra/audit/chain.py",
        'values.get("previous") != last.hash and line.seq == last.seq + 1',
        "False",
        "infra/audit/test_chain.py::test_a_changed_text_with_a_hash_to_fit_is_found_at_the_next_line",
    ),
    mutant(
        "operator: an operation without the permission to change",
        _OPERATIONS,
        'return cast(AbstractUser, request.user).has_perm(f"{self.opts.app_label}.{action}_{model}")',
        'return cast(AbstractUser, request.user).has_perm(f"{self.opts.app_label}.view_{model}")',
        "wallet/test_admin.py::test_an_auditor_reads_everything_but_claims_and_changes_nothing",
    ),
    mutant(
        "operator: an operation without the further permission that it needs",
        _OPERATIONS,
        "(not operation.needs or has(operation.needs))",
        "bool(has)",
        "wallet/test_status_admin.py::test_only_operators_who_may_change_keys_invalidate_all_that_a_key_signed",
    ),
    mutant(
        "operator: an operation that does not fit the state",
        _OPERATIONS,
        "fits = not operation.states or getattr(row, self.state_field) in operation.states",
        "fits = True",
        "wallet/test_admin.py::test_what_does_not_fit_the_state_is_not_offered_and_not_done",
    ),
    mutant(
        "operator: an operation that no history names",
        _OPERATIONS,
        "                self._record(request, row, done)\n",
        "",
        "wallet/test_admin.py::test_suspending_a_wallet_is_asked_once_more_and_signs_it_out",
        "wallet/test_admin.py::test_afterwards_it_is_said_what_was_done_and_the_history_begins_with_the_last",
    ),
    mutant(
        "operator: types into rows that are read only",
        "infra/admin/read_only.py",
        "has_change_permission = has_delete_permission = has_add_permission",
        "has_delete_permission = has_add_permission",
        "wallet/test_admin.py::test_nothing_can_be_typed_in_or_deleted_even_by_a_superuser",
        "wallet/test_status_admin.py::test_nothing_can_be_typed_in_or_deleted_even_by_a_superuser",
    ),
    mutant(
        "operator: sees webhooks and sends them again",
        "presentation/admin/webhooks.py",
        'return self.has_permission_to(request, "change")',
        'return self.has_permission_to(request, "view")',
        "presentation/test_webhook_admin.py::test_no_other_role_makes_secrets_or_sends_again",
    ),
    mutant(
        "operator: looks up holders without the permission",
        "presentation/admin/support/views.py",
        "if not operator.has_perm(PERMISSION):",
        "if not operator.is_staff:",
        "presentation/test_support.py::test_only_operators_with_the_permission_may_look",
    ),
    mutant(
        "operator: a search for a holder that no record names",
        "presentation/admin/support/views.py",
        '        audit.record(request, LOOKED_UP, subject, form.cleaned_data["reason"], now=now)\n',
        "        del subject\n",
        "presentation/test_support.py::test_each_search_is_recorded_with_its_reason_before_anything_is_shown",
    ),
    mutant(
        "operator: looks up as many holders as they like",
        "presentation/admin/support/views.py",
        "            PER_OPERATOR.take(str(operator.pk), now=now)\n",
        "            pass\n",
        "presentation/test_support.py::test_an_operator_can_look_up_so_many_in_an_hour",
    ),
    mutant(
        "operator: sees the address of a holder whose receipt number they have",
        "presentation/admin/support/case.py",
        "wallet.email if result.address else masked(wallet.email)",
        "wallet.email",
        "presentation/test_support.py::test_neither_claims_nor_parameters_nor_a_hidden_address_appear",
    ),
    mutant(
        "operator: a link of the support view to a page they may not see",
        "presentation/admin/support/case.py",
        'if not self.user.has_perm(permission or f"{label}.view_{name}"):',
        "if not self.user.is_staff:",
        "presentation/test_support.py::test_the_role_gives_no_page_of_the_admin_beyond_the_search",
    ),
    mutant(
        "operator: a panel of the start page for another role",
        "operators/start_page.py",
        "if any(map(user.has_perm, permissions))",
        "if permissions and user.is_staff",
        "operators/test_start_page.py::test_each_role_sees_its_own_panels_and_no_others",
    ),
    mutant(
        "operator: the preview of a consent page submits its forms",
        "presentation/admin/relying_parties/preview.py",
        '_FORM.sub(lambda match: _ADDRESS.sub("", match[0]), without_tokens)',
        "without_tokens",
        "presentation/relying_parties/test_pages_of_relying_parties.py"
        "::test_the_preview_submits_and_runs_nothing",
    ),
    mutant(
        "operator: figures of a relying party that they may not see",
        "presentation/admin/relying_parties/relying_party.py",
        """        if not self.has_view_permission(request):
            raise PermissionDenied
        party""",
        "        party",
        "presentation/relying_parties/test_pages_of_relying_parties.py"
        "::test_pages_need_the_permission_to_see_relying_parties",
    ),
)
