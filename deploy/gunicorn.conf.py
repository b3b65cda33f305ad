"""gunicorn, for the sandbox and for production alike. Any setting can be overridden on the command line."""

import os

bind = os.environ.get("BIND", "127.0.0.1:8000")
workers = int(os.environ.get("WEB_CONCURRENCY", "2"))
worker_class = "gthread"  # slow clients hold a thread, not a worker
threads = int(os.environ.get("WEB_THREADS", "4"))
# An authorization request may be as long as gunicorn allows; its default of 4094 bytes answers 414 too soon.
limit_request_line = 8190
max_requests = 5000  # a worker starts afresh now and then, so that nothing can grow for ever
max_requests_jitter = 500
graceful_timeout = 30
control_socket_disable = True  # gunicorn 25+ opens one in the home folder otherwise
accesslog = None  # config.middleware writes one line per request, without query strings
forwarded_allow_ips = os.environ.get("FORWARDED_ALLOW_IPS", "127.0.0.1")
