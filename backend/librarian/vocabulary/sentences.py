"""The characters that end sentences, of all scripts, as they stand in a character class of a pattern."""

#: Where a blank follows; `…` isn't among them, which may stand anywhere in a sentence.
ENDS_BEFORE_BLANK = ".!?؟۔।॥։។៕།።"
#: Whatever follows, in scripts that put no blank between sentences, or not always.
ENDS_ALONE = "。！？．｡။"
