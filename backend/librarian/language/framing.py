"""What only frames a question: greetings, politeness, and the request to look something up.

*Hi, could you tell me how pods restart? Thanks!* asks how pods restart. The rest are content words to an index, rare in
documentation and so of great weight. A frame is taken off where it stands at the beginning or behind the end.
"""

from __future__ import annotations

import re

_SOMEONE = r"(?:you|some ?one|somebody|any ?one|anybody)"
_SAY = r"(?:tell|show|explain|describe|clarify|remind|teach|help|point out|let)"
_ME = r"(?: to)? (?:me|us)"
_PAGES = r"(?:docs?|documentation|manuals?|knowledge base|library|guides?)"
_GREETING = r"(?:hi|hello|hey|greetings|dear|good (?:morning|afternoon|evening|day))"

_OPENINGS = (
    rf"{_GREETING} (?:there|all|everyone|everybody|team|folks|guys)",
    rf"{_GREETING}(?=[,!.:])(?!\W*world)",
    r"(?:i['’]m|i am) (?:\w+ )?new to (?:all )?(?:this|it)(?: and| so| but)?",
    r"(?:i was |i am |i['’]m |was |am )?(?:just )?(?:wondering|curious)(?: if| whether| about)?",
    rf"(?:please |kindly )?(?:can|could|would|will) {_SOMEONE}(?: please| kindly)?(?: help me)? {_SAY}(?:{_ME})?"
    r"(?: (?:know|understand|find(?: out)?|figure out|with))?(?: about)?(?: the following)?",
    rf"{_SOMEONE} (?:could|can|would|might) (?:explain|tell|show|describe)(?:{_ME})?(?: the following)?",
    rf"(?:please |kindly )?(?:tell|show|explain|describe|remind){_ME}(?: about)?",
    r"(?:please|kindly)(?: (?:explain|describe|show|tell|help))?(?: me)?(?: with)?",
    r"(?:i['’]d (?:like|love)|i would (?:like|love)|i (?:want|need)|(?:i['’]m|i am) trying) to"
    r" (?:know|understand|ask|find out|learn|figure out)(?: about)?",
    r"(?:do you|does (?:any|some)(?:one|body)) (?:happen to )?know(?: about)?",
    rf"(?:search|look|check|consult)(?: up)?(?: in| through)?(?: the| our| your| my)?(?: \w+)? {_PAGES}"
    r"(?: (?:for|about|on)|(?=:))",
    r"(?:find|give me|get me|fetch|look up)(?: me)?(?: the| some| any| all)?(?: relevant)?"
    rf" (?:{_PAGES}|information|info|pages?|passages?|sections?|details) (?:about|on|for|regarding)",
    r"(?:i have |i['’]ve got |here is |here['’]s )?(?:a |my |another )?(?:quick |short |simple |stupid )*question"
    r"(?=[:.,!-])",
    rf"what (?:does|do) the {_PAGES} say (?:about|on|regarding)",
    rf"according to the {_PAGES}",
)
_CLOSINGS = (
    r"(?:many )?thanks(?: a lot| so much| very much)?(?: in advance)?",
    r"thank you(?: very much| so much)?(?: in advance)?",
    r"(?:any |some )?(?:help|advice|ideas?|pointers?|hints?|suggestions?|guidance)(?: on this| with this| here)?"
    r"(?:(?: is| are| would be| will be)?(?: much| greatly| highly| very much| really)? (?:appreciated|welcome))?",
    r"please (?:help|advise)(?: me)?",
    r"(?:best |kind |warm )?regards|cheers",
)
_OPENING = re.compile(rf"\s*+(?:{'|'.join(_OPENINGS)})(?!\w)[\s,!.:;-]*", re.IGNORECASE)
_CLOSING = re.compile(
    rf"(?:(?<=[.?!,;\n])\s*(?:{'|'.join(_CLOSINGS)})|\s(?:thanks|thank you) in advance)[\s!.?,]*\Z", re.IGNORECASE
)
_LAST = 120  #: characters at the end in which a closing is looked for


def unframed(text: str) -> str:
    """What a question asks; the text as it is where that would be nothing.

    >>> unframed("Hi! Could you please tell me how pods restart? Thanks in advance!")
    'how pods restart?'
    >>> unframed("Search the documentation for: retries"), unframed("please help"), unframed("search documentation")
    ('retries', 'please help', 'search documentation')
    """
    asked = text
    while (opening := _OPENING.match(asked)) and asked[opening.end() :].strip():
        asked = asked[opening.end() :]
    while closing := _CLOSING.search(asked, max(0, len(asked) - _LAST)):
        if not asked[: closing.start()].strip():
            break
        asked = asked[: closing.start()].rstrip()
    return asked if any(map(str.isalnum, asked)) else text
