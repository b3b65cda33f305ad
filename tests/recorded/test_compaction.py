"""A record says less often what the whole texts of a run say, and nothing else."""

from hypothesis import given
from hypothesis import strategies as st

from tests.recorded.compaction import compacted, expanded
from tests.recorded.runs import differences

PAGE = """| title: Receipts
| main
|   h1 Receipts
|   p Nothing was shared.
|   p Go on.
| footer
|   a Help"""
OTHER = PAGE.replace("Nothing was shared.", "One answer was shared.")
SANDBOX = f"""## Cookies

Usually: none

## pages

> GET /receipts/
< 200 page
{PAGE}

> GET /receipts/
  ?page = 2
< 200 page
{PAGE}

> GET /receipts/
  ?page = 1
< 200 page · no-store
{OTHER}

> PUT /receipts/
< 405

## the end

> GET /
< 302 Location: /receipts/
"""
PRODUCTION = SANDBOX.replace("< 405", "< 404")
RECORD = """## Cookies

Usually: none

## pages

> GET /receipts/
> GET /receipts/
  ?page = 2
< 200 page
«Receipts»
| title: Receipts
| main
|   h1 Receipts
|   p Nothing was shared.
|   p Go on.
| footer
|   a Help

> GET /receipts/
  ?page = 1
< 200 page · no-store
«Receipts» with other lines
« instead of line 4:
|   p One answer was shared.

> PUT /receipts/
< 405

## the end

> GET /
< 302 Location: /receipts/
"""
RECORD_OF_PRODUCTION = """## Cookies (as in the sandbox)

## pages

(exchanges 1 to 3 as in the sandbox)

> PUT /receipts/
< 404

## the end (as in the sandbox)
"""


def lines(start: str, least: int, most: int) -> st.SearchStrategy[str]:
    """Few different lines, so that texts repeat themselves."""
    line = st.sampled_from(["a", "b", "  c", "", "title: T", "«T»"]).map(f"{start}{{}}".format)
    return st.lists(line, min_size=least, max_size=most).map("\n".join)


EXCHANGES = st.builds(
    "\n".join,
    st.tuples(
        st.sampled_from(["> GET /", "> GET /x · Cookie: a\n  ?y = z", "> POST /"]),
        st.sampled_from(["< 200 page", "< 200 page\n  Vary: Cookie"]),
        lines("| ", 1, 9),
    )
    | st.tuples(st.just("> GET /"), st.sampled_from(["< 404 ", "< refused"]))
    | st.tuples(st.just("> GET /"), st.just("< 200 JSON"), lines("|", 1, 4), st.just("+ an e-mail\n  text")),
)
TITLES = st.sampled_from(["## one", "## two", "## three: x"])
TEXTS = st.dictionaries(TITLES, st.lists(EXCHANGES | lines("| ", 3, 6), max_size=6), min_size=1).map(
    lambda sections: (
        "\n\n".join(block for title, blocks in sections.items() for block in [title, *blocks]) + "\n"
    )
)
FILES = st.dictionaries(st.sampled_from(["a.txt", "b.txt", "c.txt"]), TEXTS)


@given(FILES, FILES)
def test_a_record_says_the_same_as_the_whole_texts(
    sandbox: dict[str, str], production: dict[str, str]
) -> None:
    assert expanded(compacted(sandbox)) == sandbox
    assert expanded(compacted(production, sandbox), sandbox) == production


def test_a_record_says_once_what_is_said_again() -> None:
    assert compacted({"a.txt": SANDBOX}) == {"a.txt": RECORD}
    assert compacted({"a.txt": PRODUCTION}, {"a.txt": SANDBOX}) == {"a.txt": RECORD_OF_PRODUCTION}


def test_a_section_of_another_file_is_named_only() -> None:
    texts = {"a.txt": SANDBOX, "b.txt": f"{SANDBOX}\n## more\n"}
    assert compacted(texts)["b.txt"] == (
        "## Cookies (as in a.txt)\n\n## pages (as in a.txt)\n\n## the end (as in a.txt)\n\n## more\n"
    )
    assert expanded(compacted(texts)) == texts


def test_a_changed_word_shows_wherever_it_is_seen_and_once_in_the_record() -> None:
    before, after = {"a.txt": SANDBOX}, {"a.txt": SANDBOX.replace("Go on.", "Go back.")}

    assert differences(expanded(compacted(before)), after).count("\n+|   p Go back.") == 3
    assert differences(compacted(before), compacted(after)).count("Go back.") == 1
