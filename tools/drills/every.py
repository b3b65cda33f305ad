"""Every drill, in the order in which `make drill` runs them, with its bound in seconds."""

from tools.drills import changes, databases, failover, killed, mail, recovery, surroundings, upgrade
from tools.drills.drill import Drill

_EVERY = (
    Drill("restart", changes.rolling, 180),
    Drill("reload", changes.reloaded, 180),
    Drill("rotation", changes.rotation, 180),
    Drill("database", databases.killed, 180),
    Drill("hung", databases.hung, 180),
    Drill("standby", databases.promoted, 180),
    Drill("no-standby", databases.standby_away, 180),
    Drill("worker", killed.worker, 180),
    Drill("master", killed.master, 180),
    Drill("instance", killed.instance, 180),
    Drill("mail", mail.mail, 180),
    Drill("log", surroundings.log_disk, 180),
    Drill("module", surroundings.module, 180),
    Drill("clock-ahead", surroundings.ahead, 180),
    Drill("clock-behind", surroundings.behind, 180),
    Drill("failover", failover.failover, 900),
    Drill("upgrade", upgrade.upgrade, 600),
    Drill("recovery", recovery.recovery, 600),
)
DRILLS = {drill.name: drill for drill in _EVERY}
TRIAL = Drill("trial", killed.one_worker, 180)  # short, to see that drills run
