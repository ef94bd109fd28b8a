"""Text from data in Markdown of a forge (GitHub, GitLab): it shows as it is, and does nothing.

A name may hold Markdown, HTML, a link or an @mention. Plain names go into a code span, where none of these
act. In others, and in texts outside of names, all punctuation is written as entities.
"""

import re
from collections.abc import Iterable, Sequence

from camilla.names import shortened, shown

LONGEST = 80  # characters of a name
PLAIN = re.compile(r"[\w .,:;/+=()\[\]{}<>@#%&*!?'\"^~$-]*")  # neither backtick, pipe nor backslash
ACTIVE = re.compile(r"[^\w\s]|_", re.ASCII)


def code(name: str) -> str:
    """A name as code: no character of it is Markdown, HTML, a mention or the border of a table's cell."""
    text = shortened(shown(name), LONGEST)
    if text.strip() and PLAIN.fullmatch(text):
        return f"`{text}`" if text == text.strip() else f"<code>{entities(text)}</code>"
    return f"<code>{entities(text)}</code>"


def entities(text: str) -> str:
    """A text of which no ASCII punctuation is left, so that nothing in it is markup."""
    return ACTIVE.sub(lambda found: f"&#{ord(found[0])};", " ".join(shown(text).split()))


def table(heads: Sequence[str], rows: Iterable[Sequence[str]], *, right: Iterable[int] = ()) -> str:
    """A table of cells that are Markdown already; columns in `right` are aligned to the right."""
    rule = ["---:" if at in set(right) else "---" for at in range(len(heads))]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (heads, rule, *rows))


def details(summary: str, body: str) -> str:
    """A part that a reader opens; the summary is HTML, the body Markdown."""
    return f"<details>\n<summary>{summary}</summary>\n\n{body}\n\n</details>"
