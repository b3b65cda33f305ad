"""The outline of a page shows everything that people can see or follow, and nothing of how it is indented."""

import pytest

from tests.recorded.outline import outline

PAGE = """
<main id="content" class="page" tabindex="-1"><div class="card stack">
  <h1>Check your e-mails</h1>
  <p class="lead">We sent a code to
    <strong>alice@example.org</strong>&nbsp;now.</p>
  <form method="post" action="/code/"><input name="code" required><button>Continue</button></form>
  <pre>one
  two</pre>
  <ul><li>a <a href="/x/">link</a></li></ul>
</div></main>
"""


def test_each_block_is_a_line_and_end_tags_are_left_out() -> None:
    assert outline(PAGE) == [
        "main#content.page[tabindex=-1] > div.card.stack",
        "  h1 Check your e-mails",
        "  p.lead We sent a code to <strong>alice@example.org</strong>&nbsp;now.",
        "  form[method=post, action=/code/]",
        "    input[name=code, required]",
        "    button Continue",
        "  pre",
        "    one",
        "      two",
        '  ul > li a <a href="/x/">link</a>',
    ]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("Check your", "Read your"),
        ("alice@", "bob@"),
        ('class="lead"', 'class="small"'),
        ('action="/code/"', 'action="/other/"'),
        (" required", ""),
        ("<h1>", "<h1 hidden>"),
        ('href="/x/"', 'href="/y/"'),
        ("<strong>", "<em>"),
        ("  two", "two"),
        ("&nbsp;", " "),
        ("<li>", "<li><p>"),
        ("</ul>", "</ul><p></p>"),
        ("</ul>", "</ul>more words"),
        (
            "<button>Continue</button></form>",
            "</form><button>Continue</button>",
        ),
    ],
)
def test_every_change_of_a_page_shows(before: str, after: str) -> None:
    assert PAGE.count(before) == 1

    assert outline(PAGE.replace(before, after)) != outline(PAGE)


def test_spaces_between_blocks_do_not_show() -> None:
    assert outline(PAGE.replace("\n  <", "\n\n      <")) == outline(PAGE)
