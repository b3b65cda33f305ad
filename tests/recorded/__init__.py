"""Records the answers of every public address to a table of valid and invalid requests, as text files.

A test runs the table again and compares, so that a change of behaviour seen from outside shows as a diff.
Only `installation` uses names of the project, so that moving code does not change the record.

The record has what a relying party, a browser or a person gets:

* the status, headers, redirect and cookies that answer each request of the table;
* pages as an outline, with every word, link, form, attribute and class (`outline`);
* pages of the admin with every word, and a hash of their markup, because the markup comes from Django;
* JSON, with tokens decoded and decrypted;
* the requests and e-mails that the service sends because of a request.

The record leaves out:

* random values, signatures, and what follows from them, because they differ in each run. A name replaces each
  (`masks`);
* the times in tokens: the record has the seconds from the answer to each, so that one more request does not
  change every answer after it;
* the content of static files and pictures, which the repository has, and bodies of more than 20,000
  characters: the record has a hash of each;
* the OpenAPI document and the API reference, which is made of it, because docs/openapi.yaml shows a change:
  the record has a hash of each part;
* the texts that Django sends to its own JavaScript, which are a hash, too;
* the list of addresses, because a test checks that the table reaches every address of the URLconf.

The record says once what is the same (`compaction`): the headers that most answers have, a page that comes
again, the frame around pages, and what production has in common with the sandbox. This is for the reader,
and nothing is lost by it: the test compares the whole texts.
"""
