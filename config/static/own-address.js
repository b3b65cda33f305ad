// The consent page can be the answer to an authorization request. Its own address then replaces that of the request,
// which has the person's e-mail address in it, before anything is shown. Reload and back lead to the page as well.

(() => {
  const { path } = document.currentScript.dataset;
  if (location.pathname !== path) history.replaceState(null, "", path);
})();
