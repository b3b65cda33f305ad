// A browser may show a page from its memory when the person goes back to it, although `Cache-Control: no-store` forbids
// that. It could show a question that was answered since, or the data of somebody who has signed out. So it is loaded
// anew.

window.addEventListener("pageshow", (event) => {
  if (event.persisted) location.reload();
});
