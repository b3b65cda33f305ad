// Sends the answer to the application that asked, as soon as its page is there (OAuth 2.0 Form Post Response Mode).
// The button does the same without JavaScript.
document.querySelector("form[data-sends-itself]").requestSubmit();
