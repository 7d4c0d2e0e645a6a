# SPDX-License-Identifier: MIT
# What doxygen reads in the place of a header. No line moves.
#
# - The block at the head of a header is the documentation of the file, and its first paragraph that of the class or
#   concept that it names ("Store: where rows live.").
# - A member that a concept asks for is documented with the concept, and refers to it.
# - Enumerators that are words of another place refer to it.
# - What goes without saying is left out: see SELF_EVIDENT.
# What has documentation of its own keeps it.
import re

# Copies, moves and destruction; what the compiler writes; operators that do what such operators do; deduction guides;
# what std asks of an iterator.
SELF_EVIDENT = [
    r"(?:constexpr |explicit )*(\w+)\(\1(?:<[\w, ]+>)?(?: const)? ?&{1,2}(?: ?\w+)?\)",
    r"(?:constexpr |virtual )*~\w+\(\)",
    r"[\w:<>, ]+& operator=\(",
    r".*\) (?:const ?&{0,2} )?(?:noexcept )?= (?:default|delete);",
    r".*\boperator(?:==|<=>|\*|->|\+\+)\(",
    r"using (?:\w+::)*(\w+)(?:<.*>)?::\1;",
    r"using (?:iterator_concept|iterator_category|difference_type|value_type|reference|pointer) =",
    r"\w+\([^{};]*\)\s*->\s*\w+<",
]

# What a concept asks for looks like this, and is documented there.
ASKED_FOR = [
    (r"using (?:row|key|cursor)_type =|struct cursor_type\b", "As Store asks."),
    (r"ClaimResult<.*> claim\(|void settle\(", "As Store asks."),
    (r"using (?:batch|ticket|settlement|request|dead_letter)_type =", "As Store asks."),
    (r"void extend\(|Rescued rescue\(", "As LeasingStore asks."),
    (r"using transaction_type =|std::optional<[^;]*> begin\(\)", "As TransactionalStore asks."),
    (r"std::size_t max_transactions\(\)", "As TransactionalStore asks."),
    (r"void commit\(\)", "As Transaction asks."),
    (r"void (?:mark|back)\(\)", "As SavepointTransaction asks."),
    (r"[\w:]+ subscribe\(", "As NotifyingStore asks."),
    (r"std::size_t enqueue\(std::span", "As EnqueuingStore asks."),
    (r"Counts counts\(|[\w:<>, ]+> dead_letters\(|std::size_t redrive(?:_all)?\(", "As InspectableStore asks."),
    (r"bool (?:shared|check)\b|struct Grant\b", "As ClaimStrategy asks."),
    (r"Outcome decide\(", "As RetryPolicy asks."),
    (r"TimePoint now\(\)|void wait_until\(", "As Clock asks."),
    (r"void execute\(Task|std::size_t concurrency\(\)", "As Executor asks."),
    (r"std::size_t acquire\(|void release\(std::size_t", "As Limiter asks."),
    (r"void operator\(\)\(\w+ const&(?: \w+)?\)", "As Observer asks."),
    (r"using policy_role =", "By this a Processor knows what the policy is for."),
    (r"using needs =|bool offers\b", "See abilities.hpp."),
    (r"Skip \w+\b", "Why rules that need it are skipped; empty: they are not."),
    (r"concept Has\w+", "One requirement, apart, so that a diagnostic can name it."),
]

# The same of an adapter's classes, whose members have names that others have, too.
ASKED_OF_ADAPTERS = [
    (r"using (?:Config|Connection) =|bool (?:one_writer|sorts)\b", "As Driver asks."),
    (r"[\w:]+ (?:dialect|connections|patience|examine|borrow)\(", "As Driver asks."),
    (r"[\w:]+&? (?:run|run_rows|begin|rollback|in_transaction|handle|lost)\(", "As DriverConnection asks."),
    (r"\w+ (?:script|catalogue|served_by_index)\(", "As DriverConnection asks."),
    (r"\w+ (?:defer_|release_|rollback_to_)?savepoint\(", "As DriverConnection asks."),
    (r"bool null\(|[\w:]+ (?:get|cursor_value)\(\)", "As DriverConnection asks."),
]

# Enumerations whose words are explained elsewhere.
WORDS_OF = {
    "Fault": "to_string says it in a sentence.",
    "LogLevel": "As loggers use the word; LogObserver says which lines have it.",
    "Kind": "See the function of this name.",
    "Synchronous": "SQLite's word: PRAGMA synchronous.",
}

SPECIFIERS = re.compile(r"(?:template <.*> )?(?:\[\[nodiscard\]\] )?(?:(?:static|constexpr|consteval|inline|friend) )*")


def statement_end(text, at):
    """The place behind the declaration that begins at `at`."""
    depth = 0
    while at < len(text):
        depth += (text[at] in "({[") - (text[at] in ")}]")
        at += 1
        if depth == 0 and text[at - 1] == ";":
            break
        if depth == 0 and text[at - 1] == "}" and not text[at:].lstrip().startswith((",", "{", ";")):
            break
    return at


def as_code(lines):
    """Two more spaces are code to the eye, four to markdown."""
    for i, line in enumerate(lines):
        if match := re.match(r"(\s*/// )  (?=\s*\S)", line):
            before = lines[i - 1].strip()
            if before == "///" or before.startswith("///     "):
                lines[i] = match[1] + "    " + line[match.end() :]


class Header:
    def __init__(self, path):
        self.path = path
        self.text = text = path.read_text()
        self.asked_for = ASKED_FOR + (ASKED_OF_ADAPTERS if "adapters" in path.parts else [])
        self.lines = text.split("\n")
        self.out = [line.replace("namespace fila::inline v1", "namespace fila") for line in self.lines]
        self.starts = [0]
        for line in self.lines:
            self.starts.append(self.starts[-1] + len(line) + 1)

    def for_doxygen(self):
        named = self.head()
        for i, line in enumerate(self.lines):
            code = line.strip()
            if code and not code.startswith(("//", "#")):
                self.declaration(i, SPECIFIERS.sub("", code, count=1), named)
                self.several(i)
        self.words()
        as_code(self.out)
        return "\n".join(self.out)

    def head(self):
        """Makes the block at the head the file's documentation; the name in it, and what it says of that."""
        says = []
        self.out[0] = r"/// \file"
        for i in range(1, len(self.lines)):
            if not self.lines[i].startswith("//"):
                break
            says.append(self.lines[i][2:].strip())
            self.out[i] = "/" + self.lines[i]
        paragraph = " ".join(says[: says.index("")] if "" in says else says)
        return re.match(r"(\w+): (.*)", paragraph)

    def declaration(self, i, code, named):
        doc = None
        if any(re.match(pattern, code) for pattern in SELF_EVIDENT[:-1]) or (
            "->" in self.rest(i) and re.match(SELF_EVIDENT[-1], self.rest(i).strip())
        ):
            first, last = self.span(i)
            if not self.documented(first, last):
                self.out[first : last + 1] = [""] * (last + 1 - first)
            return
        if named and re.match(rf"(?:class|struct|concept) {named[1]}\b(?!;)", code):
            doc = f"{named[2][0].upper()}{named[2][1:]} See {self.path.parent.name}/{self.path.name}."
        for pattern, sentence in self.asked_for:
            if re.match(pattern, code):
                doc = re.sub(r"As (\w+) asks", r'As \\ref fila::\1 "\1" asks', sentence)
        if doc:
            first, last = self.span(i)
            if not self.documented(first, i if code.endswith("{") else min(last, i + 1)):
                self.out[first] = f"/** {doc} */ " + self.out[first].lstrip()

    def several(self, i):
        """Members declared in one statement share its documentation; doxygen gives it to one of them."""
        if not (match := re.match(r"( +[\w:<>]+ )(\w+[^(),;]*(?:, \w+[^(),;]*)+;)(?: +///< (.*))?$", self.lines[i])):
            return
        first, doc = i, [match[3]] if match[3] else []
        while not match[3] and self.lines[first - 1].lstrip().startswith("///"):
            first -= 1
            doc.insert(0, self.lines[first].strip(" /"))
        if doc:
            self.out[first:i] = [""] * (i - first)
            self.out[i] = "".join(f"/** {' '.join(doc)} */{match[1]}{name};" for name in match[2][:-1].split(", "))

    def rest(self, i):
        return "\n".join(self.lines[i : i + 3])

    def span(self, i):
        """The first and the last line of the declaration with its name in line `i`; templates begin before it."""
        first = i
        while re.match(r"\s*(template <.*>$|requires[^;]*$|\[\[\w+\]\]$|&&|\|\|)|.*(&&|\|\|)$", self.lines[first - 1]):
            first -= 1
        end = statement_end(self.text, self.starts[i])
        return first, i + self.text.count("\n", self.starts[i], end)

    def documented(self, first, last):
        return self.lines[first - 1].lstrip().startswith("///") or any(
            "///<" in line for line in self.lines[first : last + 1]
        )

    def words(self):
        for i, line in enumerate(self.lines):
            if not (match := re.match(r"\s*enum class (\w+)[^{;]*\{", line)) or match[1] not in WORDS_OF:
                continue
            _, last = self.span(i)
            for k in range(i, last + 1):
                begin = match.end() if k == i else 0
                if "//" not in self.lines[k][begin:]:
                    doc = rf"\1 /**< {WORDS_OF[match[1]]} */"
                    self.out[k] = self.out[k][:begin] + re.sub(r"(\w+)(?=,|$| })", doc, self.out[k][begin:])

