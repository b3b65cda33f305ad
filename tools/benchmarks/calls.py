"""How many calls of Python and built-in functions one flow takes, as cProfile counts them.

Production's settings, without gunicorn. The number does not depend on the load of the machine. Run as a
module in the service's environment, with the prepared holders as JSON in HOLDERS; prints the number.
"""

import json
import os
from typing import Any

import django

from tests import flow_profile
from tools.benchmarks.browsers import ORIGIN
from tools.benchmarks.flows import parameters
from tools.benchmarks.servers import Servers, Work
from tools.benchmarks.table import Row

MOST = 11_800
COMMAND = ("-m", "tools.benchmarks.calls")


def run(servers: Servers) -> list[Row]:
    """One row. From run to run the number differs by a handful."""
    holders = json.dumps(servers.service.facts)
    with Work([*COMMAND], {**servers.service.environment, "HOLDERS": holders}) as work:
        return [Row("b", "Python calls of one flow", int(work.done()), "calls", limit=MOST)]


def counted(facts: dict[str, Any]) -> int:
    """The calls of a flow of the first holder."""
    email, cookies = facts["emails"][0], facts["cookies"][0]
    return flow_profile.measure(cookies, lambda: parameters(facts, email), origin=ORIGIN).calls


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    print(counted(json.loads(os.environ["HOLDERS"])))
