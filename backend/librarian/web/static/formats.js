// How a file's text, as the server gives it, is to be read.

const MARKDOWN = /\.(md|markdown|mdown|mkd|mdx|rmd|qmd|ipynb)$/i;
const ASCIIDOC = /\.(adoc|asciidoc|asc)$/i;
const RESTRUCTURED = /\.rst(\.txt)?$/i;
const DIRECTIVE = /^\.\. (?:[\w:-]+ ?::|_[\w .-]+:[ \t]*$)/m; // what text in a file of another name is told by, as by the server
const WRITTEN = /\.(docx|docm|html?|xhtml|pdf|csv|tsv|xlsx|xlsm|pptx|pptm|ppsx|odt|ott|rtf|epub)$/i;
const CODE = /\.(py|js|ts|tsx|jsx|go|rs|java|c|h|cpp|cs|rb|sh|bash|sql|json|jsonl|ya?ml|toml|ini|cfg|xml|proto|tf|conf|env)$/i;

/**
 * "markdown"; "asciidoc"; "restructured", which `text` may show, too; "written" for what the server wrote out of another format (headings, lists, tables, fences; words are no
 * markup), which descriptions of interfaces and comments of source files are too, where they have headings; "code" or "text".
 */
export function formOf(path, hasHeadings = false, text = "") {
  if (MARKDOWN.test(path)) return "markdown";
  if (ASCIIDOC.test(path)) return "asciidoc";
  if (RESTRUCTURED.test(path) || (/\.te?xt$/i.test(path) && DIRECTIVE.test(text))) return "restructured";
  if (CODE.test(path)) return hasHeadings ? "written" : "code";
  return WRITTEN.test(path) ? "written" : "text";
}
