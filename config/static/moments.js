// Writes every time of the page in the time zone and the language of the person, and tells forms the zone: for
// searches and, after signing in, for e-mails. Without it they read UTC.
"use strict";
const language = document.documentElement.lang;
const formats = {
  moment: new Intl.DateTimeFormat(language, { dateStyle: "long", timeStyle: "short" }),
  zoned: new Intl.DateTimeFormat(language, {
    day: "numeric", month: "long", year: "numeric", hour: "2-digit", minute: "2-digit", timeZoneName: "longOffset",
  }),
  clock: new Intl.DateTimeFormat(language, { timeStyle: "short" }),
};
for (const [name, format] of Object.entries(formats)) {
  for (const element of document.querySelectorAll(`time[data-${name}]`)) {
    element.textContent = format.format(new Date(element.dateTime));
  }
}
for (const field of document.querySelectorAll("[name=zone]")) {
  field.value = new Intl.DateTimeFormat().resolvedOptions().timeZone;
}
