"""The files and folders that settings name: whether the processes that use them can."""

import os
from typing import NamedTuple

from django.conf import settings

from infra.files import is_missing, obstacle

READS, WRITES, RUNS = "reads", "writes into", "runs"
_MODES = {READS: os.R_OK, WRITES: os.R_OK | os.W_OK, RUNS: os.X_OK}


class NamedFile(NamedTuple):
    """A file or folder, the variable or option that names it, and the process that uses it.

    elsewhere: another process may have it alone, as in Kubernetes the one that signs the audit record; then
    it is no fault that this one has no such file.
    """

    setting: str
    path: str
    process: str
    use: str = READS
    elsewhere: bool = False


def faults(*, only_reading: bool) -> list[str]:
    """A sentence for each file of settings.NAMED_FILES that the user of this process cannot use.

    only_reading: leaves out whether a folder can be written into. A unit of systemd that does not write there
    sees the folder read-only.
    """
    sentences = []
    for file in settings.NAMED_FILES:
        if file.elsewhere and is_missing(file.path):
            continue
        use = READS if only_reading and file.use == WRITES else file.use
        if why := obstacle(file.path, _MODES[use]):
            sentences.append(f"{file.setting} names {file.path}, which {file.process} {file.use}: {why}.")
    return sentences
