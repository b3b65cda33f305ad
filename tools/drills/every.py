"""Every drill, in the order in which `make drill` runs them, with its bound in seconds.

The bounds are for a busy machine: they are twice what a drill took there, or more.
"""

from tools.drills import changes, databases, failover, killed, mail, recovery, surroundings, upgrade
from tools.drills.drill import Drill

_EVERY = (
    Drill("restart", changes.rolling, 240),
    Drill("reload", changes.reloaded, 240),
    Drill("rotation", changes.rotation, 240),
    Drill("database", databases.killed, 240),
    Drill("hung", databases.hung, 240),
    Drill("standby", databases.promoted, 240),
    Drill("no-standby", databases.standby_away, 240),
    Drill("worker", killed.worker, 240),
    Drill("master", killed.master, 240),
    Drill("instance", killed.instance, 240),
    Drill("mail", mail.mail, 240),
    Drill("log", surroundings.log_disk, 240),
    Drill("module", surroundings.module, 240),
    Drill("clock-ahead", surroundings.ahead, 240),
    Drill("clock-behind", surroundings.behind, 240),
    Drill("failover", failover.failover, 900),
    Drill("upgrade", upgrade.upgrade, 900),
    Drill("recovery", recovery.recovery, 600),
)
DRILLS = {drill.name: drill for drill in _EVERY}
TRIAL = Drill("trial", killed.one_worker, 240)  # short, to see that drills run
