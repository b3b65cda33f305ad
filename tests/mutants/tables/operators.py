"""What operators may do, and what is written down of it."""

from tests.mutants.mutant import mutant

_OPERATIONS = "infra/admin/operations.py"

MUTANTS = (
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
        "presentation/webhooks/admin.py",
        'return self.has_permission_to(request, "change")',
        'return self.has_permission_to(request, "view")',
        "presentation/test_webhook_admin.py::test_no_other_role_makes_secrets_or_sends_again",
    ),
)
