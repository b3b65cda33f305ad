"""The table of alarms: every fact that operators are told, with its limits and what to do about it.

The doctor takes its limits from here, and what it finds goes to the operators' start page, to OPERATOR_ALERTS
and, as `doctor_state`, to Prometheus. Where Prometheus can look for itself, and sooner, the row has rules.
`manage.py reference` writes docs/reference.md from here, and `--rules` deploy/prometheus/rules.yml.
"""

from infra.alarms.alarm import Alarm, Rule, State

_OURS = 'route!~"health_live|health_ready|metrics|static|none"'  # of probes and strangers nothing is counted
_ERRORS_OF_OURS = 'outcome=~"server_error|temporarily_unavailable"'
_WORKING_HOURS = "and on() (hour() >= 7 < 17) and on() (day_of_week() > 0 < 6)"
_DISKS = '{fstype!~"tmpfs|overlay|ramfs"}'
_UPLOADS = 'http_request_duration_seconds_count{route="wallet_identity_upload", method="POST"}'
_REVIEWS = "people were promised an answer by the end of the next working day"


def _unusual(sign: str) -> str:
    """More of these signs of abuse in an hour than one person can cause, and than is usual here.

    Usual is at most twice that of a busy hour, which is one that only 5 of 100 hours of a week exceed. The
    last day is left out, so that an attack does not count as usual. A new installation knows no usual number.
    """
    signs = f'max(abuse_signs{{sign="{sign}"}})'
    return f"{signs} > LIMIT unless {signs} <= 2 * quantile_over_time(0.95, {signs}[1w:1h] offset 1d)"


# --- Whether the alarms work ------------------------------------------------------------------------------

_ALARMS = (
    Alarm(
        "alarms",
        "the alarms themselves: this one always fires",
        "nothing; if it does not arrive, Prometheus or the way from it to you is broken: docs/operate.md, "
        "“Who watches the alarms”",
        checked=False,
        rules=(Rule("Watchdog", State.OK, "vector(1)", "Prometheus evaluates its rules"),),
    ),
    Alarm(
        "scrapes",
        "what Prometheus knows of the instances",
        "see the configuration of Prometheus: `job_name: presentation`, the addresses, the token",
        now="none is known for 5 minutes",
        checked=False,
        rules=(
            Rule(
                "NothingIsScraped",
                State.NOW,
                'absent(up{job="presentation"})',
                "Prometheus knows no instance, so no other alert can fire",
                lasts="5m",
            ),
        ),
    ),
)

# --- Requests ---------------------------------------------------------------------------------------------

_REQUESTS = (
    Alarm(
        "instances",
        "an instance that can be scraped",
        "`systemctl status` of the instance, then its log: a start that fails names the setting. The others "
        "serve meanwhile",
        now="is away for 2 minutes",
        checked=False,
        rules=(
            Rule(
                "InstanceDown",
                State.NOW,
                'up{job="presentation"} == 0',
                "{{ $labels.instance }} cannot be scraped",
                lasts="2m",
            ),
        ),
    ),
    Alarm(
        "readiness",
        "a check of `/health/ready`",
        'docs/operate.md, "Is an instance well?", says what each check needs. If only this instance fails '
        "`signing_key`, it has other sealing keys or cannot reach the hardware module: correct that and "
        "restart it",
        now="fails for 2 minutes",
        checked=False,
        rules=(
            Rule(
                "InstanceNotReady",
                State.NOW,
                "min by (instance, check) (instance_ready) == 0",
                "{{ $labels.instance }}: the check {{ $labels.check }} fails",
                lasts="2m",
            ),
        ),
    ),
    Alarm(
        "failing_requests",
        "requests that end with a status from 500 on, of at least 10 in 5 minutes and without probes",
        "see which `route` and `status` it is; take a reference from a log line with that status and read "
        "the lines with the same `request_id`. 503 on all routes is the database",
        now=1,
        unit="%",
        checked=False,
        rules=(
            Rule(
                "RequestsFail",
                State.NOW,
                f'sum(rate(http_request_duration_seconds_count{{status=~"5..", {_OURS}}}[5m])) '
                f"/ sum(rate(http_request_duration_seconds_count{{{_OURS}}}[5m])) > LIMIT "
                f'and sum(increase(http_request_duration_seconds_count{{status=~"5..", {_OURS}}}[5m])) >= 10',
                "{{ $value | humanizePercentage }} of all requests fail",
                lasts="5m",
            ),
        ),
    ),
    Alarm(
        "failing_answers",
        "answers to relying parties that are errors of ours, of at least 5 in 10 minutes; or at least 3 in "
        "an "
        "hour in which nothing was shared",
        "look for `presentation_failed` in the log: no key that can sign, a hardware module away, a sealing "
        "key missing; then `/health/ready`",
        now=2,
        unit="%",
        checked=False,
        rules=(
            Rule(
                "AnswersFail",
                State.NOW,
                f"(sum(rate(authorization_answers_total{{{_ERRORS_OF_OURS}}}[10m])) "
                "/ sum(rate(authorization_answers_total[10m])) > LIMIT "
                f"and sum(increase(authorization_answers_total{{{_ERRORS_OF_OURS}}}[10m])) >= 5) "
                f"or (sum(increase(authorization_answers_total{{{_ERRORS_OF_OURS}}}[1h])) >= 3 "
                'unless sum(increase(authorization_answers_total{outcome="shared"}[1h])) > 0)',
                "answers to relying parties are errors of ours",
                lasts="5m",
            ),
        ),
    ),
    Alarm(
        "nobody_answers",
        "people who saw a question in half an hour in which nobody shared anything",
        "compare `consent_questions_total` with `authorization_answers_total`: after the question it is the "
        "signing key, the pages, or one relying party",
        now=20,
        unit="people",
        checked=False,
        rules=(
            Rule(
                "NobodyAnswers",
                State.NOW,
                "sum(increase(consent_questions_total[30m])) > LIMIT "
                'unless sum(increase(authorization_answers_total{outcome="shared"}[30m])) > 0',
                "{{ $value | humanize }} people saw a question in half an hour, and nobody has shared "
                "anything",
                lasts="10m",
            ),
        ),
    ),
    Alarm(
        "slow_requests",
        "the time of one in twenty requests of holders, of at least 50 in 10 minutes",
        "is one route slow, or all? All: the database (long statements, locks) or too few threads "
        "(`rate(http_request_duration_seconds_sum[1m])` near `WEB_CONCURRENCY` × `WEB_THREADS`). Add "
        "instances",
        now=1,
        unit="seconds",
        checked=False,
        rules=(
            Rule(
                "RequestsAreSlow",
                State.NOW,
                "histogram_quantile(0.95, sum by (le) (rate(http_request_duration_seconds_bucket"
                '{route=~"authorize|consent_review|resume"}[10m]))) > LIMIT '
                "and on() sum(increase(http_request_duration_seconds_count"
                '{route=~"authorize|consent_review|resume"}[10m])) >= 50',
                "one in twenty requests of holders takes longer than {{ $value | humanizeDuration }}",
                lasts="10m",
            ),
        ),
    ),
    Alarm(
        "presentation",
        "a presentation for nobody, signed and verified with the published keys",
        "see docs/operate.md, “The doctor”, or let this machine reach BASE_URL",
        now="cannot be made",
    ),
)

# --- The database and its machine -------------------------------------------------------------------------

_DATABASE = (
    Alarm(
        "database",
        "a row that is stored",
        "see clock, or DatabaseAway and DatabaseRefusesWrites in docs/reference.md",
        now="cannot be",
        rules=(
            Rule(
                "DatabaseAway",
                State.NOW,
                "min(database_answers) == 0",
                "the database does not answer",
                lasts="1m",
                todo="is PostgreSQL running, is its disk full, are there connections left, does it hang "
                "(`database_did_not_answer`)? Instances need no restart afterwards",
                beside_check=True,
            ),
            Rule(
                "DatabaseRefusesWrites",
                State.NOW,
                "sum by (reason) (increase(database_refused_writes_total[5m])) > 0",
                "the database answers, and refuses to write: {{ $labels.reason }}",
                todo="`disk_full`: make room, first on the disk of the WAL. `read_only`: `DATABASE_URL` "
                "leads "
                "to a standby, or `default_transaction_read_only` is on. `out_of_memory`: fewer "
                "connections or "
                "less `work_mem`",
                beside_check=True,
            ),
        ),
    ),
    Alarm(
        "migrations",
        "the migrations of this release",
        "run manage.py migrate",
        now="one is not applied",
    ),
    Alarm(
        "standby",
        "standbys that stream, of those that DATABASE_STANDBYS expects",
        "bring it back (docs/database.md), or GRANT pg_monitor to the service's role",
        soon="one is missing",
        now="all are missing",
        also_soon="none is synchronous although one is to be; the service's role is not in `pg_monitor`",
    ),
    Alarm(
        "replication_lag",
        "WAL that a standby or a replication slot has not taken yet",
        "is the standby slow, or gone? Drop the slot of one that does not come back (docs/database.md): "
        "the WAL "
        "that is kept for it fills the disk",
        soon=256,
        now=2048,
        unit="MB",
        rules=(
            Rule(
                "StandbyLags",
                State.SOON,
                "max(database_replication_lag_bytes) > LIMIT",
                "a standby or a replication slot is {{ $value | humanize1024 }}B behind",
                lasts="5m",
            ),
            Rule(
                "StandbyLagsFar",
                State.NOW,
                "max(database_replication_lag_bytes) > LIMIT",
                "a standby or a replication slot is {{ $value | humanize1024 }}B behind",
                lasts="5m",
            ),
        ),
    ),
    Alarm(
        "archive",
        "the age of the oldest WAL file that is not archived yet",
        "see PostgreSQL's log and `archive_command`: restores end where the archive ends, and WAL fills "
        "the disk",
        soon=5,
        now=30,
        unit="minutes",
        also_soon="the service's role is not in `pg_monitor`",
        also_now="the last try failed; backups are those of pgBackRest and `archive_mode` is off",
    ),
    Alarm(
        "backup",
        "the age of the last backup, as `record_backup` was told",
        "see docs/operate.md, “Backup and restore”",
        soon=30,
        now=72,
        unit="hours",
        also_now="none is known, outside a sandbox",
    ),
    Alarm(
        "clock",
        "how far this machine's clock is off the database's",
        "let both machines keep their clocks by NTP",
        soon=5,
        now=60,
        unit="seconds",
        also_soon="this machine says that NTP does not keep its clock",
    ),
    Alarm(
        "disk",
        "what is left of the disks of STATE_DIRECTORY and AUDIT_FOLDER",
        "make room there",
        soon=10,
        now=3,
        unit="%",
        low=True,
    ),
    Alarm(
        "files",
        "files that settings name, tried as the service's user",
        "let that user use it, with chown or chmod; then restart",
        now="one cannot be used",
    ),
    Alarm(
        "disks_of_all_machines",
        "what is left of a disk that node_exporter sees",
        "make room on that machine before the disk is full: with its data on a full disk PostgreSQL ends at "
        "the next checkpoint and does not start again. Needs node_exporter on the database's machine",
        now=10,
        unit="%",
        low=True,
        also_now="full within a day at this rate",
        checked=False,
        rules=(
            Rule(
                "DiskAlmostFull",
                State.NOW,
                f"node_filesystem_avail_bytes{_DISKS} / node_filesystem_size_bytes < LIMIT",
                "{{ $labels.instance }} {{ $labels.mountpoint }} has {{ $value | humanizePercentage }} left",
                lasts="5m",
            ),
            Rule(
                "DiskFills",
                State.NOW,
                f"(node_filesystem_avail_bytes{_DISKS} / node_filesystem_size_bytes < 0.25) "
                f"and predict_linear(node_filesystem_avail_bytes{_DISKS}[6h], 24 * 3600) < 0",
                "{{ $labels.instance }} {{ $labels.mountpoint }} is full within a day",
                lasts="30m",
            ),
        ),
    ),
    Alarm(
        "database_size",
        "how much of itself the database grows by in a week at the rate of the last 12 hours, if that is a "
        "gigabyte or more",
        "docs/growth.md says what a presentation takes: is it use, a flood, or `clear_expired` that does not "
        "run? Make room in time",
        soon=25,
        unit="%",
        checked=False,
        rules=(
            Rule(
                "DatabaseGrows",
                State.SOON,
                "max(predict_linear(database_bytes[12h], 7 * 24 * 3600)) / max(database_bytes) - 1 > LIMIT "
                "and max(deriv(database_bytes[12h])) * 7 * 24 * 3600 > 1e9",
                "at this rate the database grows by {{ $value | humanizePercentage }} within a week",
                lasts="1h",
            ),
        ),
    ),
    Alarm(
        "tls",
        "the time until the certificate of the host ends",
        "let this machine reach BASE_URL; renew its certificate, with its chain; reload nginx",
        soon=21,
        now=3,
        unit="days",
        low=True,
        also_now="no connection",
    ),
)

# --- Keys -------------------------------------------------------------------------------------------------

_KEYS = (
    Alarm(
        "signing_keys",
        "the keys that sign",
        "`manage.py rotate_signing_keys` says what is missing; docs/keys.md, “No key signs”",
        soon="no certified key can follow the active one, with SIGNING_KEY_SPARE",
        now="none is active",
        rules=(
            Rule(
                "NoKeySigns",
                State.NOW,
                'max(signing_keys{state="active"}) == 0',
                "no signing key is active, so nothing can be presented",
                lasts="5m",
            ),
            Rule(
                "NoSpareKey",
                State.SOON,
                "max(signing_key_spare) == 0",
                "no certified key can follow the active one",
                lasts="15m",
                todo="have a next key certified; until then nothing can follow a key that has to be "
                "withdrawn",
            ),
        ),
    ),
    Alarm(
        "certificates",
        "the time until a certificate of a key that signs, or will, ends",
        "`certify_signing_key` with a new chain; without it nothing can be presented when the certificate "
        "has "
        "ended",
        soon=30,
        now=7,
        unit="days",
        low=True,
        rules=(
            Rule(
                "CertificateEnds",
                State.SOON,
                "min by (kid, certificate) (signing_key_certificate_ends_seconds) < LIMIT",
                "the {{ $labels.certificate }} certificate ends in {{ $value | humanizeDuration }}",
            ),
            Rule(
                "CertificateEndsVerySoon",
                State.NOW,
                "min by (kid, certificate) (signing_key_certificate_ends_seconds) < LIMIT",
                "the {{ $labels.certificate }} certificate ends in {{ $value | humanizeDuration }}",
            ),
        ),
    ),
    Alarm(
        "certificate_request",
        "for how long a staged key has waited for its certificate",
        "send the certificate request (`manage.py signing_key_csr`) to your authority; docs/keys.md",
        soon=12,
        unit="hours",
        rules=(
            Rule(
                "KeyWaitsForItsCertificate",
                State.SOON,
                '-min(signing_key_next_step_seconds{step="certify"}) > LIMIT',
                "the next signing key has waited {{ $value | humanizeDuration }} for its certificate",
            ),
        ),
    ),
    Alarm(
        "rotation",
        "for how long a step of the key rotation has been due",
        "`presentation-worker.service` does not run, or `rotate_signing_keys` fails: run it by hand and read "
        "what it says",
        now=3,
        unit="hours",
        rules=(
            Rule(
                "RotationDoesNotRun",
                State.NOW,
                "max(signing_key_step_overdue_seconds) > LIMIT",
                "a step of the key rotation has been due for {{ $value | humanizeDuration }}",
            ),
        ),
    ),
)

# --- Work in the background -------------------------------------------------------------------------------

_WORK = (
    Alarm(
        "worker",
        "the time since a worker was last seen",
        "start presentation-worker.service; its log says why it ended (journalctl -u presentation-worker). "
        "Until then nobody can sign in with a code",
        now=120,
        unit="seconds",
        rules=(
            Rule(
                "WorkerIsAway",
                State.NOW,
                "min(worker_seen_seconds) > LIMIT",
                "no worker was seen for {{ $value | humanizeDuration }}",
            ),
        ),
    ),
    Alarm(
        "urgent_emails",
        "for how long a code or a link to sign in has waited to be sent",
        "nobody can sign in with a code: presentation-worker.service does not run, or the mail server is "
        "away; "
        "see `email_not_sent` in the log",
        now=60,
        unit="seconds",
        also_now="more than 50 wait",
        rules=(
            Rule(
                "CodesAreNotSent",
                State.NOW,
                'max(emails_overdue_seconds{urgent="true"}) > LIMIT or max(emails_waiting{urgent="true"}) '
                "> 50",
                "codes and links to sign in are not sent",
                lasts="1m",
            ),
        ),
    ),
    Alarm(
        "emails",
        "for how long another e-mail has waited to be sent",
        "see the list of e-mails in the admin for the reasons",
        soon=15,
        unit="minutes",
        rules=(
            Rule(
                "EmailsAreNotSent",
                State.SOON,
                'max(emails_overdue_seconds{urgent="false"}) > LIMIT',
                "e-mails have waited {{ $value | humanizeDuration }} to be sent",
                lasts="1m",
            ),
        ),
    ),
    Alarm(
        "mail",
        "e-mails of a day that mail servers refused, if they are more than 20",
        "look at the mail server, EMAIL_URL and the list of e-mails in the admin",
        soon=5,
        unit="%",
        also_now="the mail server takes no connection",
        rules=(
            Rule(
                "EmailsAreRefused",
                State.SOON,
                'max(increase(email_ends_total{state="refused"}[1d])) '
                "/ sum(max by (state) (increase(email_ends_total[1d]))) > LIMIT "
                'and max(increase(email_ends_total{state="refused"}[1d])) > 20',
                "mail servers refused {{ $value | humanizePercentage }} of the e-mails of a day",
            ),
        ),
    ),
    Alarm(
        "webhooks",
        "for how long a webhook that may be sent has waited",
        "presentation-worker.service does not run, or calls of relying parties take all its threads",
        soon=10,
        unit="minutes",
        rules=(
            Rule(
                "WebhooksAreNotSent",
                State.SOON,
                "max(webhooks_overdue_seconds) > LIMIT",
                "a webhook has waited for {{ $value | humanizeDuration }}",
                lasts="1m",
            ),
        ),
    ),
    Alarm(
        "webhooks_given_up",
        "webhooks that were given up within a day",
        "see the log of webhooks in the admin, and tell the relying party",
        soon=0,
        unit="webhooks",
        checked=False,
        rules=(
            Rule(
                "WebhooksGivenUp",
                State.SOON,
                'max(increase(webhook_ends_total{state="given up"}[1d])) > LIMIT',
                "{{ $value | humanize }} webhooks were given up within a day",
            ),
        ),
    ),
    Alarm(
        "jobs",
        "how many of its periods a regular job is late by, beside five minutes",
        "presentation-worker.service does not run, or the job fails: its log says why (journalctl -u "
        "presentation-worker), or run the command by hand",
        soon=3,
        now=24,
        unit="periods",
        also_soon="it failed when it last ran",
        rules=(
            Rule(
                "RegularCommandIsLate",
                State.SOON,
                "(max by (command) (last_run_seconds) - 300) / max by (command) (job_period_seconds) > LIMIT",
                "{{ $labels.command }} is {{ $value | humanize }} periods late",
            ),
            Rule(
                "HourlyTasksDoNotRun",
                State.NOW,
                "(max by (command) (last_run_seconds) - 300) / max by (command) (job_period_seconds) > LIMIT",
                "{{ $labels.command }} is {{ $value | humanize }} periods late",
            ),
            Rule(
                "RegularCommandFails",
                State.SOON,
                'max by (command) (last_run_failed{command!="sign_audit_record"}) > 0 '
                'or (max by (command) (last_run_failed{command="sign_audit_record"}) > 0 '
                "unless on() max(audit_record_faults) > 0)",
                "{{ $labels.command }} failed when it last ran",
                lasts="10m",
            ),
        ),
    ),
    Alarm(
        "clearing",
        "for how long data has been kept beyond its time",
        "run `clear_expired` by hand and read what it says: data is kept longer than promised",
        soon=3,
        now=24,
        unit="hours",
        rules=(
            Rule(
                "ClearingOverdue",
                State.SOON,
                "max by (data) (clearing_overdue_seconds) > LIMIT",
                "{{ $labels.data }} should have been cleared {{ $value | humanizeDuration }} ago",
            ),
            Rule(
                "ClearingFarOverdue",
                State.NOW,
                "max by (data) (clearing_overdue_seconds) > LIMIT",
                "{{ $labels.data }} should have been cleared {{ $value | humanizeDuration }} ago",
            ),
        ),
    ),
    Alarm(
        "audit_record",
        "faults of the audit record when it was last verified",
        "`verify_audit_record` names the lines: somebody with access to the database changed them, or it was "
        "restored to an earlier moment. Secure the machine and the copy of `AUDIT_FOLDER` before you change "
        "anything; docs/operators.md, “Audit record”",
        now=0,
        unit="faults",
        also_soon="AUDIT_FOLDER is not set",
        rules=(
            Rule(
                "AuditRecordHasFaults",
                State.NOW,
                "max(audit_record_faults) > LIMIT",
                "the audit record is not as it was written: {{ $value }} faults",
            ),
        ),
    ),
)

# --- What people and relying parties wait for -------------------------------------------------------------

_PEOPLE = (
    Alarm(
        "reviews",
        "for how long an identity check has waited for an operator",
        f"decide them: {_REVIEWS}",
        soon=4,
        unit="hours",
        now="longer than its holder was promised",
        rules=(
            Rule(
                "ReviewsWaitToday",
                State.SOON,
                f"max(identity_review_oldest_seconds) > LIMIT {_WORKING_HOURS}",
                "an identity check has waited for an operator for {{ $value | humanizeDuration }}",
                todo=f"decide the reviews in the admin today: {_REVIEWS}",
            ),
            Rule(
                "ReviewsWait",
                State.NOW,
                f"max(identity_review_overdue_seconds) > 0 {_WORKING_HOURS}",
                "an identity check waits {{ $value | humanizeDuration }} longer than its holder was promised",
                todo="that promise is broken for somebody: decide it first",
            ),
        ),
    ),
    Alarm(
        "client_secrets",
        "the time until the last secret of a relying party ends",
        "ask the relying party to replace its secret (docs/operators.md). End a secret that it no longer "
        "uses",
        soon=30,
        now=0,
        unit="days",
        low=True,
        rules=(
            Rule(
                "ClientSecretEnds",
                State.SOON,
                "min by (relying_party) (client_secret_ends_seconds) < LIMIT",
                "the last secret of {{ $labels.relying_party }} ends in {{ $value | humanizeDuration }}",
            ),
            Rule(
                "ClientSecretEnded",
                State.NOW,
                "min by (relying_party) (client_secret_ends_seconds) < LIMIT",
                "the last secret of {{ $labels.relying_party }} has ended",
            ),
        ),
    ),
    Alarm(
        "addresses",
        "registered addresses of relying parties",
        "ask these relying parties for an address without it (docs/operators.md)",
        soon="one has a parameter of the answer in its query",
    ),
)

# --- Abuse ------------------------------------------------------------------------------------------------

# Each number is the least that one person cannot cause alone, by the limits in docs/reference.md.
_ABUSE = (
    Alarm(
        "client_addresses",
        "client addresses that cannot be read",
        "no limit per client address holds: see what the proxies write into `X-Forwarded-For`, and "
        "TRUSTED_PROXY_COUNT (docs/operate.md, “The client’s address”)",
        now="there was one within an hour",
    ),
    Alarm(
        "second_factors",
        "second factors of operators that were refused within an hour; an operator may try 10 codes in 15 "
        "minutes",
        "somebody may have an operator's password: the audit record (`second_factor_refused`) names the "
        "account. `manage.py changepassword` ends its sessions",
        now=10,
        unit="codes",
        checked=False,
        rules=(
            # Not compared with the past, because an attack that lasts would become usual.
            Rule(
                "SecondFactorsRefused",
                State.NOW,
                'max(abuse_signs{sign="second_factor_refused"}) > LIMIT',
                "{{ $value }} second factors of operators were refused within an hour",
            ),
        ),
    ),
    Alarm(
        "recoveries",
        "recoveries of wallets that were refused within an hour, and twice as many as are usual; a new "
        "wallet "
        "may try 5 in a day",
        "see the recoveries in the admin: the same reason or the same identity provider again and again is "
        "an "
        "attack; no wallet moves without the document of its holder (docs/people.md)",
        soon=5,
        unit="recoveries",
        checked=False,
        rules=(
            Rule(
                "RecoveriesRefused",
                State.SOON,
                _unusual("recovery_refused"),
                "{{ $value }} recoveries of wallets were refused within an hour",
            ),
        ),
    ),
    Alarm(
        "reports",
        "reports of requesters within an hour, and twice as many as are usual; a wallet may send 5 in a day",
        "read the reports in the admin; if they are about one relying party and true, suspend it",
        soon=5,
        unit="reports",
        checked=False,
        rules=(
            Rule(
                "RequestersAreReported",
                State.SOON,
                _unusual("requester_reported"),
                "holders have reported requesters {{ $value }} times within an hour",
            ),
        ),
    ),
    Alarm(
        "uploads",
        "uploads of pictures within ten minutes, and far more than usual; a wallet may upload 30 in an hour",
        "nginx's log has the client addresses: block them there. `picture_decoder_stopped` in the log of the "
        "service means an attack on the decoder",
        soon=60,
        unit="uploads",
        checked=False,
        rules=(
            Rule(
                "UploadsBurst",
                State.SOON,
                f"sum(increase({_UPLOADS}[10m])) > LIMIT unless sum(increase({_UPLOADS}[10m])) "
                f"<= 2 / 6 * quantile_over_time(0.95, sum(increase({_UPLOADS}[1h]))[1w:1h] offset 1d)",
                "{{ $value | humanize }} uploads of pictures within ten minutes, far more than usual",
            ),
        ),
    ),
)

ALARMS = {
    alarm.name: alarm
    for part in (_ALARMS, _REQUESTS, _DATABASE, _KEYS, _WORK, _PEOPLE, _ABUSE)
    for alarm in part
}
