"""`python -m tools.attacks [--promises P1 …]`: attack the service in its shipped form."""

import argparse
import sys

from tools.attacks.every import ATTACKS
from tools.attacks.site import Site, site
from tools.benchmarks.servers import MissingProgramError
from tools.promises import NUMBERS, numbered


def main() -> int:
    """Prints for each attack how much was refused; 0 when everything was."""
    parser = argparse.ArgumentParser(prog="python -m tools.attacks", description=__doc__, allow_abbrev=False)
    parser.add_argument(
        "--promises", nargs="*", default=[], choices=NUMBERS, metavar="P1", help="only the attacks on these"
    )
    promises = numbered(parser.parse_args().promises)
    names = dict.fromkeys(name for promise in promises for name in promise.attacks)
    if not names:
        sys.exit("No attack belongs to such a promise.")
    try:
        with site() as where:
            refused = [refuses(where, name) for name in names]
    except MissingProgramError as error:
        sys.exit(str(error))
    return 0 if all(refused) else 1


def refuses(where: Site, name: str) -> bool:
    """Runs the attack and prints what came of it; gives whether there were requests, and all were refused."""
    count, through = 0, []
    try:
        for count, (what, refused) in enumerate(ATTACKS[name](where), 1):  # noqa: B007
            through += [] if refused else [what]
    except Exception as error:  # noqa: BLE001 - an attack that does not end must not hide the others
        count, through = count + 1, [*through, f"the attack did not end: {error!r}"[:300]]
    if not count:
        through = ["the attack tried nothing"]
    print(f"{name}: {max(count - len(through), 0)} of {count} refused", *through, sep="\n  ", flush=True)
    return not through


if __name__ == "__main__":
    sys.exit(main())
