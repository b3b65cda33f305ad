// Tells the search in which time zone the person reads the days. Without it the search takes them in UTC.
"use strict";
document.querySelector("[name=zone]")?.setAttribute("value", new Intl.DateTimeFormat().resolvedOptions().timeZone);
